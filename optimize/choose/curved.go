package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
)

// leftByAll and leftByPass are factors on gap^2. A plan is predicted to escape from a saddle at which the Hessian has
// an eigenvalue of -gap if the noise level r (Summary.Floor) is at most the factor times gap^2, and, unless the plan
// uses Hessian-vector products, it has enough steps (see leaves). leftByAll is the factor for plans with queries on all
// records. leftByPass is the factor for plans of a single pass and for plans with Hessian-vector products. The factors
// were measured on saddles of 100 dimensions with gaps .05 and .15 (lab/results/theorems.md).
const leftByAll, leftByPass = .6, .05

// openings is the number of steps after which noise alone has moved a run away from a saddle, in units of 1/(eta gap)
// for the step size eta and the eigenvalue -gap of the Hessian. A single pass needs twice as many.
const openings = 16

// manySums is the least effective size N at which the algorithm second-order comes first if no plan is predicted to
// escape from saddles and the limit on passes is too tight for methods on all records. For smaller N one-pass-sgd comes
// first. Each was measured on ten problems, with a gradient norm within a factor of 3 of the other algorithms' as the
// criterion. At N of 4,000 second-order met the criterion on all ten and one-pass-sgd on seven. At N of 450
// one-pass-sgd met it on all ten and second-order on nine (lab/results/theorems.md).
const manySums = 1000

// curved returns the candidates for second-order stationary points of a nonconvex objective. Candidates
// that are predicted to escape from saddles come first, in the order of their predicted gradient norms. The
// other candidates follow in the order of the list of algorithms below. Without a limit on passes, methods
// on all records make at least as many steps as noise needs to move a run away from a saddle with an
// eigenvalue of -gap (see opening). If the limit on passes leaves such a method fewer steps, it is not
// predicted to escape: at a saddle it would return a point near the start.
func (a Auto) curved(ctx context.Context, p optimize.Problem) ([]Candidate, error) {
	gap := cmp.Or(a.Gap, p.Smoothness()/10)
	list, err := a.planned(ctx, p, []planner{
		opened(gap, func(steps int) optimize.Algorithm { return firstorder.GD{Steps: steps} }),
		opened(gap, func(steps int) optimize.Algorithm { return firstorder.STORM{Steps: steps} }),
		capped(func(int) optimize.Algorithm { return onepass.SGD{} }),
		capped(func(int) optimize.Algorithm { return onepass.STORM{} }),
		capped(func(int) optimize.Algorithm { return secondorder.Spider{Gap: gap, WithoutProducts: !p.Products} }),
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		c := &list[i]
		s, q := c.Summary, c.Plan.Properties()
		c.Ranked, c.curvature = c.Predicted, -gap/2
		if !leaves(s, q, gap) {
			c.Ranked, c.curvature = math.Inf(1), -gap
		}
		c.cut = a.Passes > 0 && !q.OnePass && s.Steps < opening(s, gap)
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(a.Ranked, b.Ranked) })
	if math.IsInf(list[0].Ranked, 1) && slices.ContainsFunc(list, func(c Candidate) bool { return c.cut }) {
		return passed(p, list), nil
	}
	list[0].why = why(list[0], gap)
	return list, nil
}

// opened plans as capped does, but at least as many steps as noise needs to leave a saddle if passes are not limited.
func opened(gap float64, of func(steps int) optimize.Algorithm) planner {
	return func(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
		plan, err := capped(of)(ctx, p, a)
		if err != nil {
			return nil, err
		}
		if T := opening(plan.Summary(), gap); a.Passes == 0 && plan.Summary().Steps < T {
			return of(T).Plan(ctx, p)
		}
		return plan, nil
	}
}

// passed orders the candidates if the limit on passes is too tight for methods on all records and no plan is predicted
// to escape from saddles. The order follows measurements and not forecasts (see manySums): first one method of a single
// pass, then all others, and last the methods for which the limit is too tight.
func passed(p optimize.Problem, list []Candidate) []Candidate {
	first := "one-pass-sgd"
	if p.Effective() >= manySums {
		first = "second-order"
	}
	place := func(c Candidate) int {
		switch {
		case c.Summary.Algorithm == first:
			return 0
		case c.cut:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return place(a) - place(b) })
	unrank(list)
	list[0].why = fmt.Sprintf("so few passes are too few steps for methods on all records to leave a saddle; of the "+
		"methods of one pass it had the best measured record at N of %.3g", p.Effective())
	return list
}

