package optimize

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Candidate is an algorithm that Auto considered.
type Candidate struct {
	Plan    Plan
	Outline Outline
}

// Auto plans every algorithm of this package with its default rule and returns
// them by predicted gradient norm, the best first. It uses public quantities
// only, so that choosing costs nothing.
//
// Where the rule for STORM's steps is cut off at 1000 it is also planned with
// twice as many.
//
// Predictions of gd leave out that the gradient at an average of iterates is
// not the average of their gradients, which STORM's last iterate is free of. On
// convex data terms this was measured to cost gd up to a third in the gradient
// norm below N of 1000, so there STORM is put first when it is predicted within
// 15% of gd.
func Auto(p Problem, s Size) ([]Candidate, error) {
	double := STORM{Steps: 2 * maxSteps}
	planners := []func() (Plan, error){
		func() (Plan, error) { return GD{}.Plan(p, s) },
		func() (Plan, error) { return SpiderBoost{}.Plan(p, s) },
		func() (Plan, error) { return STORM{}.Plan(p, s) },
		func() (Plan, error) {
			storm, err := STORM{}.Plan(p, s)
			if err != nil || storm.steps < maxSteps {
				return nil, err
			}
			return double.Plan(p, s)
		},
	}
	var list []Candidate
	for _, plan := range planners {
		c, err := plan()
		if err != nil {
			return nil, err
		}
		if c != nil {
			list = append(list, Candidate{c, c.Outline()})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("optimize: auto: no algorithm serves")
	}
	lo, _ := p.Curvature()
	key := func(c Candidate) float64 {
		if c.Outline.Algorithm == "storm" && lo == 0 {
			return c.Outline.Predicted / averagingMargin
		}
		return c.Outline.Predicted
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(key(a), key(b)) })
	return list, nil
}

// averagingMargin is by how much gd's prediction may be too low on a convex data
// term.
const averagingMargin = 1.15

// Why says in a few words why the first candidate was chosen.
func Why(list []Candidate) string {
	best := list[0].Outline
	for _, c := range list[1:] {
		if c.Outline.Predicted < best.Predicted {
			return fmt.Sprintf("predicted within %.0f%% of %s, whose prediction leaves out the cost of averaging on a curved loss",
				100*(averagingMargin-1), c.Outline.Algorithm)
		}
	}
	return "the smallest predicted gradient norm"
}
