package report

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// lead says in a sentence how good the model is beside the best constant. It returns "" if the fit released no
// comparison.
func (f *Fit) lead() string {
	c := f.plan.Compared
	if f.Model == nil || c == nil {
		return ""
	}
	if share, low, high, ok := c.Explained(); ok && c.Shrunk == 0 {
		does, of := "saves", "the constant’s loss"
		if c.Events {
			does, of = "explains", "the randomness of the times"
		}
		return fmt.Sprintf("The model is better than the best constant, which predicts the same for every row: it %s %.0f %% of "+
			"%s (95 %% interval: %.0f %% to %.0f %%). ", does, 100*share, of, 100*low, 100*high)
	}
	text := "The fit is " + c.Conclusion()
	switch {
	case c.Shrunk >= 1:
		text += ". The published model is the constant"
	case c.Shrunk > 0:
		text += fmt.Sprintf(". The published model goes %s %% of the way from the constant to the fit",
			Number(100*(1-c.Shrunk)))
	}
	return text + ". "
}

// quality makes the section of the page that compares the model with the best constant, from released numbers. ok is
// false if the fit released none.
func (f *Fit) quality() (s Section, ok bool) {
	s = Section{Title: "How good it is"}
	var facts Facts
	if c := f.plan.Compared; c != nil && drawable(c.Difference, false) && drawable(c.Sigma, true) {
		facts = append(facts, Fact{Name: "Against a constant", Value: Number(c.Difference),
			Note: fmt.Sprintf("the mean loss of the fit minus that of the best constant, over all records, released with noise of "+
				"%s; %s", Number(c.Sigma), c.Counted())})
		if share, low, high, known := c.Explained(); known {
			name := "Share of the constant's loss saved"
			if c.Events {
				name = "Explained randomness of the times"
			}
			facts.released(name, share, fmt.Sprintf("95%% interval: %s to %s", Number(low), Number(high)))
		}
		if c.ConstantSigma > 0 && (c.Earlier() || c.Constant > 3*c.ConstantSigma) && !c.Unresolved {
			facts.released("Loss of the constant", c.Constant, fmt.Sprintf("released with noise of %s", Number(c.ConstantSigma)))
		}
		if text := c.Calibration(); text != "" {
			name := "Mean prediction minus mean outcome"
			if c.Counts {
				name += ", as a share of this mean"
			}
			facts.released(name, c.Residual, text)
		}
		s.draw(f.losses())
	}
	if m := f.plan.Measured; m != nil {
		facts.released("Mean loss measured", m.Loss, fmt.Sprintf("at the result, released with noise of %s", Number(m.LossSigma)))
	}
	if len(facts) == 0 {
		return s, false
	}
	s.Parts = append(s.Parts, facts,
		Text(passage("released quality")))
	return s, true
}

// losses draws the released loss of the best constant beside that of the fit, with 95% intervals of the noise. It has no
// items if the constant's loss is not known well enough.
func (f *Fit) losses() Bars {
	c := f.plan.Compared
	if _, _, _, ok := c.Explained(); !ok || c.Shrunk > 0 || c.Events {
		return Bars{}
	}
	around := func(x, sigma float64) Interval { return Interval{x - 1.96*sigma, x + 1.96*sigma} }
	return Bars{
		Title:   "The model beside the best constant",
		Caption: passage("losses"),
		X:       Axis{Label: "mean loss, " + f.Model.Loss().Name()},
		Items: []Bar{
			{Name: "best constant", Value: c.Constant, Interval: around(c.Constant, c.ConstantSigma), Faint: true},
			{Name: "this model", Value: c.Constant + c.Difference, Interval: around(c.Constant+c.Difference, c.Sigma)},
		},
	}
}

const publicTitle = "Measured on a public table"

