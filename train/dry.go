package train

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// Dry is what a fit would charge.
type Dry struct {
	// Fitted has the plan and the entry; nothing of it was released.
	*Fitted
	// Cost is what the dataset of a store of budgets would be charged; nil for none.
	Cost *budget.Cost
}

// DryRun does all of a fit but what charges and writes: it reads the configuration and the
// table, plans, and asks whether the keeper and the store would take the fit. Its errors
// are those of Fit up to the first release. Nothing that it returns depends on what is in
// the table's rows: Fit shows the same before its first release.
func (c *Config) DryRun(ctx context.Context, o Options) (*Dry, error) {
	p, err := c.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	data, err := c.Identity()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted: nothing was charged: %w", err)
	}
	d := &Dry{Fitted: &Fitted{Planned: p.planned, Entry: p.entry(data)}}
	d.Cost, err = p.store.would(ctx, p.session.Ledger())
	return d, err
}
