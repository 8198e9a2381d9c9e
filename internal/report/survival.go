package report

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

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
		return Section{Title: "Survival", Parts: []Part{hazardTable(c.HazardRatios), Text("The hazard ratios of " + t.Changing +
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
			"The baseline of intervals between two cuts were released with noise.",
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
		Note: fmt.Sprintf("the mean time without an event, of at most %s, for such a record", exact(t.High))})
	s = Section{Title: "Survival", Parts: []Part{plot, facts, Text(
		"The columns multiply the " + name + ", by the same factor at " +
			"every time. stillpoint predict --horizon writes the risk of each row by the times that it lists.")}}
	return s, true
}