// opening returns the number of steps after which noise has moved the plan's run away from a saddle with an
// eigenvalue of -gap, but at most RuleSteps.
func opening(s optimize.Summary, gap float64) int {
	return int(min(math.Ceil(openings/(s.StepSize*gap)), optimize.RuleSteps))
}

// leaves reports whether a plan is predicted to escape from points at which the Hessian has an eigenvalue
// of -gap. The noise level must be low enough (see leftByAll). Plans without Hessian-vector products must
// also make enough steps (see opening), and single passes twice as many.
func leaves(s optimize.Summary, q optimize.Properties, gap float64) bool {
	switch {
	case q.Escapes:
		return s.Floor <= leftByPass*gap*gap
	case q.OnePass:
		return s.Floor <= leftByPass*gap*gap && s.Steps >= 2*opening(s, gap)
	}
	return s.Floor <= leftByAll*gap*gap && s.Steps >= opening(s, gap)
}

// why explains in a few words why the candidate is first in the order.
func why(c Candidate, gap float64) string {
	reached := fmt.Sprintf("predicted gradient norm %.3g and least eigenvalue %.3g", c.Predicted, c.curvature)
	switch q := c.Plan.Properties(); {
	case math.IsInf(c.Ranked, 1):
		return fmt.Sprintf("no plan is predicted to leave eigenvalues of %.3g behind at this number of records (the noise "+
			"level %.3g is above %.3g gap^2); this one has the smallest %s", -gap, c.Summary.Floor, leftByAll, reached)
	case q.Escapes:
		return "the smallest " + reached + ", by products of the Hessian"
	}
	return fmt.Sprintf("the smallest %s: its noise alone leaves saddles, the noise level %.3g being at most %.3g "+
		"gap^2, in %d steps",
		reached, c.Summary.Floor, leftByAll, c.Summary.Steps)
}

// kinked returns the candidates for losses whose slope jumps: smoothed, subgradient, and subgradient in one
// pass. Forecasts do not hold for such losses. The order follows measurements: smoothed comes first if
// nonsmooth.Suits returns true for the problem, and subgradient comes first otherwise.
func (a Auto) kinked(ctx context.Context, p optimize.Problem) ([]Candidate, error) {
	list, err := a.planned(ctx, p, []planner{
		capped(func(steps int) optimize.Algorithm { return nonsmooth.Smoothed{Steps: steps} }),
		capped(func(steps int) optimize.Algorithm { return nonsmooth.Subgradient{Steps: steps} }),
		capped(func(int) optimize.Algorithm { return nonsmooth.Subgradient{OnePass: true} }),
	})
	if err != nil {
		return nil, err
	}
	unrank(list)
	if len(list) > 1 && list[0].Summary.Algorithm == "smoothed" && !nonsmooth.Suits(p) {
		list[0], list[1] = list[1], list[0]
	}
	return list, nil
}

// networks orders the candidates for a network without jumps: it moves gradient descent (gd) to the front,
// whatever the forecasts and passes. The forecasts assume the curvature of linear models. On networks,
// plans whose forecasts were equal to gd's made a few steps and ended with 2 to 6 times gd's gradient norm.
// gd has the best measured results on networks (lab/results/accuracy.md). If the limit on passes reduces gd's
// steps, the plan of gd that returns the last iterate comes first. If the limit is below fewPasses,
// networks is not used and forecasts order the plans, since after so few steps gd is still near the start.
func networks(list []Candidate) []Candidate {
	first := -1
	for i, c := range list {
		if c.Summary.Algorithm == "gd" {
			first = i // the later of two plans of gd is the plan for few passes
		}
	}
	if first < 0 {
		return list
	}
	toFront(list, first, "on networks gradient descent was the best of the measured algorithms; for other algorithms than "+
		"linear models' the forecasts are too far off to choose by")
	unrank(list)
	return list
}

// unrank states that the order of the candidates does not follow forecasts.
func unrank(list []Candidate) {
	for i := range list {
		list[i].unranked, list[i].Ranked = true, math.Inf(1)
	}
}

// fewPasses is the limit on passes below which plans for networks are ordered by forecasts.
const fewPasses = 8

// unforeseen reports whether the plans for a problem are ordered by the function networks, and not by
// forecasts.
func (a Auto) unforeseen(p optimize.Problem) bool {
	return p.Layered && (a.Passes == 0 || a.Passes >= fewPasses)
}
