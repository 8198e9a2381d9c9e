package budget

import (
	"context"
	"errors"
	"fmt"
)

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

// Withdraw settles a run with a charge of zero. If the run was not reserved, Withdraw does nothing
// and returns false. It returns an error if the run has settled with a charge, if it is held by a process
// that may be alive ([ErrHeld]), or if its lease allowed a release. Of a run without a [Lease], a caller must
// be sure that nothing was released under the run and that nothing can be released any more: the run's
// process has ended, or its session is closed. A run that was withdrawn may be withdrawn again,
// which changes nothing.
//
// If a transaction is reserving the run at the same time, Withdraw waits until this transaction has
// ended. The result of Withdraw is therefore right even if the process that reserved the run has
// not received the reply.
func (b *Book) Withdraw(ctx context.Context, dataset, run string) (reserved bool, err error) {
	return b.withdraw(ctx, dataset, run, false)
}

// withdraw does what Withdraw does. own is true if the caller holds the run and has closed its session.
func (b *Book) withdraw(ctx context.Context, dataset, run string, own bool) (reserved bool, err error) {
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
		if !own {
			lease, err := g.leased(ctx, s, now)
			if err != nil {
				return nil, err
			}
			if lease != nil && lease.Charge > 0 {
				return nil, fmt.Errorf("%w: run %s: up to %v (units of mu^2): nothing is withdrawn", ErrReleased, run, lease.Charge)
			}
		}
		return g.end(run, 0), nil
	})
	return reserved, err
}

// ErrReleased reports that a run is not withdrawn, since its [Lease] allowed a release.
var ErrReleased = errors.New("budget: the run may have released answers")
