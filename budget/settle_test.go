package budget_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// ward is a machine that knows whether other processes have ended.
type ward struct{ ended bool }

func (w ward) Self() holder.Process { return holder.Process{Host: "ward5", ID: 815} }

func (w ward) Ended(holder.Process) (ended, known bool) { return w.ended, true }

// leased makes a book with a run of mu 1/2 that charged its ledger a quarter, 1/16. Its lease, if it has one, allows
// 1/8, and is of another process.
func leased(t *testing.T, lease bool) (b *budget.Book, run *budget.Run, s *budgettest.Session, r account.Reservation) {
	t.Helper()
	m := newMemory()
	b = budget.NewBook(m)
	err := b.Create(t.Context(), "people", budgettest.Cap(t))
	s, run = budgettest.NewSession(t, .5), b.Run("people", "")
	if lease {
		run.Hold()
	}
	if err == nil {
		err = run.Reserve(t.Context(), s.Ledger())
	}
	if err == nil {
		err = s.Charge(.25)
	}
	if err == nil {
		err = b.Close()
	}
	r, _ = run.Receipt()
	if lease {
		m.leases["people"][r.Run] = budget.Lease{Run: r.Run, Holder: `{"Host":"ward5","ID":7}`, Charge: .125, Renewed: "noon"}
	}
	if err != nil {
		t.Fatal(err)
	}
	return budget.NewBook(m), run, s, r
}

// paid returns the number of rows and the charge of the only run, over that of its session's whole budget.
func paid(t *testing.T, b *budget.Book, s *budgettest.Session) string {
	t.Helper()
	d, err := b.Dataset(t.Context(), "people")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d rows, settled %v, charged %.6f", d.Rows, d.Runs[0].Settled, d.Runs[0].Charged.Charge/s.Ledger().Budget().Charge())
}

// TestSettledAtTheLargerByHand tests the charge at which a run is settled, over that of its budget: a certificate says
// 1/4 and the lease allowed 1/2, and the larger of the two counts. A session says exactly what it released. A reservation
// with another row, hash or dataset settles nothing.
func TestSettledAtTheLargerByHand(t *testing.T) {
	const open, quarter, half = "2 rows, settled false, charged 1.000000", "3 rows, settled true, charged 0.250000",
		"3 rows, settled true, charged 0.500000"
	const another = "budget: the store's record is not whole: dataset \"people\": row "
	for name, c := range map[string]struct {
		lease  bool
		change func(*account.Reservation)
		ended  bool // the lease's holder
		share  float64
		paid   string
		want   string
	}{
		"no lease":               {false, nil, true, 0, quarter, ""},
		"a larger lease":         {true, nil, true, 0, half, ""},
		"a smaller lease":        {true, nil, true, .5, "3 rows, settled true, charged 0.750000", ""},
		"a holder that is alive": {true, nil, false, 0, open, budget.ErrHeld.Error()},
		"another row":            {false, func(r *account.Reservation) { r.Row = 1 }, true, 0, open, another + "1 is not that of run "},
		"another hash":           {false, func(r *account.Reservation) { r.Head = "h" }, true, 0, open, another + "2 is not that of run "},
		"another run":            {false, func(r *account.Reservation) { r.Run = "x" }, true, 0, open, "budget: run x: must have been reserved"},
		"another dataset":        {false, func(r *account.Reservation) { r.Dataset = "x" }, true, 0, open, budget.ErrNoDataset.Error()},
	} {
		b, _, s, r := leased(t, c.lease)
		if c.change != nil {
			c.change(&r)
		}
		var err error
		if c.share > 0 {
			err = s.Charge(c.share)
		}
		_ = s.Close()
		if err == nil {
			err = b.Settle(holder.On(t.Context(), ward{c.ended}), stated{r, s.Ledger()})
		}
		if got := paid(t, b, s); got != c.paid || (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %s, %v: must be %s, %q", name, got, err, c.paid, c.want)
		}
	}
	_, run, s, _ := leased(t, true)
	if err := run.Settle(holder.On(t.Context(), ward{}), s); err != nil || s.Charge(.1) == nil {
		t.Errorf("settled by its session: %v", err)
	}
	b, _, s, r := leased(t, false)
	if err := b.Settle(t.Context(), stated{r, account.NewLedger(s.Ledger().Budget()).View()}); err == nil ||
		!strings.HasPrefix(err.Error(), "budget: ledger: must be that of a session") {
		t.Errorf("settled by a ledger of no records: %v", err)
	}
	if err := b.Settle(t.Context(), stated{r, s.Ledger()}); err == nil || !strings.Contains(err.Error(), "its ledger must have ended") || paid(t, b, s) != open {
		t.Errorf("settled by a ledger that goes on: %v", err)
	}
}

