package budget

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Would returns the cost that Reserve would charge for a session with this ledger in the dataset's
// present state, or the error that Reserve would return. It charges nothing: another run may use
// the budget before this one does.
func (r *Run) Would(ctx context.Context, v account.View) (Cost, error) {
	law, err := LawOf(v)
	if err != nil {
		return Cost{}, err
	}
	r.mu.Lock()
	b, dataset, err := r.book, r.dataset, r.mayServe(v)
	r.mu.Unlock()
	if err != nil {
		return Cost{}, err
	}
	return b.Covers(ctx, dataset, law)
}

// Covers says what a run of a law would be charged as the dataset stands now, or returns
// the error that its reservation would. Nothing is charged. It serves those who know the
// law of a session before they open one.
func (b *Book) Covers(ctx context.Context, dataset string, law Law) (Cost, error) {
	d, err := b.Dataset(ctx, dataset)
	if err != nil {
		return Cost{}, err
	}
	cost, err := b.cost(ctx, d.Cap, law)
	if err != nil {
		return Cost{}, err
	}
	g := b.chain(dataset)
	g.mu.Lock()
	defer g.mu.Unlock()
	return cost, g.admitRun(ctx, Entry{Law: &law, Cost: &cost}, false)
}
