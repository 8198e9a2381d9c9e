package choose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
)

// A plan is predicted to escape an eigenvalue of -gap if the noise level r (Problem.Floor) is at
// most this factor times gap^2: leftByAll for noise in queries on all records, leftByPass for noise
// in a pass's cohorts or in Hessian-vector products. The factors were measured on saddles of 100
// dimensions with gaps .05 and .15 (results/second-order.md).
const leftByAll, leftByPass = .6, .05

// openings is the number of steps, in units of 1/(eta gap), in which noise leaves a saddle of that
// gap. A pass takes twice as many, since fresh estimates share its steps.
const openings = 16

// curved returns the candidates for second-order points of a nonconvex objective. Candidates that
// are predicted to escape saddles come first; within each group the order is by predicted gradient. Methods on all
// records take at least as many steps as noise needs to leave a saddle of the gap.
func (a Auto) curved(ctx context.Context, p optimize.Problem) ([]Candidate, error) {
	gap := a.Gap
	if gap == 0 {
		gap = p.Smoothness() / 10
	}
	var list []Candidate
	for _, of := range []func(steps int) optimize.Algorithm{
		func(steps int) optimize.Algorithm { return firstorder.GD{Steps: steps} },
		func(steps int) optimize.Algorithm { return firstorder.STORM{Steps: steps} },
		func(int) optimize.Algorithm { return onepass.SGD{} },
		func(int) optimize.Algorithm { return onepass.STORM{} },
		func(int) optimize.Algorithm { return secondorder.Spider{Gap: gap, WithoutProducts: !p.Products} },
	} {
		plan, err := capped(of)(ctx, p, a)
		if err != nil {
			return nil, err
		}
		if T := opening(plan.Summary(), gap); a.Passes == 0 && !plan.Properties().OnePass && plan.Summary().Steps < T {
			if plan, err = of(T).Plan(ctx, p); err != nil {
				return nil, err
			}
		}
		s := plan.Summary()
		if !a.allows(s) {
			continue
		}
		c := Candidate{Plan: plan, Summary: s, Predicted: a.Goal.of(s), Ranked: a.Goal.of(s), curvature: -gap / 2}
		if !leaves(s, plan.Properties(), gap) {
			c.Ranked, c.curvature = math.Inf(1), -gap
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New("optimize: auto: no algorithm serves")
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(a.Ranked, b.Ranked) })
	list[0].why = why(list[0], gap)
	return list, nil
}

// opening returns the number of the plan's steps in which noise leaves a saddle of the gap.
func opening(s optimize.Summary, gap float64) int {
	return int(min(math.Ceil(openings/(s.StepSize*gap)), optimize.RuleSteps))
}

// leaves reports whether a plan is predicted to escape eigenvalues of -gap.
func leaves(s optimize.Summary, q optimize.Properties, gap float64) bool {
	switch {
	case q.Escapes:
		return s.Floor <= leftByPass*gap*gap
	case q.OnePass:
		return s.Floor <= leftByPass*gap*gap && s.Steps >= 2*opening(s, gap)
	}
	return s.Floor <= leftByAll*gap*gap && s.Steps >= opening(s, gap)
}

// why explains why a candidate is the first.
func why(c Candidate, gap float64) string {
	reached := fmt.Sprintf("predicted gradient norm %.3g and least eigenvalue %.3g", c.Predicted, c.curvature)
	switch q := c.Plan.Properties(); {
	case math.IsInf(c.Ranked, 1):
		return fmt.Sprintf("no plan is predicted to leave eigenvalues of %.3g behind at this number of records (the floor r = %.3g is above %.3g gap^2); this one has the smallest %s", -gap, c.Summary.Floor, leftByAll, reached)
	case q.Escapes:
		return "the smallest " + reached + ", by products of the Hessian"
	}
	return fmt.Sprintf("the smallest %s: its noise alone leaves saddles, r = %.3g being at most %.3g gap^2, in %d steps", reached, c.Summary.Floor, leftByAll, c.Summary.Steps)
}
