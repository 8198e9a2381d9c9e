package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/experiment"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/train"
)

// outline describes a plan. It begins with the facts that readers ask for: which rows count, what is
// protected, what the noise costs in accuracy, how long the fit takes. With verbose it adds the optimizer's
// numbers: steps, charges, predicted gradient norms, and the plans not chosen.
func outline(p train.Planned, verbose bool) string {
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
	if curves := curvesOf(p); len(curves) > 0 {
		var list []string
		for _, c := range p.Schema.Columns() {
			if c.Curve > 0 {
				list = append(list, fmt.Sprintf("%s %d", printable.Text(c.Name), c.Curve))
			}
		}
		line("curves", "with so many knots: %s", strings.Join(list, ", "))
	}
	if note := p.Unit.Note(); note != "" {
		line("unit", "%s: %s", p.Unit.Record(), note)
	}
	line("neighbour", "%s", p.Unit.Neighbour(p.Filter, p.Budget.Relation()))
	if note := p.Filter.Note(); note != "" {
		line("filter", "%v: %s", p.Filter, note)
	}
	mu := ""
	if verbose {
		mu = fmt.Sprintf(" (mu %.5g)", p.Budget.Mu())
	}
	line("budget", "epsilon %v, delta %v, %v%s", p.Budget.Epsilon(), p.Budget.Delta(), p.Budget.Relation(), mu)
	line("outlook", "%v", p.Outlook())
	if p.Intervals != nil {
		line("intervals", "%v", p.Intervals)
	}
	line("algorithm", "%s: %s", o.Algorithm, o.Citation)
	if p.Why != "" {
		line("chosen", "%s", p.Why)
	}
	line("takes", "%v", p.Measured(context.Background()))
	switch {
	case p.Compare != nil:
		replaces := "; the constant replaces a worse fit, and of a convex loss the model halfway to it an unclear one"
		if p.Compare.Keep {
			replaces = "; with intervals the fit is published whatever it says"
		}
		line("compare", "%.2g of the budget tells whether the fit is better than the best constant%s (train.compare: off)",
			comparing(p), replaces)
	case p.NotCompared != "":
		line("compare", "the model will not be compared with the best constant: %s", p.NotCompared)
	}
	if verbose {
		b.WriteString(details(p))
	}
	for _, w := range p.Warnings() {
		line("warning", "%s", w.Text)
	}
	if err := p.Useless(); err != nil {
		line("warning", "fit refuses this: %v", err)
	}
	return b.String()
}

// details describes a plan by the optimizer's numbers: steps, charges, predicted gradient norms.
func details(p train.Planned) string {
	o := p.Summary
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("steps", "%d of size %.4g; clip norm %v", o.Steps, o.StepSize, o.Clip)
	line("charges", "%s", o.Charges)
	line("output", "%s", o.Output)
	if o.Predicted > 0 {
		line("expect", "gradient norm %.3g (the population's %.3g); floor r %.3g, effective size N %.0f", o.Predicted,
			o.Population, o.Floor, o.Effective)
		low, high := p.Range()
		line("range", "%.2g to %.2g, by how far predictions were off where they were measured", low, high)
	} else {
		line("expect",
			"no gradient norm, since predictions for this loss and algorithm were too far off; floor r %.3g, effective size N %.0f", o.Floor, o.Effective)
	}
	line("lower bound", "a constant times %.3g, for any private algorithm on the worst such problem (Arora et al. 2023)", p.LowerBound)
	for i, c := range p.Candidates {
		name := ""
		if i == 0 {
			name = "considered"
		}
		floors := ""
		if c.Predicted == c.Summary.Predicted {
			floors = fmt.Sprintf(", %.2f times the floor", c.Predicted/c.Summary.Floor)
		}
		predicted := "no prediction"
		if c.Predicted > 0 {
			predicted = fmt.Sprintf("%s %.3g%s", p.Criterion.Describe(), c.Predicted, floors)
		}
		line(name, "%-14s %4d steps, %5.4g passes, %s", c.Summary.Algorithm, c.Summary.Steps, c.Summary.Passes, predicted)
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
		Records float64 `json:"records"`
		Dim     int     `json:"dim"`
		account.Guarantee
		// Neighbour describes a neighbouring table. Filter is the row filter, absent if all rows are records.
		Neighbour string              `json:"neighbour"`
		Filter    *certificate.Filter `json:"filter,omitempty"`
		// Unit is the unit of privacy, absent if each row is one record. It replaces the column name in
		// Guarantee and states more.
		Unit *certificate.Unit `json:"unit,omitempty"`
		Plan any               `json:"plan"`
		// Curves are the numbers of knots of columns with curves.
		Curves map[string]int `json:"curves,omitempty"`
		// Compare is the share of the budget for comparing the model with the best constant. Warnings are the
		// facts that a user must know before the fit.
		Compare float64       `json:"compare,omitempty"`
		Outlook train.Outlook `json:"outlook"`
		// Intervals is the forecast of the confidence intervals, absent if none are requested.
		Intervals *train.Expected `json:"intervals,omitempty"`
		Warnings  []train.Warning `json:"warnings,omitempty"`
		// LowerBound is known only up to a constant factor.
		LowerBound float64 `json:"lower_bound"`
		// Considered are the plans that auto compared, the chosen plan first.
		Considered []any `json:"considered,omitempty"`
		// Takes is an estimate of the fit's processor time and memory.
		Takes train.Estimate `json:"takes"`
		Why   string         `json:"why,omitempty"`
		// Simulated are the median results of the considered plans on generated rows.
		Simulated []float64 `json:"simulated,omitempty"`
	}{p.Records, p.Dim, p.Budget.Guarantee(""), p.Unit.Neighbour(p.Filter, p.Budget.Relation()), filter, unit, p.Summary,
		curvesOf(p), comparing(p), p.Outlook(), p.Intervals, p.Warnings(), p.LowerBound, considered,
		p.Measured(context.Background()), p.Why, medians(tried)}
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

// comparing returns the share of the budget that the plan reserves for comparing the result with
// the best constant.
func comparing(p train.Planned) float64 {
	if p.Compare == nil {
		return 0
	}
	return p.Compare.Charge / p.Budget.Charge()
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