// stated is a certificate of a ledger.
type stated struct {
	r account.Reservation
	v account.View
}

func (c stated) Budget() (account.Reservation, bool)          { return c.r, true }
func (c stated) Ledger(context.Context) (account.View, error) { return c.v, nil }

// TestWithdrawnToTheLetter tests which runs are withdrawn, and the errors of the others: one whose lease allowed a release
// is not, nor is one that was charged, and a run that nobody reserved changes nothing.
func TestWithdrawnToTheLetter(t *testing.T) {
	gone := holder.On(t.Context(), ward{true})
	b, _, s, r := leased(t, true)
	if _, err := b.Withdraw(gone, "people", r.Run); !errors.Is(err, budget.ErrReleased) ||
		!strings.HasSuffix(err.Error(), "run "+r.Run+": up to 0.125 (units of mu^2): nothing is withdrawn") {
		t.Errorf("a lease that allowed a release: %v", err)
	}
	if _, err := b.Withdraw(holder.On(t.Context(), ward{}), "people", r.Run); !errors.Is(err, budget.ErrHeld) {
		t.Errorf("a holder that is alive: %v", err)
	}
	if err := b.Held(holder.On(t.Context(), ward{}), "people", r.Run); !errors.Is(err, budget.ErrHeld) {
		t.Errorf("a holder that is alive: %v", err)
	}
	if err := b.Held(gone, "people", r.Run); err != nil {
		t.Error(err)
	}
	if reserved, err := b.Withdraw(gone, "people", "x"); reserved || err != nil || paid(t, b, s) != "2 rows, settled false, charged 1.000000" {
		t.Errorf("a run that nobody reserved: %v, %v, %s", reserved, err, paid(t, b, s))
	}
	b, _, s, r = leased(t, false)
	for range 2 {
		if reserved, err := b.Withdraw(gone, "people", r.Run); !reserved || err != nil || paid(t, b, s) != "3 rows, settled true, charged 0.000000" {
			t.Errorf("withdrawn: %v, %v, %s", reserved, err, paid(t, b, s))
		}
	}
	if err := b.SettleInFull(gone, "people", r.Run); err == nil || !strings.Contains(err.Error(), "has ended and was charged 0: must not have ended") {
		t.Errorf("settled in full: %v", err)
	}
	b, _, s, r = leased(t, true)
	if err := b.SettleInFull(holder.On(t.Context(), ward{}), "people", r.Run); !errors.Is(err, budget.ErrHeld) {
		t.Errorf("in full, of a holder that is alive: %v", err)
	}
	for range 2 {
		if err := b.SettleInFull(gone, "people", r.Run); err != nil || paid(t, b, s) != "3 rows, settled true, charged 1.000000" {
			t.Errorf("in full: %v, %s", err, paid(t, b, s))
		}
	}
	if _, err := b.Withdraw(gone, "people", r.Run); err == nil || !strings.Contains(err.Error(), "has ended and was charged") {
		t.Errorf("a run that was charged: %v", err)
	}
	if err := b.SettleInFull(gone, "people", "x"); err == nil || err.Error() != "budget: run x: must have been reserved" {
		t.Errorf("in full, of nobody: %v", err)
	}
	if err := b.SettleInFull(gone, "x", r.Run); !errors.Is(err, budget.ErrNoDataset) {
		t.Errorf("in full, of no dataset: %v", err)
	}
}

// failing is a session that closes its ledger and says that it did not.
type failing struct{ *budgettest.Session }

var errClosing = errors.New("the session stays open")

func (f failing) Close() error { _ = f.Session.Close(); return errClosing }

// deaf is a store that carries out an update, ends its context and loses the reply, while loses is set.
type deaf struct {
	*memory
	loses func()
}

