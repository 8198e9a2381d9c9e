package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/experiment"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/runfolder"
	"github.com/stillpoint-dp/stillpoint/train"
)

// outline describes a plan.
func outline(p train.Planned) string {
	o := p.Summary
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	weights := ""
	if p.Dim != p.Features {
		weights = fmt.Sprintf(", %d weights", p.Dim)
	}
	line("records", "%.0f (public), %d features%s", p.Records, p.Features, weights)
	if note := p.Unit.Note(); note != "" {
		line("unit", "%s: %s", p.Unit.Record(), note)
	}
	line("neighbour", "%s", p.Unit.Neighbour(p.Filter, p.Budget.Relation()))
	if note := p.Filter.Note(); note != "" {
		line("filter", "%v: %s", p.Filter, note)
	}
	line("budget", "epsilon %v, delta %v, %v (mu %.5g)", p.Budget.Epsilon(), p.Budget.Delta(), p.Budget.Relation(), p.Budget.Mu())
	line("algorithm", "%s: %s", o.Algorithm, o.Citation)
	line("steps", "%d of size %.4g; clip norm %v", o.Steps, o.StepSize, o.Clip)
	line("charges", "%s", o.Charges)
	line("output", "%s", o.Output)
	line("expect", "gradient norm %.3g (the population's %.3g); floor r %.3g, effective size N %.0f", o.Predicted, o.Population, o.Floor, o.Effective)
	low, high := p.Range()
	line("range", "%.2g to %.2g, by how far predictions were off where they were measured", low, high)
	line("takes", "%v", p.Estimate)
	line("lower bound", "a constant times %.3g, for any private algorithm on the worst such problem (Arora et al. 2023)", p.LowerBound)
	if p.Why != "" {
		line("chosen", "%s", p.Why)
	}
	for i, c := range p.Candidates {
		name := ""
		if i == 0 {
			name = "considered"
		}
		floors := ""
		if c.Predicted == c.Summary.Predicted {
			floors = fmt.Sprintf(", %.2f times the floor", c.Predicted/c.Summary.Floor)
		}
		line(name, "%-14s %4d steps, %5.4g passes, %s %.3g%s", c.Summary.Algorithm, c.Summary.Steps, c.Summary.Passes,
			p.Criterion.Describe(), c.Predicted, floors)
	}
	line("outlook", "%v", p.Outlook())
	switch {
	case p.Compare != nil:
		line("compare", "%.2g of the budget tells whether the model is better than the best constant (train.compare: off keeps it for the model)", comparing(p))
	case p.NotCompared != "":
		line("compare", "the model will not be compared with the best constant: %s", p.NotCompared)
	}
	for _, w := range p.Warnings() {
		line("warning", "%s", w.Text)
	}
	if err := p.Useless(); err != nil {
		line("warning", "fit refuses this: %v", err)
	}
	return b.String()
}

func planJSON(p train.Planned, tried []experiment.Checked) any {
	var considered []any
	for _, c := range p.Candidates {
		considered = append(considered, c.Summary)
	}
	var filter *certificate.Filter
	if p.Filter != (certificate.Filter{}) {
		filter = &p.Filter
	}
	var unit *certificate.Unit
	if p.Unit != (certificate.Unit{}) {
		unit = &p.Unit
	}
	return struct {
		Records  float64 `json:"records"`
		Dim      int     `json:"dim"`
		Epsilon  float64 `json:"epsilon"`
		Delta    float64 `json:"delta"`
		Mu       float64 `json:"mu"`
		Relation string  `json:"relation"`
		// Neighbour says what a neighbouring table is, Filter which rows are
		// records if not all of them.
		Neighbour string              `json:"neighbour"`
		Filter    *certificate.Filter `json:"filter,omitempty"`
		// Unit says whose rows make up one record, if each is not one.
		Unit *certificate.Unit `json:"unit,omitempty"`
		Plan any               `json:"plan"`
		// Compare is the share of the budget kept for comparing the model with the best
		// constant, and Warnings what a user has to know before the fit.
		Compare  float64         `json:"compare,omitempty"`
		Outlook  train.Outlook   `json:"outlook"`
		Warnings []train.Warning `json:"warnings,omitempty"`
		// LowerBound is up to a constant.
		LowerBound float64 `json:"lower_bound"`
		// Considered are the plans that auto compared, the chosen one first.
		Considered []any `json:"considered,omitempty"`
		// Takes is about what fit takes.
		Takes train.Estimate `json:"takes"`
		Why   string         `json:"why,omitempty"`
		// Simulated are the medians that the considered reached on generated rows.
		Simulated []float64 `json:"simulated,omitempty"`
	}{p.Records, p.Dim, p.Budget.Epsilon(), p.Budget.Delta(), p.Budget.Mu(), p.Budget.Relation().String(), p.Unit.Neighbour(p.Filter, p.Budget.Relation()), filter, unit, p.Summary, comparing(p), p.Outlook(), p.Warnings(), p.LowerBound, considered, p.Estimate, p.Why, medians(tried)}
}

// comparing is the share of the budget kept for comparing the result with a constant.
func comparing(p train.Planned) float64 {
	if p.Compare == nil {
		return 0
	}
	return p.Compare.Charge / p.Budget.Charge()
}

