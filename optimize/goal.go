package optimize

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Success is what plans are compared by.
type Success uint8

const (
	// Gradient is the gradient norm of the mean loss over the records.
	Gradient Success = iota
	// Population is that of the expected loss over the distribution that the
	// records were drawn from.
	Population
	// ExcessRisk is the mean loss over the records less its minimum. It speaks of
	// convex data terms.
	ExcessRisk
)

var successNames = [...]string{"gradient", "population", "excess-risk"}

func (s Success) String() string { return nameOf(successNames[:], "success", uint8(s)) }

// ParseSuccess reads the name of a notion of success; the empty name is
// Gradient.
func ParseSuccess(s string) (Success, error) {
	i, err := parseName(successNames[:], "goal", s)
	return Success(i), err
}

// Describe says in words what is compared.
func (s Success) Describe() string {
	switch s {
	case Population:
		return "population gradient norm"
	case ExcessRisk:
		return "excess risk"
	}
	return "gradient norm"
}

// Goal is what a plan is to reach and what it may take.
type Goal struct {
	Success Success
	// Passes is the most passes over the data; zero means no limit.
	Passes float64
	// Budget is what methods on Poisson samples are planned with: they are
	// composed by privacy-loss distributions, which Size's Mu does not tell. The
	// zero Budget leaves them out.
	Budget account.Budget
}

func (g Goal) validate(p Problem) error {
	lo, _ := p.Curvature()
	switch {
	case int(g.Success) >= len(successNames):
		return fmt.Errorf("optimize: goal = %v: must be one of %v", g.Success, successNames)
	case g.Success == ExcessRisk && lo < 0:
		return fmt.Errorf("optimize: goal = %v: is for convex losses: this one's curvature reaches down to %.3g", g.Success, lo)
	case g.Passes != 0 && !(g.Passes >= 1 && positive(g.Passes)):
		return fmt.Errorf("optimize: passes = %v: must be at least 1, or 0 for no limit", g.Passes)
	}
	return nil
}

// of returns what a plan is predicted to reach by the goal's notion.
func (g Goal) of(o Outline) float64 {
	switch g.Success {
	case Population:
		return o.Population
	case ExcessRisk:
		return o.Excess
	}
	return o.Predicted
}

// allows says whether a plan keeps to the limit, up to rounding.
func (g Goal) allows(o Outline) bool { return g.Passes == 0 || o.Passes <= g.Passes*(1+1e-9) }

// steps caps a number of full passes.
func (g Goal) steps(rule int) int {
	if g.Passes == 0 {
		return rule
	}
	return max(1, min(rule, int(g.Passes)))
}
