package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// Session is the session whose run is settled. To settle a run is to free the budget that it did
// not use. *curator.Session implements Session.
type Session interface {
	Ledger() account.View
	// Close makes the ledger refuse every further charge.
	Close() error
}

// Settle closes the run's session s, so that its charge is final, and frees the budget that the session did not use. If
// nothing was reserved, it only closes s. If the reservation failed, so that nobody knows whether it was made, Settle
// withdraws it. A run that does not settle stays charged in full. If s is not the session that owns the run, Settle
// returns an error and does not close s. If somebody else has settled the run, Settle raises the charge to what the
// session released, if that is more, even past the cap.
func (r *Run) Settle(ctx context.Context, s Session) error {
	own := s.Ledger()
	r.mu.Lock()
	err := r.mayServe(own)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	closing := s.Close()
	r.marks.stop()
	r.mu.Lock()
	receipt, id, asked := r.receipt, r.id, r.owner != (account.View{})
	r.mu.Unlock()
	switch {
	case receipt != nil:
		return errors.Join(closing, r.book.settle(ctx, *receipt, own, true))
	case asked && id != "" && closing == nil:
		_, err := r.book.Withdraw(ctx, r.dataset, id)
		return err
	}
	return closing
}

// Certificate is the certificate of a run. It is used to settle the run, which frees the run's
// unused budget, if the run's session is gone. *certificate.Certificate implements it.
type Certificate interface {
	// Budget returns the run's reservation, which names a row of a store. ok is false if the run
	// was charged to no store.
	Budget() (r account.Reservation, ok bool)
	// Ledger verifies the certificate and returns the ledger of its events, which has ended.
	Ledger(context.Context) (account.View, error)
}

// Settle frees the budget that a run did not use. It is for a run whose session is gone. The
// certificate names the run's row in its dataset's chain and has every charge of the run. A program
// that still has the session calls [Run.Settle] instead.
//
// A certificate is not signed. Its charges are true only if its author took them from the session,
// or from a journal that wrote each charge to stable storage before the answer was returned. A run
// that has a [Lease] is charged at least what its lease allowed, and cannot be settled while its holder
// may be alive ([ErrHeld]). A settlement only rises: a run that was settled is settled again if the
// certificate has a larger charge, even past the cap, and otherwise Settle changes nothing.
func (b *Book) Settle(ctx context.Context, c Certificate) error {
	receipt, reserved := c.Budget()
	if !reserved {
		return errors.New("budget: certificate: names no reservation: its run was charged to no store")
	}
	v, err := c.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	return b.settle(ctx, receipt, v, false)
}

// settle frees the budget that the run of the reservation r did not use. v is the ledger for which
// the run was reserved, and must have ended. own is true if v is the ledger of the session itself, which
// says exactly what was released. Otherwise v is that of a certificate, and the run is charged what its
// lease allowed at least. A run that was settled before is settled again only at a larger charge.
func (b *Book) settle(ctx context.Context, r account.Reservation, v account.View, own bool) error {
	limit, err := LimitOf(v)
	if err != nil {
		return err
	}
	if !v.Ended() {
		return errors.New("budget: run: its ledger must have ended: what it could still charge would not be counted")
	}
	return b.update(ctx, r.Dataset, func(g *chain, now string) (*entry, error) {
		if g.number == 0 {
			return nil, missing(r.Dataset)
		}
		run, err := g.reserved(r)
		if err != nil {
			return nil, err
		}
		if !run.Limit.serves(limit) {
			return nil, otherLaw(r)
		}
		charge := v.Charged()
		if !own && !run.Settled {
			lease, err := g.leased(ctx, run, now)
			if err != nil {
				return nil, err
			}
			if lease != nil {
				charge = max(charge, lease.Charge)
			}
		}
		if run.Settled && !(charge > run.odometer) {
			return nil, nil
		}
		return g.end(r.Run, charge), nil
	})
}

