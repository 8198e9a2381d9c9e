package budget_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// memory is a store of a single chain in memory. It has no transactions, since only one goroutine uses it.
type memory struct {
	budget.Store // nil: the test does not call its methods
	rows         []budget.Row
	drawn        int
}

func (m *memory) View(_ context.Context, _ string, from int) (budget.Tail, error) {
	t := budget.Tail{Rows: m.rows[from:], Length: len(m.rows), Now: "now"}
	if len(m.rows) > 0 {
		t.Head = m.rows[len(m.rows)-1].Hash
	}
	if from > 0 {
		t.Before = m.rows[from-1].Hash
	}
	return t, nil
}

func (m *memory) Update(ctx context.Context, name string, from int, next func(budget.Tail) (*budget.Row, error)) error {
	t, _ := m.View(ctx, name, from)
	row, err := next(t)
	if err == nil && row != nil {
		m.rows = append(m.rows, *row)
	}
	return err
}

func (m *memory) Draw(context.Context) (string, error) {
	m.drawn++
	return string([]rune{'a' + rune(m.drawn/676), 'a' + rune(m.drawn/26%26), 'a' + rune(m.drawn%26)}), nil
}

// TestReservationsDoNotSlowDown compares the memory that a hundred reservations allocate after few
// runs and after three thousand. A book that copied its runs at each reservation would allocate
// thirty times as much.
func TestReservationsDoNotSlowDown(t *testing.T) {
	book := budget.NewBook(&memory{})
	most, err := budget.NewCap(8, 1e-6, account.ReplaceOne, 0)
	if err == nil {
		err = book.Create(t.Context(), "people", most)
	}
	if err != nil {
		t.Fatal(err)
	}
	session := budgettest.NewSession(t, 1e-4)
	limit, err := budget.LimitOf(session.Ledger())
	if err != nil {
		t.Fatal(err)
	}
	hundred := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			if _, err := book.Covers(t.Context(), "people", limit); err != nil {
				t.Fatal(err)
			}
			if err := book.Run("people", "").Reserve(t.Context(), session.Ledger()); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few := hundred()
	for range 28 {
		hundred()
	}
	if many := hundred(); many > 4*few {
		t.Errorf("100 reservations after 100 and 2,900 runs allocate %d and %d bytes: must stay within 4 times", few, many)
	}
}
