package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// facts builds a text with one fact on each line. The line begins with the fact's name.
type facts struct{ strings.Builder }

func (f *facts) add(name, format string, args ...any) {
	fmt.Fprintf(f, "%-13s%s\n", name, fmt.Sprintf(format, args...))
}

// first returns the name of the first of several lines with one name, and "" for the others.
func first(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

// outline describes a plan. It states which rows are records, what the guarantee protects, how much accuracy
// the noise will cost, and the fit's time and memory. With verbose it adds the optimizer's numbers: steps,
// charges, predicted gradient norms, and the plans not chosen.
func outline(p train.Planned, verbose bool) string {
	var b facts
	compare, ranks, base := shares(p)
	b.rows(p)
	b.add("protects", "%s", p.Unit.Protects(p.Filter, p.Budget.Relation()))
	mu := ""
	if verbose {
		mu = fmt.Sprintf(" (mu %.5g)", p.Budget.Mu())
	}
	b.add("budget", "epsilon %v, delta %v, %v%s", p.Budget.Epsilon(), p.Budget.Delta(), p.Budget.Relation(), mu)
	b.outlook(p)
	b.families(p)
	if more := p.Outlook().Halve(); more != "" {
		b.add("to improve", "%s", more)
	}
	b.algorithm(p)
	b.stages(p)
	if p.Why != "" {
		b.add("chosen", "%s", p.Why)
	}
	if p.Ranks != nil {
		b.add("ranks", "%.2g%% of the budget places the knots of %s, closer together where there are many rows "+
			"(train.ranks: off turns it off)", 100*ranks, safetext.Text(strings.Join(p.Ranks.Columns, ", ")))
	}
	if h := p.Hazards; h != nil {
		b.add("hazard", "%.2g%% of the budget releases the baseline hazard, of which %.2g%% a pilot fit",
			100*h.Charge/p.Budget.Charge(), 100*h.Pilot/p.Budget.Charge())
	}
	switch {
	case p.Base != nil:
		b.add("start", "%.2g%% of the budget releases the best constant, at which the fit begins. %s (train.base: off "+
			"turns it off)", 100*base, p.Follows())
	case p.Start != nil:
		b.add("start", "the fit begins at the constant that model.start states")
	}
	switch {
	case p.Compare != nil:
		b.add("compare", "%.2g%% of the budget compares the fit with the best constant: %s (train.compare: off turns it "+
			"off)", 100*compare, p.Decides())
		if p.Calibrates != "" {
			b.add("calibrate", "at most %.2g%% of the budget corrects the fit's mean prediction, %s",
				100*train.CalibrateCharge*compare, p.Calibrates)
		}
	case p.NotCompared != "":
		b.add("compare", "the model will not be compared with the best constant: %s", p.NotCompared)
	}
	if verbose {
		b.details(p)
	}
	b.warnings(p)
	return b.String()
}

// opening returns the first lines that a fit prints about its plan. It leaves out the facts that the fit's
// summary repeats at the end.
func opening(p train.Planned) string {
	var b facts
	b.rows(p)
	b.outlook(p)
	b.families(p)
	b.algorithm(p)
	b.stages(p)
	b.warnings(p)
	return b.String()
}

// stages adds the two stages of a fit with features of effects, with their shares of the budget for training.
func (b *facts) stages(p train.Planned) {
	if s := p.First; s != nil {
		b.add("first stage", "%.2g%% of the budget for training: the model without interactions, in %d steps", 100*s.Share,
			s.Summary.Steps)
		b.add("second stage", "%.2g%%: the model with %d features made of the effects of the first stage, in %d steps",
			100*s.Second, s.Features(), p.Summary.Steps-s.Summary.Steps)
	}
}

// rows adds the number of records, the number of features, the row filter, the curves and the privacy unit.
func (b *facts) rows(p train.Planned) {
	weights := ""
	if p.Dim != p.Features {
		weights = fmt.Sprintf(", %d weights", p.Dim)
	}
	b.add("records", "%.0f (public), %d features%s", p.Records, p.Features, weights)
	if note := p.Filter.Note(); note != "" {
		b.add("rows used", "%v: %s", p.Filter, note)
	}
	if len(curvesOf(p)) > 0 {
		var list []string
		for _, c := range p.Schema.Columns() {
			if c.Curve > 0 {
				list = append(list, fmt.Sprintf("%s %d", safetext.Text(c.Name), c.Curve))
			}
		}
		b.add("curves", "with these numbers of knots: %s", strings.Join(list, ", "))
	}
	if note := p.Unit.Note(); note != "" {
		b.add("unit", "%s: %s", p.Unit.Record(), note)
	}
}

// outlook adds the forecast of the accuracy, and of the confidence intervals if there will be any.
func (b *facts) outlook(p train.Planned) {
	b.add("outlook", "%v", p.Outlook())
	if p.Intervals != nil {
		b.add("intervals", "%v", p.Intervals)
	}
}

// families adds the family of the model and why it was taken, and a table of the families that it could have.
func (b *facts) families(p train.Planned) {
	b.add("family", "%s: %s", p.Family.Name, safetext.Text(p.Family.Why))
	if len(p.Families) == 0 {
		return
	}
	b.add("families", "%-8s %-9s %8s %6s %12s %8s", "", "gain", "features", "size", "records from", "seconds")
	for _, f := range p.Families {
		if f.Refused != "" {
			b.add("", "%-8s no: %s", f.Family, safetext.Text(f.Refused))
			continue
		}
		gain := "unknown"
		if f.Gain != 0 {
			gain = fmt.Sprintf("%.2f", f.Gain)
		}
		b.add("", "%-8s %-9s %8d %6.4g %12.0f %8.2g", f.Family, gain, f.Features, f.Size, f.Records, f.Takes.Time.Seconds())
	}
	b.add("", "gain: the improvement over the best constant, on benchmarks of such sizes; 1 is that of the best family with little noise")
	if f := p.Family; f.Unasked && f.Name != train.Lines {
		b.add("note", "model.family is left out, so the rule took %s; family: lines fits lines", f.Name)
	}
}

// algorithm adds the algorithm's name and source, and the estimated time and memory.
func (b *facts) algorithm(p train.Planned) {
	b.add("takes", "%v", p.Measured(context.Background()))
	b.add("algorithm", "%s: %s", p.Summary.Algorithm, p.Summary.Citation)
	if p.Summary.Promise.Theorem != "" {
		b.add("theorem", "%v", p.Summary.Promise)
	}
}

// warnings adds the facts that a user must know before the fit.
func (b *facts) warnings(p train.Planned) {
	for _, w := range p.Warnings() {
		b.add("warning", "%s", w.Text)
	}
}

// details adds the optimizer's numbers: steps, charges, predicted gradient norms, and the plans that auto
// compared.
func (b *facts) details(p train.Planned) {
	o := p.Summary
	b.add("steps", "%d of size %.4g; clip norm %v", o.Steps, o.StepSize, o.Clip)
	b.add("charges", "%s", o.Charges)
	b.add("output", "%s", o.Output)
	size := fmt.Sprintf("noise level %.3g, effective size N %.0f", o.Floor, o.Effective)
	if o.Predicted > 0 {
		b.add("expect", "gradient norm %.3g; %s", o.Predicted, size)
		low, high := p.Range()
		b.add("range", "likely %.2g to %.2g, from benchmarks", low, high)
	} else {
		b.add("expect", "no gradient norm, since predictions for this loss and algorithm were too far off; %s", size)
	}
	b.add("lower bound", "a constant times %.3g, for any private algorithm on the worst such problem (Arora et al. 2023)",
		p.LowerBound)
	for i, c := range p.Candidates {
		levels := ""
		if c.Predicted == c.Summary.Predicted {
			levels = fmt.Sprintf(", %.2f times the noise level", c.Predicted/c.Summary.Floor)
		}
		predicted := "no prediction"
		if c.Predicted > 0 {
			predicted = fmt.Sprintf("%s %.3g%s", p.Criterion.Describe(), c.Predicted, levels)
		}
		b.add(first(i, "considered"), "%-14s %4d steps, %5.4g passes, %s", c.Summary.Algorithm, c.Summary.Steps, c.Summary.Passes, predicted)
	}
}

func planJSON(p train.Planned) any {
	compare, ranks, base := shares(p)
	var considered []any
	for _, c := range p.Candidates {
		considered = append(considered, c.Summary)
	}
	return struct {
		Records float64 `json:"records"`
		Dim     int     `json:"dim"`
		account.Guarantee
		// Neighbour says in words how a neighbouring table differs, and Protects what the guarantee protects.
		// Filter is the row filter; absent if no filter is set.
		Neighbour string         `json:"neighbour"`
		Protects  string         `json:"protects"`
		Filter    account.Filter `json:"filter,omitzero"`
		// Unit is the unit of privacy, absent if each row is one record. Its JSON member replaces the member
		// unit of Guarantee, which has only the column's name.
		Unit account.Unit `json:"unit,omitzero"`
		Plan any          `json:"plan"`
		// Curves are the numbers of knots of columns with curves.
		Curves map[string]int `json:"curves,omitempty"`
		// Compare is the share of the budget for comparing the model with the best constant; absent without
		// comparison. Warnings are the facts that a user must know before the fit.
		Compare float64 `json:"compare,omitempty"`
		// Ranks is the share of the budget for placing knots by released ranks; absent if none is.
		Ranks float64 `json:"ranks,omitempty"`
		// Base is the share of the budget for the base rate, at which the fit begins; absent if none is released.
		Base float64 `json:"base,omitempty"`
		// First is the first of two stages of a fit with features of effects; absent if there is one stage.
		First   *train.Stage  `json:"first_stage,omitempty"`
		Outlook train.Outlook `json:"outlook"`
		// Family is the family of the model, and Families compares it with the others.
		Family   train.Family       `json:"family"`
		Families []train.FamilyPlan `json:"families,omitempty"`
		// Intervals is the forecast of the confidence intervals, absent if none are requested.
		Intervals *train.Expected `json:"intervals,omitempty"`
		Warnings  []train.Warning `json:"warnings,omitempty"`
		// LowerBound is a lower bound, up to a constant factor, on the gradient norm that a private algorithm
		// can guarantee (train.Planned.LowerBound).
		LowerBound float64 `json:"lower_bound"`
		// Considered are the plans that auto compared, the chosen plan first.
		Considered []any `json:"considered,omitempty"`
		// Takes is an estimate of the fit's processor time and memory.
		Takes train.Estimate `json:"takes"`
		Why   string         `json:"why,omitempty"`
	}{p.Records, p.Dim, p.Budget.Guarantee(""), p.Unit.Neighbour(p.Filter, p.Budget.Relation()),
		p.Unit.Protects(p.Filter, p.Budget.Relation()), p.Filter, p.Unit, p.Summary, curvesOf(p), compare, ranks, base, p.First, p.Outlook(),
		p.Family, p.Families, p.Intervals, p.Warnings(), p.LowerBound, considered,
		p.Measured(context.Background()), p.Why}
}

// curvesOf returns the number of knots of each column that has a curve, by the column's name.
func curvesOf(p train.Planned) map[string]int {
	if p.Schema == nil {
		return nil
	}
	knots := map[string]int{}
	for _, c := range p.Schema.Columns() {
		if c.Curve > 0 {
			knots[c.Name] = c.Curve
		}
	}
	return knots
}

// shares returns the shares of the budget that the plan reserves for comparing the result with the best constant, for
// placing knots by released ranks, and for the base rate.
func shares(p train.Planned) (compare, ranks, base float64) {
	whole := p.Budget.Charge()
	if p.Compare != nil {
		compare = p.Compare.Charge / whole
	}
	if p.Ranks != nil {
		ranks = p.Ranks.Charge / whole
	}
	if p.Base != nil {
		base = p.Base.Charge / whole
	}
	return compare, ranks, base
}

func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(safetext.JSON(b.Bytes()))
	return err
}
