package main

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// drySummary returns the lines that fit --dry-run prints below the plan: the charge and the files of the fit
// that was not run.
func drySummary(ctx context.Context, c *train.Config, d *runfolder.Dry) string {
	var b facts
	b.add("would charge", "the whole budget, in %s, before the first release", safetext.Text(d.Ledger))
	if d.Cost != nil {
		b.add("dataset", "%s: mu^2 of %.6g of its cap in the store", safetext.Text(c.Budget.Dataset), d.Cost.Charge)
	}
	b.add("would write", "%s, %s", safetext.Text(d.ModelPath), safetext.Text(d.CertificatePath))
	if len(d.Earlier) > 0 {
		b.add("together", "%s", d.Together(ctx))
	}
	b.add("dry run", "nothing was released, charged or written")
	return b.String()
}

// dryJSON returns the output of fit --dry-run --json: the plan, the charge and the files of the fit that was
// not run.
func dryJSON(ctx context.Context, c *train.Config, d *runfolder.Dry) any {
	j := struct {
		DryRun      bool   `json:"dry_run"`
		Plan        any    `json:"planned"`
		Ledger      string `json:"ledger"`
		Model       string `json:"model"`
		Certificate string `json:"certificate"`
		// Dataset and Charge are the dataset and the charge in the store of budgets; absent without a store.
		Dataset string  `json:"dataset,omitempty"`
		Charge  float64 `json:"charge,omitempty"`
		Earlier int     `json:"earlier_fits"`
		// Together is an epsilon, at this fit's delta, that holds for this fit and the earlier fits of the
		// table together; absent without earlier fits.
		Together float64 `json:"together,omitempty"`
	}{DryRun: true, Plan: planJSON(d.Planned, nil), Ledger: d.Ledger, Model: d.ModelPath, Certificate: d.CertificatePath,
		Earlier: len(d.Earlier)}
	if d.Cost != nil {
		j.Dataset, j.Charge = c.Budget.Dataset, d.Cost.Charge
	}
	if epsilon, ok := d.Sum(ctx); ok && len(d.Earlier) > 0 {
		j.Together = runfolder.RoundUp(epsilon)
	}
	return j
}
