package main

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// reads returns the table's name for messages: its files, or its public name if it comes from shards or
// standard input.
func reads(c *train.Config) string {
	switch {
	case c.Shards != nil:
		return fmt.Sprintf("%s in %d shards", c.TableName(), c.Shards.Count)
	case c.DataPath() == table.Standard:
		return c.TableName() + " from standard input"
	}
	return c.DataPath()
}

// fittedJSON is the output of fit --json. It has the facts of the text summary.
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
	// Charged and Budget are in units of mu^2. Charged is zero for a fit on a schedule of Poisson samples.
	Charged  float64  `json:"charged"`
	Budget   float64  `json:"budget"`
	Releases int      `json:"releases"`
	Trusted  []string `json:"trusted,omitempty"`
	// Warnings are the facts that a user of the model must know, as in the model's file.
	Warnings []train.Warning `json:"warnings,omitempty"`
	// Compared is the comparison of the model with the best constant. Verdict is its result: better, unclear
	// or worse.
	Compared *train.Compared `json:"compared,omitempty"`
	// Comparison is the comparison in one sentence. Saved is the share of the constant's loss that the fit saves, or
	// of times the explained randomness; absent unless it is better, and for counts.
	Comparison string `json:"comparison,omitempty"`
	Saved      *saved `json:"saved,omitempty"`
	// Coefficients are the coefficients with confidence intervals, and the formula to which they belong.
	Coefficients *model.Coefficients `json:"coefficients,omitempty"`
	Verdict      string              `json:"verdict,omitempty"`
	Measured     any                 `json:"measured,omitempty"` // as in a certificate
	// Constant states public bounds on the loss of the model that gives every record the score 0. The
	// measured loss can be compared with them.
	Constant any `json:"constant,omitempty"`
	// Curvature is the released least curvature at the result along public directions, as a certificate
	// states it.
	Curvature any `json:"curvature,omitempty"`
	// SelectedNorm is the released gradient norm at the result of algorithm o2nc, as a certificate states it.
	SelectedNorm any `json:"looked,omitempty"`
	// Stored is the row of the store of budgets that reserves the fit's budget; absent without a store.
	Stored any `json:"stored,omitempty"`
	// Table is the table's name for messages. Earlier is the number of earlier fits of the table that the
	// output folders have. Together is an epsilon, at Delta, that holds for this fit and the earlier fits
	// together; it is absent if none could be computed.
	Table    string   `json:"table"`
	Earlier  int      `json:"earlier"`
	Together *float64 `json:"together,omitempty"`
}

// saved is a share of the constant's loss, with the ends of its 95% interval.
type saved struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
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
		j.Verdict, j.Comparison = f.Compared.Verdict().Code(), f.Compared.Sentence()
		if share, low, high, ok := f.Compared.Explained(); ok {
			j.Saved = &saved{share, low, high}
		}
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
	if f.Result.SelectedNorm != nil {
		j.SelectedNorm = f.Result.SelectedNorm
	}
	if epsilon, ok := f.Sum(ctx); ok {
		j.Together = &epsilon
	}
	return j
}
