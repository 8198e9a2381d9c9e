package budget

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Would returns the cost that Reserve would charge for a session with this ledger, in the dataset's
// present state. If Reserve would return an error, Would returns this error. Would charges nothing,
// so another run may use the budget before this run is reserved.
func (r *Run) Would(ctx context.Context, v account.View) (Cost, error) {
	limit, err := LimitOf(v)
	if err != nil {
		return Cost{}, err
	}
	r.mu.Lock()
	b, dataset, err := r.book, r.dataset, r.mayServe(v)
	r.mu.Unlock()
	if err != nil {
		return Cost{}, err
	}
	return b.Covers(ctx, dataset, limit)
}

// Covers returns the cost that the reservation of a run would have in the dataset's present state.
// limit bounds the run's releases. If the reservation would return an error, Covers returns this
// error. Covers charges nothing. It is for callers that know the limit before they open a session.
func (b *Book) Covers(ctx context.Context, dataset string, limit Limit) (Cost, error) {
	most, err := b.capOf(ctx, dataset)
	if err != nil {
		return Cost{}, err
	}
	cost, err := b.cost(ctx, most, limit)
	if err != nil {
		return Cost{}, err
	}
	g := b.chain(dataset)
	g.mu.Lock()
	defer g.mu.Unlock()
	return cost, g.admitRun(ctx, entry{Limit: &limit, Cost: &cost}, false)
}
