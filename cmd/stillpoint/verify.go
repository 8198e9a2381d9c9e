package main

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
)

type verifyCommand struct {
	Certificate string   `arg:"" help:"Certificate file." placeholder:"CERTIFICATE"`
	Model       string   `help:"Also check that FILE is the model the certificate speaks of." placeholder:"FILE"`
	Runs        []string `name:"run" help:"Of a dataset's certificate: also check that it has the run of this certificate." placeholder:"CERTIFICATE"`
	JSON        bool     `help:"Print JSON." name:"json"`
}

func (v *verifyCommand) Run(ctx context.Context, c *console) error {
	if isBudget(v.Certificate) {
		return v.verifyBudget(ctx, c)
	}
	if len(v.Runs) > 0 {
		return fmt.Errorf("%s: is no dataset's certificate: --run is for those", v.Certificate)
	}
	report, err := stillpoint.VerifyFiles(ctx, v.Certificate, v.Model)
	if err != nil {
		return err
	}
	if v.JSON {
		return printJSON(c.out, report)
	}
	_, err = fmt.Fprintln(c.out, report)
	return err
}

// verifyBudget verifies the certificate of a dataset.
func (v *verifyCommand) verifyBudget(ctx context.Context, c *console) error {
	if v.Model != "" {
		return fmt.Errorf("%s: is a dataset's certificate, which speaks of no model", v.Certificate)
	}
	text, err := regularfile.Read(v.Certificate, budget.MostCertificate)
	if err != nil {
		return err
	}
	d, err := budget.Verify(ctx, text)
	if err != nil {
		return fmt.Errorf("%s: %w", v.Certificate, err)
	}
	for _, path := range v.Runs {
		if err := against(ctx, d, path); err != nil {
			return err
		}
	}
	if v.JSON {
		return printJSON(c.out, d)
	}
	_, err = fmt.Fprint(c.out, spent(d), provenOf(d))
	return err
}

// provenOf states in words what a dataset's verified chain of rows proves about the privacy of its runs.
func provenOf(d *budget.Dataset) string {
	if d.Over > 0 {
		return fmt.Sprintf(`The cap does not hold: runs of this dataset released %.6g (units of mu^2) more than it allows.
Together they are (%.4g, %v)-differentially private under %v. This follows
from the rows; that none is missing at the end, whoever has a later head can tell.
`, d.Over, runfolder.RoundUp(d.Epsilon), d.Cap.Delta, d.Cap.Relation)
	}
	return fmt.Sprintf(`Everything that was released of this dataset by the runs above is together
(%v, %v)-differentially private under %v: each was charged before its
first release, and none that the cap did not cover. This follows from the rows; that
none is missing at the end, whoever has a later head can tell.
`, d.Cap.Epsilon, d.Cap.Delta, d.Cap.Relation)
}
