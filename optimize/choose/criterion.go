package choose

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Criterion is the quantity by whose forecasts plans are ordered.
type Criterion uint8

const (
	// Gradient is the gradient norm of the mean loss over the records.
	Gradient Criterion = iota
	// Population is the gradient norm of the expected loss over the distribution of the records.
	Population
	// ExcessRisk is the mean loss over the records minus its minimum. It is allowed for convex losses
	// only.
	ExcessRisk
	// SecondOrder is the gradient norm, with plans that are predicted to escape saddles before all others
	// (see Auto.Gap). For convex objectives it is the same as Gradient.
	SecondOrder
)

var criterionNames = [...]string{"gradient", "population", "excess-risk", "second-order"}

func (c Criterion) String() string { return optimize.NameOf(criterionNames[:], "criterion", uint8(c)) }

// ParseCriterion reads the name of a criterion; the empty name is Gradient. It returns an error for
// any other name.
func ParseCriterion(s string) (Criterion, error) {
	i, err := optimize.ParseName(criterionNames[:], "goal", s)
	return Criterion(i), err
}

// UnmarshalText sets the criterion to the one with the given name (see ParseCriterion).
func (c *Criterion) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCriterion(string(text))
	return err
}

// Describe returns the criterion in words, for messages.
func (c Criterion) Describe() string {
	switch c {
	case Population:
		return "population gradient norm"
	case ExcessRisk:
		return "excess risk"
	case SecondOrder:
		return "gradient norm at a second-order point"
	}
	return "gradient norm"
}

// of returns the forecast of the criterion's quantity in a plan's summary.
func (c Criterion) of(s optimize.Summary) float64 {
	switch c {
	case Population:
		return s.Population
	case ExcessRisk:
		return s.Excess
	}
	return s.Predicted
}

func (a Auto) validate(p optimize.Problem) error {
	lo, _ := p.Curvature()
	switch {
	case int(a.Goal) >= len(criterionNames):
		return fmt.Errorf("optimize: goal = %v: must be one of %v", a.Goal, criterionNames)
	case a.Gap != 0 && (a.Goal != SecondOrder || !optimize.Positive(a.Gap)):
		return fmt.Errorf("optimize: gap = %v: must be finite and > 0, and is for goal second-order", a.Gap)
	case a.Goal == ExcessRisk && lo < 0:
		return fmt.Errorf("optimize: goal = %v: is for convex losses: this one's curvature reaches down to %.3g", a.Goal, lo)
	case a.Passes != 0 && !(a.Passes >= 1 && optimize.Positive(a.Passes)):
		return fmt.Errorf("optimize: passes = %v: must be at least 1, or left out for no limit", a.Passes)
	}
	return nil
}

// allows reports whether a plan makes at most a.Passes passes over the records, up to rounding. If a.Passes
// is 0, there is no limit.
func (a Auto) allows(s optimize.Summary) bool { return a.Passes == 0 || s.Passes <= a.Passes*(1+1e-9) }

// steps returns the number of steps that an algorithm's rule chose, but at most the limit on passes over
// the records, and at least 1. It counts one pass for each step.
func (a Auto) steps(rule int) int {
	if a.Passes == 0 {
		return rule
	}
	return max(1, min(rule, int(a.Passes)))
}
