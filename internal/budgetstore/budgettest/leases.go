package budgettest

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// hosts is a machine on which processes have ended, or run, or of whose processes nothing is known.
type hosts struct {
	id           int
	ended, known bool
}

func (h hosts) Self() holder.Process { return holder.Process{Host: "ward", ID: h.id} }

func (h hosts) Ended(holder.Process) (ended, known bool) { return h.ended, h.known }

// held makes a run with a lease that may release half of its budget, which is three quarters of the cap.
func held(t *testing.T, open func() budget.Store) (b *budget.Book, run *budget.Run, s *Session, r account.Reservation) {
	t.Helper()
	ctx := holder.On(context.Background(), hosts{id: 7})
	b = book(t, open)
	c := Cap(t)
	check(t, b.Create(ctx, "people", c))
	run, s = b.Run("people", "held"), NewSession(t, c.Mu*math.Sqrt(.75))
	run.Hold()
	check(t, run.Reserve(ctx, s.Ledger()))
	check(t, run.Cover(ctx, 3, s.Ledger().Budget().Charge()/2))
	r, _ = run.Receipt()
	return b, run, s, r
}

func only(t *testing.T, b *budget.Book) (*budget.Dataset, budget.RunState) {
	t.Helper()
	d, err := b.Dataset(context.Background(), "people")
	check(t, err)
	return d, d.Runs[0]
}

// leases tests that nobody settles a run while its holder may be alive, that a run whose holder has ended is
// charged what its lease allowed at least, and that the holder of a settled run is told so.
func leases(t *testing.T, open func() budget.Store) {
	b, run, s, r := held(t, open)
	other := book(t, open)
	half := s.Ledger().Budget().Charge() / 2
	_, before := only(t, other)
	if l := before.Lease; !before.Held || l == nil || l.Charge < half || l.Events != 3 || l.Run != r.Run || l.Renewed == "" ||
		!strings.Contains(l.Holder, `"ward"`) {
		t.Fatalf("the store has the lease %+v: must allow %v", l, half)
	}
	less := Certificate{r, unused(t, s)}
	alive := map[string]hosts{"runs": {known: true}, "is not known, a moment ago": {}, "is this process": {id: 7}}
	for name, m := range alive {
		ctx := holder.On(context.Background(), m)
		_, withdrawing := other.Withdraw(ctx, "people", r.Run)
		for what, err := range map[string]error{"settled": other.Settle(ctx, less), "withdrawn": withdrawing,
			"settled in full": other.SettleInFull(ctx, "people", r.Run)} {
			if !errors.Is(err, budget.ErrHeld) {
				t.Errorf("while its holder %s the run is %s: %v", name, what, err)
			}
		}
	}
	if d, _ := only(t, other); d.Rows != 2 {
		t.Fatalf("the store has %+v", d)
	}
	ctx := holder.On(context.Background(), hosts{ended: true, known: true})
	if _, err := other.Withdraw(ctx, "people", r.Run); !errors.Is(err, budget.ErrReleased) {
		t.Errorf("a run that may release is withdrawn: %v", err)
	}
	check(t, other.Settle(ctx, less))
	if _, got := only(t, other); !got.Settled || got.Charged.Charge != before.Lease.Charge || got.Lease != nil {
		t.Errorf("settled at %+v: the lease allowed %v", got, before.Lease.Charge)
	}
	// The holder has gone on. It may release no more, and nothing that it does is lost.
	for _, share := range []float64{.1, 1} {
		err := run.Cover(ctx, 4, s.Ledger().Budget().Charge()*share)
		if share == 1 && !errors.Is(err, budget.ErrSettled) || share < 1 && err != nil && !errors.Is(err, budget.ErrSettled) {
			t.Errorf("a settled run may release %v of its budget: %v", share, err)
		}
	}
	check(t, s.Charge(.25))
	check(t, run.Settle(ctx, s))
	if _, got := only(t, b); got.Charged.Charge != before.Lease.Charge {
		t.Errorf("settled again at %v: must stay %v", got.Charged.Charge, before.Lease.Charge)
	}
}

