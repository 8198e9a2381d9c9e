package budgettest

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// Fails is a driver of a database that fails at one point: at a statement, or at the first row of its result.
type Fails struct {
	mu sync.Mutex
	// at is the number of the point, from 1; 0 is none. Later points fail too if on is set. If late is set, a
	// statement is carried out before it fails, as if its reply were lost.
	at       int
	on, late bool
	n        int
	last     string
}

var errFails = errors.New("the statement fails")

// arm sets the point at which the driver fails from now on.
func (f *Fails) arm(at int, on, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.on, f.late, f.n = at, on, late, 0
}

// point counts a point. It reports whether the driver fails there, and whether it does so afterwards.
func (f *Fails) point(what string) (fails, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.at == 0 || f.n != f.at && !(f.on && f.n > f.at) {
		return false, false
	}
	if f.n == f.at {
		f.last = what
	}
	return true, f.late
}

// Conn returns a connection that fails as f says.
func (f *Fails) Conn(c driver.Conn) driver.Conn { return &failing{c, f} }

type failing struct {
	driver.Conn
	f *Fails
}

func (c *failing) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	fails, late := c.f.point(query)
	if fails && !late {
		return nil, errFails
	}
	r, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	if fails && err == nil {
		return nil, errFails
	}
	return r, err
}

func (c *failing) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if fails, _ := c.f.point(query); fails {
		return nil, errFails
	}
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &failingRows{rows, c.f, query, false}, nil
}

// CheckNamedValue lets the connection's own driver convert values.
func (c *failing) CheckNamedValue(v *driver.NamedValue) error {
	if own, ok := c.Conn.(driver.NamedValueChecker); ok {
		return own.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type failingRows struct {
	driver.Rows
	f     *Fails
	query string
	begun bool
}

func (r *failingRows) Next(dest []driver.Value) error {
	if !r.begun {
		r.begun = true
		if fails, _ := r.f.point("the rows of " + r.query); fails {
			return errFails
		}
	}
	return r.Rows.Next(dest)
}

// FailsEverywhere tests a store whose driver fails at each point in turn: once, once after the statement, and from
// that point on. fresh makes a store whose connections fail as f says, and returns a function that opens it, and one
// that opens it by a driver that does not fail. What the Book says was done must be in the store, and what it says
// was not done is done by a repetition.
func FailsEverywhere(t *testing.T, fresh func(t *testing.T, f *Fails) (open, sound func() budget.Store)) {
	ctx := holder.On(context.Background(), hosts{id: 7})
	for mode, m := range map[string]struct{ on, late bool }{"once": {}, "after": {late: true}, "on": {on: true}} {
		points := 0
		f := &Fails{}
		open, sound := fresh(t, f)
		for at := 1; ; at++ {
			if testing.Short() && at%4 != 1 {
				continue
			}
			name := "people" + mode + string(rune('A'+at/26)) + string(rune('a'+at%26))
			b, whole := budget.NewBook(open()), budget.NewBook(sound())
			done := failsAt(ctx, t, name, b, whole, f, func() { f.arm(at, m.on, m.late) })
			_, _ = b.Close(), whole.Close()
			if t.Failed() {
				t.Fatalf("failed %s at point %d: %q", mode, at, f.last)
			}
			if points = at; done {
				break
			}
		}
		t.Logf("%s: %d points", mode, points)
		if points < 15 {
			t.Errorf("failed %s: %d points are fewer than a run has", mode, points)
		}
	}
}

// MakingFails tests that no store opens of which a statement has failed, such as the one that makes a rule of its tables. open
// makes a new store by a driver that fails as f says.
func MakingFails(t *testing.T, open func(f *Fails) (budget.Store, error)) {
	for at := 1; ; at++ {
		f := &Fails{}
		f.arm(at, false, false)
		_, err := open(f)
		if f.n < at {
			if check(t, err); at < 8 {
				t.Errorf("making a store has %d points", at-1)
			}
			return
		}
		if err == nil {
			t.Errorf("the store opens, though this failed: %q", f.last)
		}
	}
}

// failsAt has a run reserve, release and settle with a driver that fails at a point, which arm sets. It reports
// whether the run has fewer points.
func failsAt(ctx context.Context, t *testing.T, name string, b, sound *budget.Book, f *Fails, arm func()) (done bool) {
	state := func() *budget.Dataset {
		t.Helper()
		d, err := sound.Dataset(ctx, name)
		check(t, err)
		return d
	}
	check(t, sound.Create(ctx, name, Cap(t)))
	s := NewSession(t, .01)
	run := b.Run(name, "")
	run.Hold()
	arm()
	defer f.arm(0, false, false)
	settled := func(err error) bool {
		if err != nil && !errors.Is(err, budget.ErrStore) {
			t.Errorf("the error of a store that fails is %v", err)
		}
		return err == nil
	}
	reserved := settled(run.Reserve(ctx, s.Ledger()))
	if d := state(); reserved && (len(d.Runs) != 1 || d.Runs[0].Lease == nil) {
		t.Errorf("reserved, and the store has %+v", d.Runs)
	}
	if reserved {
		check(t, s.Charge(.25))
		short, cancel := context.WithCancel(ctx)
		if f.on { // a store that goes on failing is asked again for a minute
			cancel()
		}
		err := run.Cover(short, 1, s.Ledger().Charged())
		cancel()
		if d := state(); err == nil && d.Runs[0].Lease.Charge < s.Ledger().Charged() {
			t.Errorf("may release %v, and the store has %+v", s.Ledger().Charged(), d.Runs[0].Lease)
		}
	}
	if settled(run.Settle(ctx, s)) {
		if d := state(); reserved && (!d.Runs[0].Settled || d.Spent != s.Ledger().Charged()) || !reserved && d.Spent != 0 {
			t.Errorf("settled at %v, reserved %v, and the store has %+v", s.Ledger().Charged(), reserved, d)
		}
	}
	f.mu.Lock()
	done = f.n < f.at
	f.mu.Unlock()
	f.arm(0, false, false)
	if err := run.Settle(ctx, s); err != nil && reserved {
		t.Errorf("settled when the store is sound again: %v", err)
	}
	if d := state(); d.Open != 0 && reserved {
		t.Errorf("%v stays reserved", d.Open)
	}
	return done
}
