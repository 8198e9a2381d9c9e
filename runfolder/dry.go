package runfolder

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Dry is what a fit would charge and write.
type Dry struct {
	// Fitted has the plan, the earlier fits of the table and the paths of the files that
	// would be; nothing of it was released.
	*Fitted
	// Cost is what the dataset of a store of budgets would be charged; nil for none.
	Cost *budget.Cost
	// Ledger is where the budget would be reserved first.
	Ledger string
}

// DryRun does all of a fit but what charges and writes (train.Config.DryRun), and asks
// whether the folder would take the fit.
func DryRun(ctx context.Context, c *train.Config, to Out, o train.Options) (*Dry, error) {
	out := to.folder(c, o.Stores)
	o.Keeper = &keeper{out}
	d, err := c.DryRun(ctx, o)
	if err != nil {
		return nil, err
	}
	f := &Fitted{Fitted: d.Fitted}
	if f.Earlier, err = out.earlier(d.Entry.Data); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if err := out.would(); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	f.Folder, f.ModelPath, f.CertificatePath = out.path, out.file(ModelFile), out.file(CertificateFile)
	return &Dry{Fitted: f, Cost: d.Cost, Ledger: out.ledger()}, nil
}
