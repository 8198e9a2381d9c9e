package train

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// Dry says what a fit would cost.
type Dry struct {
	// Fitted holds the plan and the ledger entry; nothing was released.
	*Fitted
	// Cost is the charge to the dataset in the store of budgets; nil without a store.
	Cost *budget.Cost
}

// DryRun does everything that a fit does before it charges and writes: it reads the configuration and
// the table, makes the plan, and asks the keeper and the store whether they would accept the fit. Its
// errors are the errors of Fit before the first release. Nothing that it returns depends on the content
// of the table's rows: Fit shows the same before its first release.
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
