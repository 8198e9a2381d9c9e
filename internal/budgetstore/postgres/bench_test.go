package postgres

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// BenchmarkReserve compares reservations with plain inserts of the same size, one in each
// transaction.
func BenchmarkReserve(b *testing.B) {
	address, _, _ := server(b)
	s, err := Open(context.Background(), address, true)
	if err != nil {
		b.Fatal(err)
	}
	book := budget.NewBook(s)
	defer book.Close()
	budgettest.Bench(b, book, connect(b, address), "$1")
}