// raised tests that a settlement only rises, also past the cap, and that the dataset says by how much.
func raised(t *testing.T, open func() budget.Store) {
	b, run, s, r := held(t, open)
	ctx := holder.On(context.Background(), hosts{ended: true, known: true})
	other := book(t, open)
	check(t, other.Settle(ctx, Certificate{r, unused(t, s)}))
	d, first := only(t, b)
	rest := NewSession(t, math.Sqrt(d.Left)*(1-1e-12))
	check(t, other.Run("people", "rest").Reserve(ctx, rest.Ledger()))
	check(t, s.Charge(.9))
	check(t, run.Settle(ctx, s))
	d, got := only(t, b)
	if got.Charged.Charge != s.Ledger().Charged() || got.Corrected != 1 {
		t.Errorf("corrected to %+v: must be %v", got, s.Ledger().Charged())
	}
	over := s.Ledger().Charged() + rest.Ledger().Budget().Charge() - d.Charge
	if !(d.Over >= over) || d.Over > over*(1+1e-9) || d.Left != 0 || !(d.Epsilon > d.Cap.Epsilon) {
		t.Errorf("overspent by %v, epsilon %v: must be %v", d.Over, d.Epsilon, over)
	}
	check(t, other.Settle(ctx, Certificate{r, unused(t, s)})) // less than is known changes nothing
	check(t, run.Settle(ctx, s))
	if again, _ := only(t, b); again.Head != d.Head || !(got.Charged.Charge > first.Charged.Charge) {
		t.Error("a settlement fell, or was written twice")
	}
	if other.Run("people", "more").Reserve(ctx, NewSession(t, 1e-6).Ledger()) == nil {
		t.Error("a dataset that is overspent admits a run")
	}
	text, err := b.Certificate(ctx, "people")
	check(t, err)
	if proven, err := budget.Verify(ctx, text); err != nil || proven.Over != d.Over || proven.Spent != d.Spent {
		t.Errorf("the certificate proves %+v, %v", proven, err)
	}
}

// inFull tests that a run is settled at its whole reservation, once, and that its holder is told so.
func inFull(t *testing.T, open func() budget.Store) {
	b, run, s, r := held(t, open)
	ctx := holder.On(context.Background(), hosts{ended: true, known: true})
	for range 2 {
		check(t, b.SettleInFull(ctx, "people", r.Run))
	}
	if d, got := only(t, b); d.Rows != 3 || !got.Settled || got.Charged != got.Reserved {
		t.Errorf("settled in full: %+v", got)
	}
	if err := run.Cover(ctx, 4, s.Ledger().Budget().Charge()); !errors.Is(err, budget.ErrSettled) {
		t.Errorf("a run that was settled in full may release: %v", err)
	}
	check(t, b.Settle(ctx, Certificate{r, unused(t, s)}))
	if d, got := only(t, b); d.Rows != 3 || got.Charged != got.Reserved {
		t.Errorf("settled in full, and then at less: %+v", got)
	}
}

// raced tests holders that raise their leases while others settle their runs. Whoever comes first, the run is
// charged at least what its holder was allowed.
func raced(t *testing.T, open func() budget.Store) {
	ctx := holder.On(context.Background(), hosts{ended: true, known: true})
	holding := holder.On(context.Background(), hosts{id: 7})
	c := Cap(t)
	b, other := book(t, open), book(t, open)
	check(t, b.Create(ctx, "people", c))
	const runs, steps = 8, 40
	var wg sync.WaitGroup
	var allowed [runs]float64
	var ids [runs]string
	for i := range runs {
		run, s := b.Run("people", ""), NewSession(t, c.Mu/math.Sqrt(runs)*(1-1e-9))
		run.Hold()
		check(t, run.Reserve(holding, s.Ledger()))
		r, _ := run.Receipt()
		ids[i] = r.Run
		wg.Go(func() {
			for step := range steps {
				charge := s.Ledger().Budget().Charge() * float64(step+1) / steps
				if err := run.Cover(ctx, step, charge); errors.Is(err, budget.ErrSettled) {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				allowed[i] = charge
			}
		})
		wg.Go(func() {
			if err := other.Settle(ctx, Certificate{r, unused(t, s)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d, err := b.Dataset(ctx, "people")
	check(t, err)
	for i, r := range d.Runs {
		if r.Run != ids[i] || !r.Settled || r.Charged.Charge < allowed[i] {
			t.Errorf("run %d may have released %v and is charged %+v", i, allowed[i], r.Charged)
		}
	}
}
