// Package budgettest is the test suite that every store of budgets must pass.
package budgettest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/budget"
)

// Run runs the suite. Each call of fresh makes a new, empty store and returns a function. Each call of that
// function opens another connection to the same store, as another process would.
func Run(t *testing.T, fresh func(t *testing.T) (open func() budget.Store)) {
	for name, test := range map[string]func(*testing.T, func() budget.Store){
		"life":       life,
		"concurrent": concurrent,
		"lost":       lost,
		"registered": registered,
		"draws":      draws,
		"withdrawn":  withdrawn,
		"refused":    refused,
		"leases":     leases,
		"raised":     raised,
		"in full":    inFull,
		"raced":      raced,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

// Cap returns a cap of epsilon 3 at delta 1e-6 under replace-one.
func Cap(t testing.TB) budget.Cap {
	t.Helper()
	c, err := budget.NewCap(3, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Session is a budget.Session for tests. It has a ledger but no table.
type Session struct{ own *account.Ledger }

// NewSession returns a session for 1000 records, under replace-one, whose budget has a mu just
// below or equal to the given mu.
func NewSession(t testing.TB, mu float64) *Session {
	t.Helper()
	epsilon := mu // with epsilon = mu, delta is neither near 0 nor near 1
	delta, err := mechanism.GaussianDelta(mu, epsilon)
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := account.NewBudget(epsilon, delta, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		if b.Mu() <= mu {
			l, err := account.OpenLedger(b, account.Records{Count: 1000})
			if err != nil {
				t.Fatal(err)
			}
			return &Session{l}
		}
		delta *= 1 - 1e-15
	}
}

// Certificate is a budget.Certificate for tests. Receipt is the reservation that it names, and Own
// is its ledger, which has ended.
type Certificate struct {
	Receipt account.Reservation
	Own     *account.Ledger
}

// Budget returns the reservation that the certificate names. ok is false if it names none.
func (c Certificate) Budget() (account.Reservation, bool) {
	return c.Receipt, c.Receipt != (account.Reservation{})
}

// Ledger returns the ledger, which has ended. It verifies nothing.
func (c Certificate) Ledger(context.Context) (account.View, error) { return c.Own.View(), nil }

// unused returns a ledger that has ended without any charge, with the session's budget and records.
func unused(t testing.TB, s *Session) *account.Ledger {
	t.Helper()
	records, _ := s.own.Records()
	l, err := account.OpenLedger(s.own.Budget(), records)
	check(t, err)
	l.End()
	return l
}

// Ledger returns the session's ledger as it is now.
func (s *Session) Ledger() account.View { return s.own.View() }

// Close ends the ledger, so that it refuses every further charge.
func (s *Session) Close() error { s.own.End(); return nil }

// Charge charges the given share of the session's budget, in units of mu^2, to its ledger.
func (s *Session) Charge(share float64) error {
	e, err := account.GaussianEvent("gradient", account.Everyone, math.Sqrt(share*s.own.Budget().Charge()), 1)
	if err != nil {
		return err
	}
	return s.own.Reserve(e)
}

func book(t *testing.T, open func() budget.Store) *budget.Book {
	t.Helper()
	b := budget.NewBook(open())
	t.Cleanup(func() { b.Close() })
	return b
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// life tests a dataset from its registration until it is closed. Runs are reserved, refused, use a
// part of their budget and settle.
func life(t *testing.T, open func() budget.Store) {
	ctx := context.Background()
	one, two := book(t, open), book(t, open)
	c := Cap(t)
	check(t, one.Create(ctx, "people", c))
	half := NewSession(t, c.Mu*math.Sqrt(.5))
	run := one.Run("people", "half")
	check(t, run.Reserve(ctx, half.Ledger()))
	check(t, run.Reserve(ctx, half.Ledger())) // repeated, it must reserve nothing more
	d, err := two.Dataset(ctx, "people")
	check(t, err)
	if d.Rows != 2 || d.Spent != half.Ledger().Budget().Charge() || d.Open != d.Spent || len(d.Runs) != 1 ||
		d.Runs[0].Label != "half" {
		t.Fatalf("after a reservation the store has %+v", d)
	}
	receipt, ok := run.Receipt()
	if !ok || d.Has(receipt) != nil {
		t.Fatalf("receipt %+v, %v: %v", receipt, ok, d.Has(receipt))
	}
	// Half of the cap is reserved. A run that needs two thirds of the cap is refused, whichever process
	// asks.
	most := NewSession(t, c.Mu*math.Sqrt(2./3))
	second := two.Run("people", "")
	over := (*account.BudgetError)(nil)
	if err := second.Reserve(ctx, most.Ledger()); !errors.As(err, &over) {
		t.Fatalf("two thirds beside a half: %v", err)
	}
	// The run that reserved half of the cap has used a quarter of its budget.
	check(t, half.Charge(.25))
	check(t, run.Settle(ctx, half))
	if half.Charge(.25) == nil {
		t.Error("a settled session goes on")
	}
	check(t, run.Settle(ctx, half))                                  // as in a repeated request
	check(t, one.Settle(ctx, Certificate{receipt, half.own}))        // as in a recovery
	check(t, one.Settle(ctx, Certificate{receipt, unused(t, half)})) // a settlement only rises
	if d, err = two.Dataset(ctx, "people"); err != nil || d.Spent != half.Ledger().Charged() || d.Rows != 3 {
		t.Errorf("settled again at less: %v is spent, %v", d.Spent, err)
	}
	check(t, second.Reserve(ctx, most.Ledger()))
	d, err = one.Dataset(ctx, "people")
	check(t, err)
	if want := half.Ledger().Charged() + most.Ledger().Budget().Charge(); math.Abs(d.Spent/want-1) > 1e-15 ||
		d.Spent < want {
		t.Errorf("spent = %v, the two runs used %v", d.Spent, want)
	}
	check(t, two.Shut(ctx, "people"))
	check(t, two.Shut(ctx, "people"))
	small := NewSession(t, c.Mu/100)
	if one.Run("people", "").Reserve(ctx, small.Ledger()) == nil {
		t.Error("a closed dataset is charged")
	}
	check(t, second.Settle(ctx, most))
	text, err := one.Certificate(ctx, "people")
	check(t, err)
	proven, err := budget.Verify(ctx, text)
	check(t, err)
	if proven.Spent != half.Ledger().Charged() || proven.Rows != 6 || !proven.Closed {
		t.Errorf("the certificate proves %+v", proven)
	}
}

// withdrawn tests that another process can withdraw a reservation by its run's id, but not after
// the run has settled with a charge.
func withdrawn(t *testing.T, open func() budget.Store) {
	ctx := context.Background()
	one, two := book(t, open), book(t, open)
	c := Cap(t)
	check(t, one.Create(ctx, "people", c))
	session := NewSession(t, c.Mu*math.Sqrt(2./3))
	run := one.Run("people", "")
	id, err := run.ID(ctx)
	check(t, err)
	for range 2 { // nothing is reserved, whether the dataset exists or not
		for _, name := range []string{"people", "nobody"} {
			if reserved, err := two.Withdraw(ctx, name, id); reserved || err != nil {
				t.Errorf("withdrawn from %s before it was reserved: %v, %v", name, reserved, err)
			}
		}
	}
	check(t, run.Reserve(ctx, session.Ledger()))
	if receipt, _ := run.Receipt(); receipt.Run != id {
		t.Errorf("reserved under %s: must be %s", receipt.Run, id)
	}
	again, err := run.ID(ctx)
	check(t, err)
	if again != id {
		t.Errorf("a run has the ids %s and %s", id, again)
	}
	for range 2 {
		if reserved, err := two.Withdraw(ctx, "people", id); !reserved || err != nil {
			t.Errorf("withdrawn: %v, %v", reserved, err)
		}
	}
	d, err := one.Dataset(ctx, "people")
	check(t, err)
	if d.Spent != 0 || d.Open != 0 || d.Rows != 3 || !d.Runs[0].Settled {
		t.Errorf("after a withdrawal the store has %+v", d)
	}
	// A run that has settled keeps its charge.
	other, used := one.Run("people", ""), NewSession(t, c.Mu*math.Sqrt(2./3))
	check(t, other.Reserve(ctx, used.Ledger()))
	check(t, used.Charge(.25))
	check(t, other.Settle(ctx, used))
	receipt, _ := other.Receipt()
	if _, err := two.Withdraw(ctx, "people", receipt.Run); err == nil {
		t.Error("what a run used was withdrawn")
	}
	if d, err = one.Dataset(ctx, "people"); err != nil || d.Spent != used.Ledger().Charged() {
		t.Errorf("%v is spent, %v: must be %v", d.Spent, err, used.Ledger().Charged())
	}
}

// concurrent tests reservations that several processes make at once. Together they must fill the
// dataset's cap exactly.
func concurrent(t *testing.T, open func() budget.Store) {
	ctx := context.Background()
	const all, processes, fit = 1000, 4, 200
	c := Cap(t)
	check(t, book(t, open).Create(ctx, "people", c))
	check(t, book(t, open).Create(ctx, "others", c))
	share := NewSession(t, c.Mu/math.Sqrt(fit)*(1-1e-12))
	var books []*budget.Book
	for range processes {
		books = append(books, book(t, open))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	admitted, refused := 0, 0
	for i := range all {
		wg.Go(func() {
			err := books[i%processes].Run("people", "").Reserve(ctx, share.Ledger())
			mu.Lock()
			defer mu.Unlock()
			over := (*account.BudgetError)(nil)
			switch {
			case err == nil:
				admitted++
			case errors.As(err, &over):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d, err := book(t, open).Dataset(ctx, "people")
	check(t, err)
	if admitted != fit || refused != all-fit || len(d.Runs) != fit {
		t.Errorf("%d were admitted, %d refused, the store has %d: must be %d, %d, %d", admitted, refused, len(d.Runs), fit,
			all-fit, fit)
	}
	if d.Spent > d.Charge || d.Left > share.Ledger().Budget().Charge()/2 {
		t.Errorf("spent %v of %v", d.Spent, d.Charge)
	}
	ids := map[string]bool{}
	for _, r := range d.Runs {
		ids[r.Run] = true
	}
	if len(ids) != fit {
		t.Errorf("%d runs have %d ids", fit, len(ids))
	}
}

// losing is a store that reports an error in two of three calls of Update: once before it carries
// out the update, and once after.
type losing struct {
	budget.Store
	calls int
}

var errLost = errors.New("lost")

func (l *losing) Update(ctx context.Context, dataset string, from int,
	next func(budget.Tail) (*budget.Row, error)) error {
	l.calls++
	if l.calls%3 == 1 {
		return errLost
	}
	err := l.Store.Update(ctx, dataset, from, next)
	if l.calls%3 == 2 && err == nil {
		return errLost
	}
	return err
}

// lost tests a request whose reply is lost: if it is repeated, it is charged only once.
func lost(t *testing.T, open func() budget.Store) {
	ctx := context.Background()
	c := Cap(t)
	b := budget.NewBook(&losing{Store: open()})
	defer b.Close()
	check(t, b.Create(ctx, "people", c))
	for i := range 3 {
		s := NewSession(t, c.Mu/4)
		run := b.Run("people", "")
		check(t, run.Reserve(ctx, s.Ledger()))
		check(t, run.Settle(ctx, s))
		d, err := book(t, open).Dataset(ctx, "people")
		check(t, err)
		if d.Rows != 3+2*i || len(d.Runs) != i+1 || d.Spent != 0 {
			t.Errorf("after run %d: %d rows, %d runs, spent %v", i, d.Rows, len(d.Runs), d.Spent)
		}
	}
}

// registered tests the registration of datasets' names, and the fingerprints by which the store
// finds datasets with equal tables.
func registered(t *testing.T, open func() budget.Store) {
	ctx := context.Background()
	b := book(t, open)
	for _, name := range []string{"zürich 2026", "b", "a"} {
		check(t, b.Create(ctx, name, Cap(t)))
		if b.Create(ctx, name, Cap(t)) == nil {
			t.Errorf("%s is registered twice", name)
		}
	}
	names, err := book(t, open).Names(ctx)
	check(t, err)
	if !slices.Equal(names, []string{"a", "b", "zürich 2026"}) {
		t.Errorf("names %q", names)
	}
	for _, name := range []string{"", " a", "a\nb", "a\x1b"} {
		if b.Create(ctx, name, Cap(t)) == nil {
			t.Errorf("%q is a name", name)
		}
	}
	var keys []string
	mark := func(b *budget.Book, name, table string, want ...string) {
		t.Helper()
		others, err := b.Mark(ctx, name, func(key string) (string, error) { keys = append(keys, key); return table, nil })
		check(t, err)
		if !slices.Equal(others, want) {
			t.Errorf("%s has the table of %q: must be of %q", name, others, want)
		}
	}
	mark(b, "a", "cells")
	mark(b, "a", "cells")
	mark(book(t, open), "b", "cells", "a")
	mark(b, "zürich 2026", "other cells")
	if keys[0] != keys[2] || !regexp.MustCompile("^[0-9a-f]{64}$").MatchString(keys[0]) {
		t.Errorf("keys %q", keys)
	}
	if _, err := b.Dataset(ctx, "nobody"); !errors.Is(err, budget.ErrNoDataset) {
		t.Errorf("a dataset that is not there: %v", err)
	}
	if err := b.Run("nobody", "").Reserve(ctx, NewSession(t, .1).Ledger()); !errors.Is(err, budget.ErrNoDataset) {
		t.Errorf("a run of a dataset that is not there: %v", err)
	}
}

// draws tests that all ids of runs that a store draws are different.
func draws(t *testing.T, open func() budget.Store) {
	one, two := open(), open()
	defer one.Close()
	defer two.Close()
	seen := map[string]bool{}
	for i := range 64 {
		text, err := []budget.Store{one, two}[i%2].Draw(context.Background())
		check(t, err)
		if seen[text] || !regexp.MustCompile("^[0-9a-f]{32}$").MatchString(text) {
			t.Fatalf("drew %q", text)
		}
		seen[text] = true
	}
}

// refused tests that a transaction leaves no trace if the function next fails or appends nothing.
// It also tests that no transaction begins after its context has ended.
func refused(t *testing.T, open func() budget.Store) {
	s := open()
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	no := errors.New("no")
	if err := s.Update(ctx, "people", 0, func(budget.Tail) (*budget.Row, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("the error of next is %v", err)
	}
	check(t, s.Update(ctx, "people", 0, func(budget.Tail) (*budget.Row, error) { return nil, nil }))
	names, err := s.Datasets(ctx)
	check(t, err)
	if len(names) != 0 {
		t.Errorf("transactions that ended without a row left %q", names)
	}
	for i := range 3 {
		row := budget.Row{Text: fmt.Sprint("text ", i), Hash: fmt.Sprint("hash ", i)}
		check(t, s.Update(ctx, "people", 0, func(t budget.Tail) (*budget.Row, error) { return &row, nil }))
	}
	v, err := s.View(ctx, "people", 2)
	check(t, err)
	if v.Length != 3 || v.Head != "hash 2" || v.Before != "hash 1" || len(v.Rows) != 1 || v.Rows[0].Text != "text 2" {
		t.Errorf("the end of the chain is %+v", v)
	}
	cancel()
	if s.Update(ctx, "people", 0, func(budget.Tail) (*budget.Row,
		error) {
		return &budget.Row{Text: "x", Hash: "y"}, nil
	}) == nil {
		t.Error("a transaction runs after its context has ended")
	}
}