// summary says what a fit released and what it cost.
func summary(ctx context.Context, c *train.Config, f *runfolder.Fitted) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	for _, w := range f.Warnings {
		line("WARNING", "%s", w.Text)
	}
	if !f.Result.Complete {
		line("incomplete", "interrupted after %d of %d steps", f.Result.Steps, f.Summary.Steps)
	}
	line("model", "%s", printable.Text(f.ModelPath))
	line("certificate", "%s", printable.Text(f.CertificatePath))
	line("guarantee", "(%v, %v)-differentially private, %v, %s", f.Budget.Epsilon(), f.Budget.Delta(), f.Budget.Relation(), f.Unit.Protected())
	line("neighbour", "%s", f.Unit.Neighbour(f.Filter, f.Budget.Relation()))
	for _, t := range f.Trusted {
		line("TRUSTED", "%s", printable.Text(t))
	}
	if f.Charged > 0 {
		line("charged", "%.6g of %.6g (units of mu^2), %d releases", f.Charged, f.Budget.Charge(), f.Releases)
	} else {
		line("charged", "%d releases on Poisson samples of a schedule within the budget", f.Releases)
	}
	for _, s := range f.Reclaimed {
		line("settled", "an earlier fit in the folder: %s", settled(s))
	}
	if c := f.Compared; c != nil {
		line("compare", "%s", besideConstant(c))
	}
	if late := f.Result.Late.Text(f.Summary.Steps, f.Summary.Effective); late != "" {
		line("arrived", "%s", late)
	}
	if e := f.Result.Foreseen; e > 0 {
		line("expected", "gradient norm %.3g, after what was released of the rows and their gradients; %.3g before", e, f.Summary.Predicted)
	}
	if v := f.Result.Curvature; v != nil {
		line("curvature", "at least %.3g (noise %.2g) along %d public directions of the run, as released: an eigenvalue may be lower along others", v.Curvature, v.Sigma, v.Directions)
	}
	if m := f.Measured; m != nil {
		line("measured", "mean loss %.4g (noise %.2g; a record's loss is clipped at %.3g), gradient norm %.3g (noise %.2g)", m.Loss, m.LossSigma, m.LossClip, m.GradientNorm, m.GradientSigma)
	}
	if f.Constant != nil && f.Compared == nil {
		line("compare", "%s", compared(f))
	}
	if r := f.Reserved; r != nil {
		line("dataset", "%s: charged in its store before the first release, row %d", printable.Text(r.Dataset), r.Row)
	}
	line("recheck", "stillpoint verify %s", printable.Text(f.CertificatePath))
	if n := len(f.Earlier); n > 0 {
		line("together", "%s", together(ctx, f, n))
	} else {
		line("note", "fitting %s again costs a second budget", printable.Text(c.TableName()))
	}
	return b.String()
}

// besideConstant says how the model compares with the best constant, as it was released.
func besideConstant(c *train.Compared) string {
	text := fmt.Sprintf("%v: its mean loss is %.3g below the constant's, with noise of %.2g", c.Verdict(), -c.Difference, c.Sigma)
	if c.Difference > 0 {
		text = fmt.Sprintf("%v: its mean loss is %.3g above the constant's, with noise of %.2g", c.Verdict(), c.Difference, c.Sigma)
	}
	if share, sigma, ok := c.Explained(); ok && c.Verdict().Code() == "better" {
		text += fmt.Sprintf("; it saves %.0f%% (noise %.2g%%) of the constant's loss, %.3g", 100*share, 100*sigma, c.Constant)
	}
	return text
}

// compared says what a measured loss is to be compared with.
func compared(f *runfolder.Fitted) string {
	m, k := f.Measured, f.Constant
	const constant = "the model that gives every record the score 0"
	text := fmt.Sprintf("mean loss %.4g of "+constant+", which is public; one that knows how frequent the classes are may have less", k.Least)
	if k.Least < k.Most {
		text = fmt.Sprintf("mean loss between %.4g and %.4g of "+constant+", by the targets there may be: which, nothing that was released says", k.Least, k.Most)
	}
	if k.Regularizer > 0 {
		text += fmt.Sprintf(" (%.2g of the measured is the regularizer)", k.Regularizer)
	}
	switch own := m.Loss - k.Regularizer; {
	case own-2*m.LossSigma > k.Most:
		text += ": the model is WORSE"
	case own+2*m.LossSigma < k.Least/10:
		text += ": so little a loss is that of rows which contribute nothing, too; are the targets read? (stillpoint check)"
	case own+2*m.LossSigma >= k.Least && k.Least == k.Most:
		text += ": the model is not better by more than noise"
	}
	return text
}

func together(ctx context.Context, f *runfolder.Fitted, n int) string {
	fits := "1 earlier fit"
	if n > 1 {
		fits = fmt.Sprintf("%d earlier fits", n)
	}
	epsilon, ok := f.Sum(ctx)
	if !ok && slices.ContainsFunc(f.Earlier, func(e train.Entry) bool { return e.Relation != f.Budget.Relation() }) {
		return fmt.Sprintf("with %s of this table, some under another relation: add the guarantees", fits)
	}
	if !ok && slices.ContainsFunc(f.Earlier, func(e train.Entry) bool { return e.Unit != f.Unit.Column }) {
		return fmt.Sprintf("with %s of this table, some for another unit of privacy: their guarantees do not add up to one", fits)
	}
	if !ok {
		return fmt.Sprintf("with %s of this table: no common epsilon could be computed: add the guarantees", fits)
	}
	return fmt.Sprintf("with %s of this table: epsilon %.4g at delta %v; every fit costs a budget of its own", fits, roundUp(epsilon), f.Budget.Delta())
}

// roundUp keeps four digits and never states less than x.
func roundUp(x float64) float64 {
	var y float64
	fmt.Sscanf(fmt.Sprintf("%.4g", x*1.0005), "%g", &y)
	return y
}

func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(printable.JSON(b.Bytes()))
	return err
}