// reserved returns the run of a reservation. It is an error if the chain has no such run, or if the
// number or the hash of the run's row differs from the reservation.
func (c *chain) reserved(r account.Reservation) (RunState, error) {
	at, known := c.byID[r.Run]
	if !known {
		return RunState{}, fmt.Errorf("budget: run %s: must have been reserved", r.Run)
	}
	run := c.runs[at]
	if run.Row != r.Row || run.Head != r.Head {
		return RunState{}, otherRow(r)
	}
	return run, nil
}

// otherRow returns the error for a chain that does not have the reservation in the stated row.
func otherRow(r account.Reservation) error {
	return fmt.Errorf("%w: dataset %q: row %d is not that of run %s: an earlier state of the store was put back, or "+
		"another store",
		ErrChain, r.Dataset, r.Row, r.Run)
}

// otherLaw returns the error for a ledger whose limits differ from the limits of the reservation.
func otherLaw(r account.Reservation) error {
	return fmt.Errorf("budget: run %s: must have the relation, unit, epsilon, delta and schedule of its reservation",
		r.Run)
}

// serves reports whether a ledger whose limits are m may settle a run that was reserved with the
// limits l. The limits must agree except for their Mu, because a later version may round mu
// differently. The chain bounds the charge by the Mu of l.
func (l Limit) serves(m Limit) bool {
	m.Mu = l.Mu
	return l.equal(m)
}

// ID returns the id of the run. The store draws the id at the first call. ID charges nothing. A
// program that puts the id on stable storage before it calls Reserve can withdraw the run after a
// crash ([Book.Withdraw]), if it knows that nothing was released.
func (r *Run) ID(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draw(ctx)
}

// draw returns the run's id. At the first call the store draws the id at random. r.mu must be
// locked.
func (r *Run) draw(ctx context.Context) (string, error) {
	if r.id == "" {
		id, err := r.book.store.Draw(ctx)
		if err != nil {
			return "", failed(err)
		}
		r.id = id
	}
	return r.id, nil
}

// Withdraw settles a run with a charge of zero. If the run was not reserved, Withdraw does nothing and returns false.
// It returns an error if the run has settled with a charge, if it is held by a process that may be alive ([ErrHeld]),
// or if its lease allowed a release. Of a run without a [Lease], a caller must be sure that nothing was released under
// the run and that nothing can be released any more: the run's process has ended, or its session is closed. A run that
// was withdrawn may be withdrawn again, which changes nothing.
//
// If a transaction is reserving the run at the same time, Withdraw waits until this transaction has ended. The result
// of Withdraw is therefore right even if the process that reserved the run has not received the reply.
func (b *Book) Withdraw(ctx context.Context, dataset, run string) (reserved bool, err error) {
	err = b.update(ctx, dataset, func(g *chain, now string) (*entry, error) {
		at, found := g.byID[run]
		if reserved = found; !found {
			return nil, nil
		}
		s := g.runs[at]
		if s.Settled && s.odometer == 0 {
			return nil, nil
		} else if s.Settled {
			return nil, fmt.Errorf("budget: run %s: has ended and was charged %v: nothing is withdrawn", run, s.Charged.Charge)
		}
		lease, err := g.leased(ctx, s, now)
		if err != nil {
			return nil, err
		}
		if lease != nil && lease.Charge > 0 {
			return nil, fmt.Errorf("%w: run %s: up to %v (units of mu^2): nothing is withdrawn", ErrReleased, run, lease.Charge)
		}
		return g.end(run, 0), nil
	})
	return reserved, err
}

// ErrReleased reports that a run is not withdrawn, since its [Lease] allowed a release.
var ErrReleased = errors.New("budget: the run may have released answers")

// Lease says which process holds a run, and how much the run may have released. The store keeps it beside the chain of
// rows, since the holder replaces it every few moments: it raises Charge before it releases more ([Run.Cover]).
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
		return nil, fmt.Errorf("%w: run %s: its lease is not there: the run can only be settled in full", ErrChain, run.Run)
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
