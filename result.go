package stillpoint

import (
	"context"
	"fmt"
	"io"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/fitting"
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
	// Planned is the plan that the fit followed. Steps is the number of steps that were made.
	Planned Planned
	Steps   int
	// Verdict is the conclusion, in words, of the comparison with the best constant, the model that predicts the
	// same for every row. It is empty if the fit made no comparison.
	Verdict string
	// Measured are the released loss and gradient norm at the result. It is nil without Train.Measure.
	Measured *Measured
	// Folder is the path of the folder in which the fit is stored. It is empty without Spec.Folder.
	Folder string

	fit *fitting.Result
}

// Measured are the loss and the gradient norm at the result of a fit, as released.
type Measured struct {
	// Loss is the mean loss of the records plus the regularizer. Each record's loss is clipped to [0,
	// LossClip]. LossSigma is the standard deviation of the noise in Loss.
	Loss, LossSigma, LossClip float64
	// GradientNorm is the norm of the mean clipped gradient plus the regularizer's gradient. It is at least 0.
	// GradientSigma is the standard deviation of the noise in GradientNorm.
	GradientNorm, GradientSigma float64
}

func result(r *fitting.Result) *Result {
	if r == nil {
		return nil
	}
	f := r.Run
	out := &Result{Model: f.Model, Certificate: f.Certificate, Ledger: f.Ledger, Planned: planned(f.Planned),
		Steps: f.Result.Steps, Measured: (*Measured)(f.Measured), fit: r}
	if f.Compared != nil {
		out.Verdict = f.Compared.Verdict().String()
	}
	if r.Kept != nil {
		out.Folder = r.Kept.Folder
	}
	return out
}

// Warnings returns the facts that a user of the model must know. Warnings about the result come first,
// warnings about the budget and the schema last.
func (r *Result) Warnings() []Warning { return r.fit.Run.Warnings }

// Save writes the model, the certificate and the ledger to the folder dir. The commands stillpoint verify,
// report and predict read these files. Save makes the folder if it does not exist, and returns an error if
// the folder has an earlier fit. Save charges nothing. A fit with Spec.Folder has these files already.
func (r *Result) Save(dir string) error { return r.fit.Save(dir) }

// Report writes a page about the fit: a single HTML file without scripts that loads no other files. The page
// contains only public and released values. Report returns an error if the fit has no certificate.
func (r *Result) Report(w io.Writer) error {
	if err := r.fit.Report(context.Background(), w); err != nil {
		return fmt.Errorf("stillpoint: report: %w", err)
	}
	return nil
}

// Summary returns a text with the released results and the privacy cost, one fact on each line: warnings, the
// protected records, the budget and its spent part, the quality of the model, and the paths of its files.
func (r *Result) Summary() string { return r.fit.Summary() }

// Details returns the text of Summary with further numbers of the optimizer: the charge in units of mu^2, the
// bound at which differences of losses were clipped, the last gradients, and the expected gradient norm.
func (r *Result) Details() string { return r.fit.Details() }

// Coefficients returns a table of the coefficients with their confidence intervals, as text. It returns ""
// for a fit without Spec.Inference or without a model.
func (r *Result) Coefficients() string { return r.fit.Coefficients() }

// Planned is the plan of a fit, made from public numbers before any query on records.
type Planned struct {
	// Algorithm is the name of the algorithm, and Steps its number of steps. Why says in words why the algorithm
	// was chosen; it is empty if Train names one.
	Algorithm string
	Steps     int
	Why       string
	// Records is the public number of records, and Weights the number of weights that are trained.
	Records float64
	Weights int
	// GradientNorm is the forecast of the gradient norm at the result; 0 if none may be stated.
	GradientNorm float64
	// Outlook says in words how good a model of this size and budget can be.
	Outlook string
	// Budget is the budget that the fit is charged.
	Budget account.Budget
	// Warnings are the facts about the plan that its user must know.
	Warnings []Warning
}

func planned(p train.Planned) Planned {
	return Planned{Algorithm: p.Summary.Algorithm, Steps: p.Summary.Steps, Why: p.Why, Records: p.Records, Weights: p.Dim,
		GradientNorm: p.Summary.Predicted, Outlook: p.Outlook().String(), Budget: p.Budget, Warnings: p.Warnings()}
}

// Step has the public and released facts of one step.
type Step struct {
	// Number is the number of the step, from 1, and Of the number of all steps.
	Number, Of int
	// GradientNorm is the norm of the noisy gradient estimate that the step used. Noise is the root mean square
	// norm of its noise; 0 if unknown.
	GradientNorm, Noise float64
	// Charged is the largest charge of any record so far in the run.
	Charged float64
	// W is the iterate after the step, a released point. The caller must neither keep nor change it.
	W []float64
}
