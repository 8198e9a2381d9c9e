package train

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// Dry is the result of DryRun: it describes a fit that was planned and not run.
type Dry struct {
	// Fitted has the plan and the entry for the ledger. Its other fields are empty.
	*Fitted
	// Cost is the charge that the fit would make to the dataset in the store of budgets; nil if no store is
	// used.
	Cost *budget.Cost
}

// DryRun does everything that Fit does before it charges or writes anything: it reads the
// configuration and the table, makes the plan, and asks the storage (which would store the fit) and
// the store of budgets whether they would accept the fit. It returns the errors that Fit would
// return before the first release. Nothing that it returns depends on the content of the rows,
// except for the number of records, which is public.
func (c *Config) DryRun(ctx context.Context, o Options) (*Dry, error) {
	c, err := c.resolved(ctx)
	if err != nil {
		return nil, err
	}
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
	p.planned.begin, p.planned.again = nil, nil // nothing is released, and the size was checked
	d := &Dry{Fitted: &Fitted{Planned: p.planned, Entry: p.entry(data)}}
	d.Cost, err = p.store.would(ctx, p.session.Ledger())
	return d, err
}
