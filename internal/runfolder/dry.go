package runfolder

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Dry describes the charge and the files of a fit that was not run.
type Dry struct {
	// Fitted has the plan, the earlier fits of the table and the paths of the files that the fit would write.
	// Nothing in it was computed from records.
	*Fitted
	// Cost is the charge to the table's dataset in a store of budgets. It is nil without a store.
	Cost *budget.Cost
	// Ledger is the path of the ledger in which the budget would be reserved first.
	Ledger string
}

// DryRun does everything that a fit does except charging and writing (train.Config.DryRun). It returns an
// error if the output folder would not accept the fit.
func DryRun(ctx context.Context, c *train.Config, to Out, o train.Options) (*Dry, error) {
	out := to.folder(c, o.Stores)
	o.Storage = &storage{out}
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