func (d *deaf) Update(ctx context.Context, name string, from int, next func(budget.Tail) (*budget.Row, error)) error {
	err := d.memory.Update(ctx, name, from, next)
	if d.loses == nil || err != nil {
		return err
	}
	d.loses()
	return context.DeadlineExceeded
}

// TestReservedWithoutAReply tests a run whose reservation was stored and whose reply was lost: its session withdraws it,
// unless the session says that it could not be closed.
func TestReservedWithoutAReply(t *testing.T) {
	for _, closes := range []bool{true, false} {
		store := &deaf{memory: newMemory()}
		b := budget.NewBook(store)
		if err := b.Create(t.Context(), "people", budgettest.Cap(t)); err != nil {
			t.Fatal(err)
		}
		s, run := budgettest.NewSession(t, .5), b.Run("people", "")
		ctx, cancel := context.WithCancel(t.Context())
		store.loses = cancel
		if err := run.Reserve(ctx, s.Ledger()); !errors.Is(err, budget.ErrStore) {
			t.Fatal(err)
		}
		store.loses = nil
		var of budget.Session = s
		want, says := "3 rows, settled true, charged 0.000000", error(nil)
		if !closes {
			of, want, says = failing{s}, "2 rows, settled false, charged 1.000000", errClosing
		}
		if err := run.Settle(t.Context(), of); err != says {
			t.Errorf("closes %v: %v: must be %v", closes, err, says)
		}
		if got := paid(t, b, s); got != want {
			t.Errorf("closes %v: %s: must be %s", closes, got, want)
		}
	}
}

