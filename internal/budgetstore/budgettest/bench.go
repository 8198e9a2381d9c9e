package budgettest

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
)

// Bench compares the rate of reservations with the rate of plain inserts of the same size into the same database, each
// in its own transaction. Reservations and inserts alternate, so that the load of the disk is the same for both.
// parameter is the database's notation for the first parameter of a statement.
func Bench(b *testing.B, book *budget.Book, db *sql.DB, parameter string) {
	ctx := context.Background()
	limit, err := budget.NewCap(8, 1e-6, account.ReplaceOne, 0)
	if err == nil {
		err = book.Create(ctx, "people", limit)
	}
	check(b, err)
	_, err = db.Exec("CREATE TABLE plain (content TEXT)")
	check(b, err)
	session := NewSession(b, 1e-4)
	row := strings.Repeat("x", 380)
	var plain, reserved int64
	for b.Loop() {
		begin := b.Elapsed()
		_, err := db.Exec("INSERT INTO plain (content) VALUES ("+parameter+")", row)
		check(b, err)
		middle := b.Elapsed()
		check(b, book.Run("people", "").Reserve(ctx, session.Ledger()))
		plain += int64(middle - begin)
		reserved += int64(b.Elapsed() - middle)
	}
	n := float64(b.N) * 1e9
	b.ReportMetric(n/float64(plain), "inserts/s")
	b.ReportMetric(n/float64(reserved), "reservations/s")
}
