package stillpoint

import (
	"context"
	"errors"
	"io"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Result has everything that a fit released, and the fit's privacy cost. All of it may be published.
type Result struct {
	// Model is the trained model. It is nil if the fit was interrupted before its first step ended.
	Model *Model
	// Certificate is the public record of the fit. Anybody can recheck the privacy cost from it.
	Certificate *certificate.Certificate
	// Ledger lists the charges, one for each release.
	Ledger account.View
	// Run has all other results: the plan, the comparison with the best constant (Compared), the measurements
	// (Measured) and Warnings.
	Run *train.Fitted
	// Kept describes the folder in which the fit is stored and the other fits of the table in this folder's
	// ledger. It is nil without Spec.Folder.
	Kept *runfolder.Fitted

	table string
}

func result(c *Config, f *train.Fitted, kept *runfolder.Fitted) *Result {
	if f == nil {
		return nil
	}
	return &Result{Model: f.Model, Certificate: f.Certificate, Ledger: f.Ledger, Run: f, Kept: kept, table: c.TableName()}
}

// Warnings returns the facts that a user of the model must know. Warnings about the result come first,
// warnings about the budget and the schema last.
func (r *Result) Warnings() []Warning { return r.Run.Warnings }

// Save writes the model, the certificate and the ledger to the folder dir. The commands stillpoint verify,
// report and predict read these files. Save makes the folder if it does not exist, and returns an error if
// the folder has an earlier fit. Save charges nothing. A fit with Spec.Folder has these files already.
func (r *Result) Save(dir string) error { return runfolder.Save(dir, r.Run) }

// Report writes a page about the fit: a single HTML file without scripts that loads no other files. The page
// contains only public and released values. Report returns an error if the fit has no certificate.
func (r *Result) Report(w io.Writer) error {
	if r.Certificate == nil {
		return errors.New("stillpoint: report: the fit has no certificate")
	}
	cert, err := r.Certificate.Bytes()
	if err != nil {
		return err
	}
	var text []byte
	if r.Model != nil {
		if text, err = r.Model.Bytes(); err != nil {
			return err
		}
	}
	ctx := context.Background()
	fit, err := report.NewFit(ctx, cert, text)
	if err != nil {
		return err
	}
	page, err := fit.Page(ctx)
	if err != nil {
		return err
	}
	return page.Render(w)
}