// TestALeftRunIsHeldByNobody tests a run whose session settles it while the store fails: this process has left the run,
// so that it is free to be settled.
func TestALeftRunIsHeldByNobody(t *testing.T) {
	b := budget.NewBook(newMemory())
	if err := b.Create(t.Context(), "people", budgettest.Cap(t)); err != nil {
		t.Fatal(err)
	}
	s, run := budgettest.NewSession(t, .5), b.Run("people", "")
	run.Hold()
	if err := run.Reserve(t.Context(), s.Ledger()); err != nil {
		t.Fatal(err)
	}
	r, _ := run.Receipt()
	if err := b.Held(t.Context(), "people", r.Run); !errors.Is(err, budget.ErrHeld) {
		t.Errorf("while the session is open: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run.Settle(ended, s); !errors.Is(err, budget.ErrStore) {
		t.Errorf("settled without a store: %v", err)
	}
	if err := b.Held(t.Context(), "people", r.Run); err != nil {
		t.Errorf("after its session was closed: %v", err)
	}
}

// TestWithdrawnUnlessReleased tests both sides of the lease that keeps a run: a run whose lease allows nothing is withdrawn
// when its holder has ended, also by its own session, and one that was settled at a charge says this charge.
func TestWithdrawnUnlessReleased(t *testing.T) {
	gone := holder.On(t.Context(), ward{true})
	for charge, want := range map[float64]string{0: "3 rows, settled true, charged 0.000000", 1e-300: "2 rows, settled false, charged 1.000000"} {
		m := newMemory()
		b := budget.NewBook(m)
		if err := b.Create(t.Context(), "people", budgettest.Cap(t)); err != nil {
			t.Fatal(err)
		}
		s, run := budgettest.NewSession(t, .5), b.Run("people", "")
		run.Hold()
		if err := run.Reserve(t.Context(), s.Ledger()); err != nil {
			t.Fatal(err)
		}
		r, _ := run.Receipt()
		_ = b.Close()
		l := m.leases["people"][r.Run]
		l.Holder, l.Charge = `{"host":"ward5","process":7}`, charge
		m.leases["people"][r.Run] = l
		other := budget.NewBook(m)
		if _, err := other.Withdraw(gone, "people", r.Run); (err == nil) != (charge == 0) || paid(t, other, s) != want {
			t.Errorf("a lease of %v: %v, %s: must be %s", charge, err, paid(t, other, s), want)
		}
	}
	b, run, s, r := leased(t, false)
	if err := run.Settle(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	d, err := b.Dataset(t.Context(), "people")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("budget: run %s: has ended and was charged %v: nothing is withdrawn", r.Run, d.Runs[0].Charged.Charge)
	if _, err := b.Withdraw(gone, "people", r.Run); err == nil || err.Error() != want || d.Runs[0].Charged == d.Runs[0].Reserved {
		t.Errorf("%v: must be %s", err, want)
	}
}

// TestSettledThoughItStaysOpen tests that a session that says that it could not be closed is settled when its ledger has
// ended, and that the error is told.
func TestSettledThoughItStaysOpen(t *testing.T) {
	b, run, s, _ := leased(t, false)
	if err := run.Settle(t.Context(), failing{s}); !errors.Is(err, errClosing) {
		t.Errorf("%v: must be %v", err, errClosing)
	}
	if got, want := paid(t, b, s), "3 rows, settled true, charged 0.250000"; got != want {
		t.Errorf("%s: must be %s", got, want)
	}
}

// TestEveryWayToSettle tries each way to settle a run that has no lease, whose lease is lost, or whose lease has allowed nothing
// or a half, while its holder is alive and when it has ended, with a label and without: the error, or the charge over that of
// the whole budget. Its certificate says a quarter.
func TestEveryWayToSettle(t *testing.T) {
	const held, lost, released = "held", "lost", "released"
	for lease, want := range map[string]map[string][2]string{ // by the way: while the holder is alive, and when it has ended
		"none":    {"withdraw": {"0", "0"}, "certificate": {"0.25", "0.25"}, "in full": {"1", "1"}, "ask": {"", ""}},
		"lost":    {"withdraw": {lost, lost}, "certificate": {lost, lost}, "in full": {"1", "1"}, "ask": {"", ""}},
		"nothing": {"withdraw": {held, "0"}, "certificate": {held, "0.25"}, "in full": {held, "1"}, "ask": {held, ""}},
		"a half":  {"withdraw": {held, released}, "certificate": {held, "0.5"}, "in full": {held, "1"}, "ask": {held, ""}},
	} {
		for way, say := range want {
			for i, says := range say {
				for _, label := range []string{"", "autumn"} {
					m := newMemory()
					b := budget.NewBook(m)
					s, run := budgettest.NewSession(t, .5), b.Run("people", label)
					if lease != "none" {
						run.Hold()
					}
					if err := errors.Join(b.Create(t.Context(), "people", budgettest.Cap(t)), run.Reserve(t.Context(), s.Ledger()), s.Charge(.25), s.Close(),
						b.Close()); err != nil {
						t.Fatal(err)
					}
					r, _ := run.Receipt()
					l := budget.Lease{Run: r.Run, Holder: `{"Host":"ward5","ID":7}`, Renewed: "noon"}
					switch lease {
					case "lost":
						delete(m.leases["people"], r.Run)
					case "a half":
						l.Charge = .125
						fallthrough
					case "nothing":
						m.leases["people"][r.Run] = l
					}
					b = budget.NewBook(m)
					ctx := holder.On(t.Context(), ward{i == 1})
					var err error
					switch way {
					case "withdraw":
						_, err = b.Withdraw(ctx, "people", r.Run)
					case "certificate":
						err = b.Settle(ctx, stated{r, s.Ledger()})
					case "in full":
						err = b.SettleInFull(ctx, "people", r.Run)
					default:
						err = b.Held(ctx, "people", r.Run)
					}
					got := ""
					switch d, reading := b.Dataset(t.Context(), "people"); {
					case reading != nil:
						t.Fatal(reading)
					case errors.Is(err, budget.ErrHeld):
						got = held
					case errors.Is(err, budget.ErrChain):
						got = lost
					case errors.Is(err, budget.ErrReleased):
						got = released
					case err != nil:
						got = err.Error()
					case d.Runs[0].Settled:
						got = fmt.Sprintf("%.6g", d.Runs[0].Charged.Charge/s.Ledger().Budget().Charge())
						if left := m.leases["people"][r.Run]; !left.Ended && left.Run != "" {
							t.Errorf("%s, lease %s: the lease is open: %+v", way, lease, left)
						}
					}
					if got != says {
						t.Errorf("%s, lease %s, ended %v, label %q: %q: must be %q", way, lease, i == 1, label, got, says)
					}
				}
			}
		}
	}
}
