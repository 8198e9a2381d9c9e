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

// An eigenvalue of -gap is taken to be left behind where the floor r (Problem.Floor) is at
// most so many gap^2: by the noise of questions to all records, and by that of a pass's
// cohorts or the products that they are asked for. As measured on saddles of 100
// dimensions, gap .05 and .15 (results/second-order.md).
const leftByAll, leftByPass = .6, .05

// openings is how many steps in units of 1/(eta gap) the noise takes to open a gap; a pass,
// in which steps are shared among fresh estimates, takes twice as many.
const openings = 16

// curved are the candidates for second-order points of an objective that is not convex,
// in the order of the gradients that are predicted, those first that are predicted to
// leave saddles. Methods on all records have as many steps as noise takes to open the gap.
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

// opening is how many steps of a plan's length open the gap.
func opening(s optimize.Summary, gap float64) int {
	return int(min(math.Ceil(openings/(s.StepSize*gap)), optimize.RuleSteps))
}

// leaves reports whether a plan is predicted to leave eigenvalues of -gap behind.
func leaves(s optimize.Summary, q optimize.Properties, gap float64) bool {
	switch {
	case q.Escapes:
		return s.Floor <= leftByPass*gap*gap
	case q.OnePass:
		return s.Floor <= leftByPass*gap*gap && s.Steps >= 2*opening(s, gap)
	}
	return s.Floor <= leftByAll*gap*gap && s.Steps >= opening(s, gap)
}

// why says why a candidate is the first.
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
