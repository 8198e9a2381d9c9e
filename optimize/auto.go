package optimize

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	slices.SortStableFunc(list, func(a, b Candidate) int {
		switch {
		case a.Outline.Predicted < b.Outline.Predicted:
			return -1
		case a.Outline.Predicted > b.Outline.Predicted:
			return 1
		}
		return 0
	})
	return list, nil
}

// Why says in a sentence why the first candidate was chosen.
func Why(list []Candidate) string {
	best := list[0].Outline
	var others []string
	for _, c := range list[1:] {
		others = append(others, fmt.Sprintf("%s with %d steps %.3g", c.Outline.Algorithm, c.Outline.Steps, c.Outline.Predicted))
	}
	return fmt.Sprintf("%s has the smallest predicted gradient norm, %.3g, %.2f times the floor r (%s)",
		best.Algorithm, best.Predicted, best.Predicted/best.Floor, strings.Join(others, ", "))
}
