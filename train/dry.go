package train

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// Dry is what a fit would charge and write.
type Dry struct {
	// Fitted has the plan, the earlier fits of the table and the paths of the files that
	// would be; nothing of it was released.
	*Fitted
	// Ledger is where the budget would be reserved first.
	Ledger string
	// Cost is what the dataset of a store of budgets would be charged; nil for none.
	Cost *budget.Cost
}

// DryRun does all of a fit but what charges and writes: it reads the configuration and the
// table, plans, and asks whether folder and store would take the fit. Its errors are those
// of Fit up to the first release. Nothing that it returns depends on what is in the
// table's rows: Fit shows the same before its first release.
func (c *Config) DryRun(ctx context.Context, o Options) (*Dry, error) {
	p, err := c.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	data, err := c.identity()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted: nothing was charged: %w", err)
	}
	d := &Dry{Fitted: &Fitted{Planned: p.planned, entry: p.entry(data)}}
	if d.Cost, err = p.store.would(ctx, p.session.Ledger()); err != nil {
		return nil, err
	}
	if d.Earlier, err = p.out.earlier(data); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if err := p.out.would(); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	d.Folder, d.Ledger = p.out.path, p.out.ledger()
	d.ModelPath, d.CertificatePath = p.out.file(ModelFile), p.out.file(CertificateFile)
	return d, nil
}
