package budget

import (
	"context"
	"fmt"
)

// ID returns the id that the run is or will be reserved under, which the store draws.
// Nothing is charged by it. Who keeps the id before calling Reserve can say after a
// crash, by [Book.Withdraw], what nobody else can: that nothing was released.
func (r *Run) ID(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draw(ctx)
}

// draw returns the run's id, drawn once.
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

// Withdraw settles a run at nothing, and reports whether it was reserved; one that was
// not is left so. Only who can prove that nothing was released under the run, and that
// nothing can be any more, may call it: its process has ended, or its session is closed.
// A run that was withdrawn may be withdrawn again.
//
// It waits for a transaction that reserves, and so its answer is final even where that
// transaction's answer was lost.
func (b *Book) Withdraw(ctx context.Context, dataset, run string) (reserved bool, err error) {
	err = b.update(ctx, dataset, func(g *chain, _ string) (*Entry, error) {
		at, found := g.byID[run]
		if reserved = found; !found {
			return nil, nil
		}
		if s := g.runs[at]; s.Settled && s.odometer == 0 {
			return nil, nil
		} else if s.Settled {
			return nil, fmt.Errorf("budget: run %s: has ended and was charged %v: nothing is withdrawn", run, s.Charged.Charge)
		}
		nothing := 0.0
		return &Entry{Kind: Settled, Run: run, Charged: &nothing}, nil
	})
	return reserved, err
}
