package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// Lease says which process holds a run, and how much the run may have released. The store keeps it beside the
// chain of rows, since the holder replaces it every few moments: it raises Charge before it releases more
// ([Run.Cover]).
//
// A lease has two uses. While its holder may be alive, nobody else settles the run ([ErrHeld]). And whoever
// settles the run later settles it at Charge or more, whatever a folder of files says. The second use does not
// depend on any clock: Charge and the settlement are changed in transactions that wait for each other, and a
// holder whose run was settled cannot raise Charge any more ([ErrSettled]). The charge of a settlement is
// therefore at least what was released until then, and nothing is released afterwards.
//
// The holder is alive if its process runs on this machine. If this machine cannot tell, the holder is taken to
// be alive until two minutes have passed since Renewed, by the store's clock.
type Lease struct {
	// Run is the id of the run.
	Run string `json:"run"`
	// Holder is a JSON text that identifies the process.
	Holder string `json:"holder"`
	// Events is the number of events that the run's journal had when the lease was last renewed.
	Events int `json:"events"`
	// Charge is the charge up to which the holder may release answers, in units of mu^2 under the run's
	// own relation. It never falls.
	Charge float64 `json:"charge"`
	// Renewed is the time of the last renewal by the store's clock.
	Renewed string `json:"renewed"`
	// Ended is true from the run's settlement on.
	Ended bool `json:"-"`
}

// ErrHeld reports that a run cannot be settled yet, since the process that holds it may be alive.
var ErrHeld = errors.New("budget: the run is held by a process that may be alive")

// ErrSettled reports to a run's holder that somebody else has settled the run. Nothing more may be released
// under it.
var ErrSettled = errors.New("budget: the run was settled by another process: it releases nothing more")

// errNoLease is the error for a run that was reserved with a lease which the store has no longer.
func errNoLease(run string) error {
	return fmt.Errorf("%w: run %s: its lease is not there: the run can only be settled in full", ErrChain, run)
}

const (
	// leaseTime is the time after its last renewal during which a lease of a process is alive of which nobody
	// can tell whether it runs.
	leaseTime = 2 * time.Minute
	// renewal is the time between two renewals of a lease whose charge does not change.
	renewal = leaseTime / 6
)

// clock is the form of times by a store's clock.
const clock = time.RFC3339

// newLease returns the lease of a run that begins, held by this process.
func newLease(ctx context.Context, run string) (*Lease, error) {
	text, err := json.Marshal(holder.From(ctx).Self())
	return &Lease{Run: run, Holder: string(text)}, err
}

// active has the ids of the runs that this process holds.
var active sync.Map

// process returns the lease's holder.
func (l Lease) process() (p holder.Process) {
	_ = json.Unmarshal([]byte(l.Holder), &p)
	return p
}

// String says in words which process holds the run.
func (l Lease) String() string {
	p := l.process()
	return fmt.Sprintf("process %d on %s, last heard of at %s", p.ID, p.Host, l.Renewed)
}

// free returns an error that wraps ErrHeld if the holder may be alive. now is the time by the store's clock.
func (l Lease) free(m holder.Machine, now string) error {
	p := l.process()
	if p == m.Self() {
		if _, is := active.Load(l.Run); is {
			return fmt.Errorf("%w: this process, %d on %s, holds it", ErrHeld, p.ID, p.Host)
		}
		return nil
	}
	ended, known := m.Ended(p)
	if known && ended {
		return nil
	}
	if known {
		return fmt.Errorf("%w: process %d on this machine, %s, runs: end it first", ErrHeld, p.ID, p.Host)
	}
	then, err := time.Parse(clock, l.Renewed)
	if err != nil {
		return fmt.Errorf("%w: %v: renewed = %q: must be a time", ErrHeld, l, l.Renewed)
	}
	at, err := time.Parse(clock, now)
	if err != nil {
		return fmt.Errorf("%w: %v: the store's time %q must be a time", ErrHeld, l, now)
	}
	if left := leaseTime - at.Sub(then); left > 0 {
		return fmt.Errorf("%w: %v: wait another %v, or end it first", ErrHeld, l, left)
	}
	return nil
}

// leased returns the lease of a run, which has not settled. It returns nil for a run without one, and an error
// if the holder may be alive or the store has lost the lease.
func (c *chain) leased(ctx context.Context, run RunState, now string) (*Lease, error) {
	l, ok := c.leases[run.Run]
	switch {
	case !ok && run.Held:
		return nil, errNoLease(run.Run)
	case !ok:
		return nil, nil
	}
	return &l, l.free(holder.From(ctx), now)
}

// end returns the entry that settles a run at a charge, and ends the run's lease.
func (c *chain) end(run string, charge float64) *entry {
	e := &entry{Kind: kindSettled, Run: run, Charged: &charge}
	if l, ok := c.leases[run]; ok {
		l.Ended = true
		e.lease = &l
	}
	return e
}

// Held returns an error that wraps [ErrHeld] if the run has not settled and the process that holds it may be
// alive. It returns nil for a run that the store does not have.
func (b *Book) Held(ctx context.Context, dataset, run string) error {
	return b.read(ctx, dataset, func(c *chain) error {
		if l, ok := c.leases[run]; ok {
			return l.free(holder.From(ctx), c.now)
		}
		return nil
	})
}

// SettleInFull settles a run at the charge of its reservation: nothing of it is free again, whatever may be
// found later. It is for runs whose releases nothing proves. It returns an error if the run has settled or is
// held by a process that may be alive ([ErrHeld]).
func (b *Book) SettleInFull(ctx context.Context, dataset, run string) error {
	return b.update(ctx, dataset, func(g *chain, now string) (*entry, error) {
		if g.number == 0 {
			return nil, missing(dataset)
		}
		at, found := g.byID[run]
		if !found {
			return nil, fmt.Errorf("budget: run %s: must have been reserved", run)
		}
		s := g.runs[at]
		whole := downward(square(s.Limit.Mu))
		if s.Settled && s.odometer == whole {
			return nil, nil
		}
		if s.Settled {
			return nil, fmt.Errorf("budget: run %s: has ended and was charged %v: must not have ended", run, s.Charged.Charge)
		}
		if l, ok := g.leases[run]; ok {
			if err := l.free(holder.From(ctx), now); err != nil {
				return nil, err
			}
		}
		return g.end(run, whole), nil
	})
}
