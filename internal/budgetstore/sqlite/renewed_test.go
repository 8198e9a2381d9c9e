package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// TestLeasesAreRenewedWhole tests that a store replaces a lease whole with a row, and which leases it renews: the one that
// it has, or the one that a renewal whose reply was lost has made of it.
func TestLeasesAreRenewedWhole(t *testing.T) {
	ctx := t.Context()
	check := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(ctx, filepath.Join(t.TempDir(), "budgets.db"), true)
	check(t, err)
	b := budget.NewBook(s)
	defer b.Close()
	check(t, b.Create(ctx, "people", budgettest.Cap(t)))
	check(t, b.Create(ctx, "others", budgettest.Cap(t)))
	write := func(dataset string, l budget.Lease) {
		t.Helper()
		check(t, s.Update(ctx, dataset, 0, func(tail budget.Tail) (*budget.Row, error) {
			return &budget.Row{Text: "{}", Hash: fmt.Sprint("h", tail.Length), Lease: &l}, nil
		}))
	}
	only := func(dataset string) (l budget.Lease) {
		t.Helper()
		tail, err := s.View(ctx, dataset, 0)
		check(t, err)
		if len(tail.Leases) > 1 || tail.Length != len(tail.Rows) || tail.Head != tail.Rows[tail.Length-1].Hash {
			t.Fatalf("%s: %+v", dataset, tail)
		}
		for _, l = range tail.Leases {
			if l.Renewed == "" || l.Renewed > tail.Now {
				t.Errorf("renewed %q at %q", l.Renewed, tail.Now)
			}
			l.Renewed = ""
		}
		return l
	}
	first, before := budget.Lease{Run: "a", Holder: "you", Events: 1, Charge: .125}, budget.Lease{Run: "a", Holder: "you", Events: 3, Charge: .25}
	write("people", first)
	write("others", before)
	write("people", before)
	if got := only("people"); got != before {
		t.Errorf("a lease after a larger one is %+v: must be %+v", got, before)
	}
	after := before
	after.Events, after.Charge = 5, .5
	for name, change := range map[string]func(*budget.Lease){
		"another run":    func(l *budget.Lease) { l.Run = "b" },
		"another holder": func(l *budget.Lease) { l.Holder = "me" },
		"other events":   func(l *budget.Lease) { l.Events = 5 },
		"another charge": func(l *budget.Lease) { l.Charge = .5 },
	} {
		l := before
		change(&l)
		if done, err := s.Renew(ctx, "people", l, budget.Lease{Run: l.Run, Holder: l.Holder, Events: 9, Charge: .75}); done || err != nil || only("people") != before {
			t.Errorf("%s: %v, %v, %+v", name, done, err, only("people"))
		}
	}
	for range 2 { // again, as after a reply that was lost
		if done, err := s.Renew(ctx, "people", before, after); !done || err != nil || only("people") != after {
			t.Errorf("renewed %v, %v, %+v: must be %+v", done, err, only("people"), after)
		}
	}
	if got := only("others"); got != before {
		t.Errorf("the lease of another dataset is %+v", got)
	}
	ended := after
	ended.Ended = true
	write("people", ended)
	if done, err := s.Renew(ctx, "people", after, after); done || err != nil || only("people") != (budget.Lease{}) {
		t.Errorf("a lease that has ended: %v, %v, %+v", done, err, only("people"))
	}
}
