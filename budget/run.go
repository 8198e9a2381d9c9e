package budget

import (
	"context"
	"errors"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Run is one session's reservation of a dataset's budget. It belongs to the ledger of the first
// session that reserves with it, and only that session can settle it by [Run.Settle]. Each session
// therefore needs its own Run. A Run is safe for concurrent use.
type Run struct {
	book           *Book
	dataset, label string

	mu sync.Mutex
	// owner is the ledger of the session to which the run belongs. It is the zero View before the
	// first call of Reserve.
	owner   account.View
	id      string
	limit   Limit
	receipt *account.Reservation
	// held says that the run has a lease. marks renews it from the reservation on; it is nil for a run
	// without a lease.
	held  bool
	marks *marks
}

// Run returns the [Run] with which a session that is about to begin reserves its budget. label
// describes the purpose of the run in public words and may be empty. Nothing is charged before
// [Run.Reserve] is called.
func (b *Book) Run(dataset, label string) *Run {
	return &Run{book: b, dataset: dataset, label: label}
}

// errShared is the error for a ledger that does not own the run.
var errShared = errors.New("budget: run: belongs to the session that reserved by it first: " +
	"make one for each session (Book.Run)")

// mayServe returns errShared if the run has an owner and v reads a ledger other than the owner.
// Otherwise it returns nil. r.mu must be locked.
func (r *Run) mayServe(v account.View) error {
	if r.owner != (account.View{}) && r.owner != v {
		return errShared
	}
	return nil
}

// Reserve charges the whole budget of the session with this ledger, before its first release. It is
// the function for curator.Config.Reserve. If the cap does not cover the budget, it returns an
// *account.BudgetError and charges nothing. After any other error nothing may be released either,
// but the charge may have been made. A further call of Reserve on the same Run finds this charge
// and does not charge again.
//
// A Run is charged once, for one ledger. Reserve refuses the ledger of another session. The store
// draws the run's id at random, so that no other process can release under the run. A session that
// is started again after a crash has a new Run and is charged again.
func (r *Run) Reserve(ctx context.Context, v account.View) error {
	limit, err := LimitOf(v)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mayServe(v); err != nil {
		return err
	}
	if r.owner == (account.View{}) {
		r.owner, r.limit = v, limit
	}
	if !r.limit.equal(limit) {
		return errors.New("budget: run: the session's limit must be the one that was reserved")
	}
	if r.receipt != nil {
		return nil
	}
	if _, err := r.draw(ctx); err != nil {
		return err
	}
	var lease *Lease
	if r.held {
		var err error
		if lease, err = newLease(ctx, r.id); err != nil {
			return err
		}
	}
	receipt, err := r.book.reserve(ctx, r.dataset, r.id, r.label, limit, lease)
	if err != nil {
		return err
	}
	r.receipt = &receipt
	if r.held {
		r.marks = r.book.keep(ctx, r.dataset, *lease, downward(square(limit.Mu)))
	}
	return nil
}

// Hold gives the run a [Lease], which the store keeps from the reservation on: this process holds the run,
// and nobody else settles it while this process may be alive. It must be called before Reserve. The holder
// must call Cover before each release, since a run is otherwise settled below what it released.
func (r *Run) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = r.receipt == nil
}

// Cover returns after the store has noted, in the run's [Lease], that the run may release answers up to the
// sum charge, in units of mu^2 under the run's own relation. events is the number of events that the run's
// journal has so far. Nothing may be released after an error: [ErrSettled] if somebody else has settled the
// run, and [ErrStore] if the store has not answered for a minute. Most calls return at once, since the store
// is asked ahead. Cover does nothing for a run without a lease.
func (r *Run) Cover(ctx context.Context, events int, charge float64) error {
	r.mu.Lock()
	m := r.marks
	r.mu.Unlock()
	return m.cover(ctx, events, charge)
}

// Receipt returns the reservation, which names the store's row with the charge and the row's hash.
// The reservation is written into the run's certificate. ok is false before Reserve has succeeded.
func (r *Run) Receipt() (receipt account.Reservation, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receipt == nil {
		return account.Reservation{}, false
	}
	return *r.receipt, true
}