// public makes the section of the page with the model's quality on a table that is public or that the
// reader may see. These numbers are not private.
func (f *Fit) public() Section {
	m := f.Public
	s := Section{Title: publicTitle, Parts: []Part{
		Note(passage("not private")),
	}}
	facts := Facts{{Name: "Rows", Value: Number(float64(m.N)),
		Note: count(int(m.Skipped), "row was", "rows were") + " not scored"}}
	for _, x := range []struct {
		name  string
		value *float64
		note  string
	}{
		{"Accuracy", m.Accuracy, "share of rows whose class is predicted"},
		{"AUC", m.AUC, ""},
		{"Root mean square error", m.RMSE, "in the target's units"},
		{"Mean absolute error", m.MAE, "in the target's units"},
		{"Mean loss", m.Objective, "the regularizer included"},
		{"Gradient norm", m.GradientNorm, "0 at a stationary point of these rows"},
	} {
		if x.value != nil {
			facts = append(facts, Fact{Name: x.name, Value: Number(*x.value), Note: x.note})
		}
	}
	if e := m.LeastEigenvalue; e != nil {
		note := "of the Hessian"
		if r := m.EigenvalueResidual; r != nil {
			note += fmt.Sprintf(", up to %s", Number(*r))
		}
		if *e < 0 {
			note += "; it is below zero, so the loss still falls along its eigenvector"
		} else {
			note += "; to second order the loss falls along no direction"
		}
		facts = append(facts, Fact{Name: "Least eigenvalue", Value: Number(*e), Note: note})
	}
	if why := m.NoEigenvalue; why != "" {
		facts = append(facts, Fact{Name: "Least eigenvalue", Value: "none", Note: why})
	}
	s.Parts = append(s.Parts, facts)
	return s
}

// survival makes the section of the page on the survival curve of a model of the time to an event. ok is false for
// other models, and for one of which no constant was released.
func (f *Fit) survival() (s Section, ok bool) {
	t := f.Model.Schema().Target()
	if t.Event == "" || f.plan.Base == nil || len(f.plan.Base.Margins) != 1 || !drawable(f.plan.Base.Margins[0], false) {
		return s, false
	}
	if t.Changing != "" {
		c, err := f.Coefficients()
		if err != nil || len(c.HazardRatios) == 0 {
			return s, false
		}
		return Section{Title: "Survival", Parts: []Part{hazardTable(c.HazardRatios, Number), Text("The hazard ratios of " + t.Changing +
			" change between intervals. Other columns multiply the hazard by the same factor at every time. stillpoint predict " +
			"--horizon writes the risk of each row by the times that it lists.")}}, true
	}
	name := "hazard"
	if t.Grouped == targetpair.Logit {
		name = "odds"
	}
	times, z := targetpair.Times{Cuts: t.Cuts, Increments: t.Hazards, Grouped: t.Grouped}, f.plan.Base.Margins[0]
	plot := Plot{
		Title: "Without an event",
		Caption: "The probability of no event until a time, for a record with the mean " + name + ", half of it, and twice it. " +
			"The baselines of intervals between two cuts were released with noise.",
		X: Axis{Label: t.Column}, Y: Axis{Label: "probability of no event", Max: 1},
	}
	const steps = 60
	for _, of := range []struct {
		name  string
		ratio float64
	}{{"half of the " + name, .5}, {"mean " + name, 1}, {"twice the " + name, 2}} {
		line := Series{Name: of.name, Style: Line}
		for i := range steps + 1 {
			at := t.High * float64(i) / steps
			line.X, line.Y = append(line.X, at), append(line.Y, math.Exp(-times.Cumulative(z+math.Log(of.ratio), at)))
		}
		plot.Series = append(plot.Series, line)
	}
	var facts Facts
	mean, from := 0., 0.
	for _, at := range t.Cuts {
		before, after := times.Cumulative(z, from), times.Cumulative(z, at)
		if rise := after - before; rise > 1e-9 {
			mean += math.Exp(-before) * -math.Expm1(-rise) / rise * (at - from)
		} else {
			mean += math.Exp(-before) * (at - from)
		}
		from = at
		facts = append(facts, Fact{Name: "No event until " + exact(at), Value: Number(math.Exp(-after)),
			Note: "the probability for a record with the mean " + name})
	}
	facts = append(facts, Fact{Name: "Restricted mean time", Value: Number(mean),
		Note: fmt.Sprintf("the mean time without an event up to %s, for such a record", exact(t.High))})
	s = Section{Title: "Survival", Parts: []Part{plot, facts, Text(
		"The columns multiply the " + name + ", by the same factor at " +
			"every time. stillpoint predict --horizon writes the risk of each row by the times that it lists.")}}
	return s, true
}
