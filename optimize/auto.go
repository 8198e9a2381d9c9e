package optimize

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Candidate is an algorithm that Auto considered.
type Candidate struct {
	Plan    Plan
	Outline Outline
	// Predicted is what the outline predicts by the goal's notion of success.
	Predicted float64
}

// Auto plans every algorithm of this package with its default rule, within the
// goal's limit, and returns them by what they are predicted to reach, the best
// first. It uses public quantities only, so that choosing costs nothing.
//
// Where the rule for STORM's steps is cut off at 1000 it is also planned with
// twice as many, and put first if it is predicted within 5%: predictions know of
// no slow tails.
//
// Predictions leave out that the gradient at an average of iterates is not the
// average of their gradients, which STORM's last iterate is free of. On
// regularized convex data terms this was measured to cost gd up to a third in the
// gradient norm below N of 1000; there averages are ranked as if predicted 15%
// higher. The risk at an average, on the other hand, is below the average risk: by
// that goal it is the others that are ranked 15% higher, but for single passes.
// Without a regularizer no such difference shows, on generated rows or on tables.
// recursive is ranked as if predicted 30% higher: it was behind gd by as much at
// equal predictions (docs/papers/recursive-regularization.md). So are passes of
// fewer than 8 steps, whose forecasts have them at their best length from the
// start.
//
// Sampling saves passes, not privacy: without a limit on passes dp-sgd is last.
func Auto(p Problem, s Size, g Goal) ([]Candidate, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := g.validate(p); err != nil {
		return nil, err
	}
	var list []Candidate
	for _, plan := range planners {
		c, err := plan(p, s, g)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		if o := c.Outline(); g.allows(o) {
			list = append(list, Candidate{c, o, g.of(o)})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("optimize: auto: no algorithm serves")
	}
	key := func(c Candidate) float64 {
		if c.Outline.Algorithm == "dp-sgd" && g.Passes == 0 {
			return math.Inf(1)
		}
		return c.Predicted * g.caution(p, c.Outline)
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(key(a), key(b)) })
	return list, nil
}

// planners plan one algorithm each; nil where it does not serve.
var planners = []func(Problem, Size, Goal) (Plan, error){
	func(p Problem, s Size, g Goal) (Plan, error) {
		plan, err := GD{}.Plan(p, s)
		if err != nil || g.allows(plan.outline) {
			return plan, err
		}
		return GD{Steps: g.steps(plan.outline.Steps)}.Plan(p, s)
	},
	func(p Problem, s Size, g Goal) (Plan, error) {
		// The average of few iterates holds on to the start.
		plan, err := GD{}.Plan(p, s)
		if err != nil || g.allows(plan.outline) {
			return nil, err
		}
		return GD{Steps: g.steps(plan.outline.Steps), Output: Last}.Plan(p, s)
	},
	func(p Problem, s Size, g Goal) (Plan, error) {
		plan, err := SpiderBoost{}.Plan(p, s)
		if err != nil || g.allows(plan.outline) {
			return plan, err
		}
		return SpiderBoost{Steps: g.steps(plan.steps)}.Plan(p, s)
	},
	func(p Problem, s Size, g Goal) (Plan, error) {
		plan, err := STORM{}.Plan(p, s)
		if err != nil || g.allows(plan.outline) {
			return plan, err
		}
		return STORM{Steps: g.steps(plan.steps)}.Plan(p, s)
	},
	func(p Problem, s Size, g Goal) (Plan, error) {
		plan, err := STORM{}.Plan(p, s)
		if err != nil || plan.steps < maxSteps {
			return nil, err
		}
		return STORM{Steps: 2 * maxSteps}.Plan(p, s)
	},
	sampledCandidate,
	func(p Problem, s Size, _ Goal) (Plan, error) { return OnePassSGD{}.Plan(p, s) },
	func(p Problem, s Size, _ Goal) (Plan, error) { return OnePassSTORM{}.Plan(p, s) },
	func(p Problem, s Size, g Goal) (Plan, error) { return TreeSpider{}.Plan(p, s, g.Budget) },
	func(p Problem, s Size, _ Goal) (Plan, error) {
		lo, _ := p.Curvature()
		if s.Records < 1 || lo < 0 || p.Regularizer != nil && p.Regularizer.Convexity() < 0 {
			return nil, nil // for convex objectives
		}
		return Recursive{}.Plan(p, s)
	},
}

// sampledCandidate is DP-SGD: on samples of a tenth, or of as much as the limit
// leaves each of its steps.
func sampledCandidate(p Problem, s Size, g Goal) (Plan, error) {
	if g.Budget == (account.Budget{}) {
		return nil, nil
	}
	c := SGD{Sampling: .1}
	steps := c.rule(p, s)
	if g.Passes > 0 {
		c.Sampling = min(g.Passes/float64(steps), 1)
		c.Steps = min(steps, int(g.Passes/c.Sampling))
	}
	plan, err := c.Plan(p, s, g.Budget)
	if err != nil {
		return nil, nil // a budget that no noise multiplier in reach serves
	}
	return plan, nil
}

// caution is by how much a prediction may be too low, or if below 1 too high,
// beside others; see Auto.
func (g Goal) caution(p Problem, o Outline) float64 {
	lo, _ := p.Curvature()
	averaged := o.Output == TailAverage.String()
	switch {
	case o.Algorithm == "recursive", o.Passes <= 1 && o.Steps > 1 && o.Steps < fewSteps:
		return 1.3
	case o.Steps > maxSteps:
		return .95
	case lo < 0, p.Regularizer == nil, g.Success == ExcessRisk && (averaged || o.Passes <= 1), g.Success != ExcessRisk && !averaged:
		return 1
	}
	return averagingMargin
}

// fewSteps are too few for a forecast of a pass.
const fewSteps = 8

// averagingMargin is what averages on a curved loss cost beyond their forecast.
const averagingMargin = 1.15

// Why says in a few words why the first candidate was chosen.
func Why(list []Candidate, g Goal) string {
	for _, c := range list[1:] {
		if c.Predicted < list[0].Predicted {
			return fmt.Sprintf("%s is predicted lower, but by less than predictions were measured to leave out", c.Outline.Algorithm)
		}
	}
	return "the smallest predicted " + g.Success.Describe()
}
