package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// BenchmarkReserve compares reservations with plain inserts of the same size, one in each
// transaction, in the same mode.
func BenchmarkReserve(b *testing.B) {
	path := filepath.Join(b.TempDir(), "budgets.db")
	s, err := Open(context.Background(), path, true)
	if err != nil {
		b.Fatal(err)
	}
	book := budget.NewBook(s)
	defer book.Close()
	db, err := sql.Open("sqlite", address(path))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	budgettest.Bench(b, book, db, "?")
}
