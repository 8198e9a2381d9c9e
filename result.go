package stillpoint

import (
	"context"
	"errors"
	"io"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/report"
	"github.com/stillpoint-dp/stillpoint/runfolder"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Result is what a fit released and what it cost. All of it may be published.
type Result struct {
	// Model is what was trained; nil if the fit was interrupted before there was one.
	Model *Model
	// Certificate is the public record from which anybody can recheck the cost.
	Certificate *certificate.Certificate
	// Ledger is what was charged, release by release.
	Ledger account.View
	// Run has all the rest: the plan, how the result compares with the best constant
	// (Compared), what was measured (Measured), Warnings.
	Run *train.Fitted
	// Kept is the folder that the fit is kept in, with the other fits of the table that
	// are known there; nil without Spec.Folder.
	Kept *runfolder.Fitted

	table string
}

func result(c *Config, f *train.Fitted, kept *runfolder.Fitted) *Result {
	if f == nil {
		return nil
	}
	return &Result{Model: f.Model, Certificate: f.Certificate, Ledger: f.Ledger, Run: f, Kept: kept, table: c.TableName()}
}

// Warnings are what a user of the model has to know, the worst first.
func (r *Result) Warnings() []Warning { return r.Run.Warnings }

// Save writes model, certificate and ledger to a folder, which is made if it is not there
// and must hold no earlier fit: the files that stillpoint verify, report and predict take.
// It charges nothing. A fit that is kept in a folder has them there already.
func (r *Result) Save(dir string) error { return runfolder.Save(dir, r.Run) }

// Report writes the page about the fit for readers: HTML in one file, with no script, that
// loads nothing. It follows from what was released alone.
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
