package budget

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// FuzzVerify tests Verify on any file: it must return an error, or the file's runs must be within
// the file's cap.
func FuzzVerify(f *testing.F) {
	limit, err := NewCap(3, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		f.Fatal(err)
	}
	l := gaussian(.2, account.ReplaceOne)
	cost, err := l.cost(context.Background(), limit)
	if err != nil {
		f.Fatal(err)
	}
	c := newChain("people")
	zero := 0.0
	var rows []Row
	for _, e := range []entry{
		{Kind: kindCreated, Salt: "s", Cap: &limit},
		{Kind: kindReserved, Run: "a", Limit: &l, Cost: &cost},
		{Kind: kindSettled, Run: "a", Charged: &zero},
		{Kind: kindClosed},
	} {
		e.Number, e.Dataset, e.Time = c.number+1, c.name, "2026"
		row, err := e.write(c.head)
		if err == nil {
			err = c.take(row)
		}
		if err != nil {
			f.Fatal(err)
		}
		rows = append(rows, row)
		text, err := NewBook(fixed{tail: Tail{Rows: rows, Length: len(rows), Head: c.head}}).Certificate(context.Background(),
			"people")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Verify(context.Background(), text)
		if err == nil && !(d.Spent <= d.Charge*(1+1e-15)) {
			t.Errorf("spent %v of %v", d.Spent, d.Charge)
		}
	})
}
