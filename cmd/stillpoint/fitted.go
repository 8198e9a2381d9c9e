package main

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/runfolder"
	"github.com/stillpoint-dp/stillpoint/train"
)

// reads names the table that a command reads, for its messages.
func reads(c *train.Config) string {
	switch {
	case c.Shards != nil:
		return fmt.Sprintf("%s in %d shards", c.TableName(), c.Shards.Count)
	case c.DataPath() == table.Standard:
		return c.TableName() + " from standard input"
	}
	return c.DataPath()
}

// fittedJSON is the output of fit --json, with the facts of the text summary.
type fittedJSON struct {
	Folder      string `json:"folder"`
	Model       string `json:"model"`
	Certificate string `json:"certificate"`
	Complete    bool   `json:"complete"`
	Algorithm   string `json:"algorithm"`
	Steps       int    `json:"steps"`
	Of          int    `json:"of"`

	Records float64 `json:"records"`
	account.Guarantee
	Neighbour string `json:"neighbour"`
	Protects  string `json:"protects"`
	// Charged and Budget are in units of mu^2. Charged is zero for a schedule.
	Charged  float64  `json:"charged"`
	Budget   float64  `json:"budget"`
	Releases int      `json:"releases"`
	Trusted  []string `json:"trusted,omitempty"`
	// Warnings are the facts that a user of the model must know, as in the model's file.
	Warnings []train.Warning `json:"warnings,omitempty"`
	// Compared is the comparison of the model with the best constant. Verdict is its result: better, unclear
	// or worse.
	Compared *train.Compared `json:"compared,omitempty"`
	// Coefficients are the coefficients with confidence intervals, and the formula to which they belong.
	Coefficients *model.Coefficients `json:"coefficients,omitempty"`
	Verdict      string              `json:"verdict,omitempty"`
	Measured     any                 `json:"measured,omitempty"` // as in a certificate
	// Constant is the loss of the model that scores every record 0, as far as it is public. The measured loss
	// should be compared with it.
	Constant any `json:"constant,omitempty"`
	// Curvature is the released curvature at the result, as in a certificate.
	Curvature any `json:"curvature,omitempty"`
	// Looked is the released gradient norm at the result, as in a certificate.
	Looked any `json:"looked,omitempty"`
	// Stored is the row of a store of budgets by which the fit was charged.
	Stored any `json:"stored,omitempty"`
	// Table is the name by which fits of the table are summed. Earlier is the number of its fits before this
	// one. Together is the epsilon of all of them at Delta; it is absent if unknown.
	Table    string   `json:"table"`
	Earlier  int      `json:"earlier"`
	Together *float64 `json:"together,omitempty"`
}

func result(ctx context.Context, c *train.Config, f *runfolder.Fitted) fittedJSON {
	j := fittedJSON{
		Folder: f.Folder, Model: f.ModelPath, Certificate: f.CertificatePath, Complete: f.Result.Complete,
		Algorithm: f.Summary.Algorithm, Steps: f.Result.Steps, Of: f.Summary.Steps,
		Records: f.Records, Guarantee: f.Budget.Guarantee(f.Unit.Column),
		Neighbour: f.Unit.Neighbour(f.Filter, f.Budget.Relation()),
		Protects:  f.Unit.Protects(f.Filter, f.Budget.Relation()),
		Charged:   f.Charged, Budget: f.Budget.Charge(), Releases: f.Releases, Trusted: f.Trusted,
		Table: c.TableName(), Earlier: len(f.Earlier),
	}
	if f.Reserved != nil {
		j.Stored = f.Reserved
	}
	j.Warnings = f.Warnings
	if f.Fitted.Model != nil && f.Fitted.Model.Inference() != nil {
		j.Coefficients, _ = f.Fitted.Model.Coefficients()
	}
	if j.Compared = f.Compared; f.Compared != nil {
		j.Verdict = f.Compared.Verdict().Code()
	}
	if f.Measured != nil {
		j.Measured = f.Measured
	}
	if f.Constant != nil {
		j.Constant = f.Constant
	}
	if f.Result.Curvature != nil {
		j.Curvature = f.Result.Curvature
	}
	if f.Result.Looked != nil {
		j.Looked = f.Result.Looked
	}
	if epsilon, ok := f.Sum(ctx); ok {
		j.Together = &epsilon
	}
	return j
}
