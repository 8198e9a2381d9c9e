package choose

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Criterion is the quantity that plans are compared by.
type Criterion uint8

const (
	// Gradient is the gradient norm of the mean loss over the records.
	Gradient Criterion = iota
	// Population is the gradient norm of the expected loss over the distribution of the records.
	Population
	// ExcessRisk is the mean loss over the records less its minimum. It is for convex data terms.
	ExcessRisk
	// SecondOrder is the gradient norm, among plans that are predicted to escape saddles (see
	// Auto.Gap). On convex objectives it is Gradient.
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

// UnmarshalText reads a name as ParseCriterion does.
func (c *Criterion) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCriterion(string(text))
	return err
}

// Describe returns the name of the quantity in words.
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

// of returns a plan's forecast of the quantity.
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
		return fmt.Errorf("optimize: passes = %v: must be at least 1, or 0 for no limit", a.Passes)
	}
	return nil
}

// allows reports whether a plan keeps to the limit on passes, up to rounding.
func (a Auto) allows(s optimize.Summary) bool { return a.Passes == 0 || s.Passes <= a.Passes*(1+1e-9) }

// steps returns rule, or the number of passes that the limit allows if that is smaller.
func (a Auto) steps(rule int) int {
	if a.Passes == 0 {
		return rule
	}
	return max(1, min(rule, int(a.Passes)))
}
