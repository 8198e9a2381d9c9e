package budget

import (
	"context"
	"errors"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Run is one session's reservation of a dataset's cap. It belongs to the first ledger
// that reserves by it, and settles by that ledger alone: each session has a Run of its
// own. It is safe for concurrent use.
type Run struct {
	book           *Book
	dataset, label string

	mu sync.Mutex
	// owner is the ledger that the run belongs to; the zero View before the first.
	owner   account.View
	id      string
	law     Law
	receipt *account.Reservation
}

// Run returns the reservation of a session that is about to begin, which label describes
// in public words; it may be empty. Nothing is charged yet.
func (b *Book) Run(dataset, label string) *Run {
	return &Run{book: b, dataset: dataset, label: label}
}

// errShared refuses a ledger that is not the run's.
var errShared = errors.New("budget: run: belongs to the session that reserved by it first: " +
	"make one for each session (Book.Run)")

// mayServe refuses every ledger but the run's own, once it has one.
func (r *Run) mayServe(v account.View) error {
	if r.owner != (account.View{}) && r.owner != v {
		return errShared
	}
	return nil
}

// Reserve charges the whole budget of the session whose ledger this is, before its
// first release: it is for curator.Config.Reserve. Over the cap the error is an
// *account.BudgetError, and nothing was charged. After any other error nothing may be
// released either, though the charge may stand: asked again, the same Run finds it.
//
// A Run is charged once, for one ledger: another session's is refused. Its id is drawn by
// the store, so that no other process can release under it: a session that is begun anew
// after a crash is charged anew.
func (r *Run) Reserve(ctx context.Context, v account.View) error {
	law, err := LawOf(v)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mayServe(v); err != nil {
		return err
	}
	if r.owner == (account.View{}) {
		r.owner, r.law = v, law
	}
	if !r.law.equal(law) {
		return errors.New("budget: run: the session's law must be the one that was reserved")
	}
	if r.receipt != nil {
		return nil
	}
	if _, err := r.draw(ctx); err != nil {
		return err
	}
	receipt, err := r.book.reserve(ctx, r.dataset, r.id, r.label, law)
	if err != nil {
		return err
	}
	r.receipt = &receipt
	return nil
}

// Receipt returns where the reservation is; ok is false before it was made. It is written
// into the run's certificate.
func (r *Run) Receipt() (receipt account.Reservation, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receipt == nil {
		return account.Reservation{}, false
	}
	return *r.receipt, true
}
