package choose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
)

// Auto plans every algorithm with its default rule, within a limit on passes, and orders the plans
// by their forecasts. It uses public quantities only, so that the choice has no privacy cost.
//
// Forecasts are off by a third and more either way. Forecasts within the factor Agreement of the
// lowest count as equal to it. Among these plans the plan with the fewest passes comes first, if it
// saves at least half the passes of the lowest; among plans with as many passes, up to a twentieth,
// the lowest forecast wins. This rule is not used for N below 20. There all forecasts are close to
// the forecast of not moving and agree for that reason only. (On 2,000 rows of Adult at epsilon .1
// a single step had an AUC of .56, the plan with the lowest forecast .71.)
//
// These rules adjust the order, each for a measured error of the forecasts:
//
//   - preconditioned is planned for generalised linear models with N at least 20. Below, the second
//     moment that it releases is mostly noise (lambda above .3).
//   - With several margins preconditioned comes first, if it is planned and the goal is not the
//     risk. Plans that stop early reach small gradients where rows are thin, but they separated the
//     classes worse at every budget (results/models.md).
//   - For nonconvex losses preconditioned keeps its rank, although its gradient was 1.6 to 1.9
//     times its forecast: most slopes are at the clip norm there. The smaller gradients of other
//     plans came from weights so large that slopes vanish (results/outcome.md).
//   - For convex losses on 100,000 records and more, preconditioned comes first if its forecast for
//     the population gradient is within a twentieth of the best plan's. Other plans reach smaller
//     gradients on the records with 20 to 100 times the passes, but the records do not tell the
//     distribution's gradient that precisely.
//   - If the rule for STORM's steps is cut off at 1000, STORM is also planned with 2000 steps. That
//     plan is ranked as if its forecast were 5% lower, since forecasts ignore slow tails.
//   - For the goal gradient and N at least 20, nesterov is ranked as if its forecast were 15%
//     lower, unless the limit on passes cuts it short: on slow tails gd was up to 7 times worse
//     than nesterov.
//   - Forecasts take the gradient at an average of iterates for the average of their gradients. On
//     regularized convex data terms this error cost gd up to a third of the gradient norm for N
//     below 1000. There, averages are ranked as if their forecast were 15% higher. The risk at an
//     average, in contrast, is below the average risk: for the goal excess-risk the plans without
//     an average are ranked 15% higher, except single passes. Without a regularizer no such error
//     was measured, on generated rows or tables.
//   - recursive is ranked as if its forecast were 30% higher: at equal forecasts it was worse by
//     that much (docs/papers/recursive-regularization.md).
//   - For the goal population, single passes are ranked as if their forecast were 50% higher. Plans
//     with repeated passes reach half their forecast, single passes four fifths
//     (results/planner.md).
//   - Without a limit on passes, plans on Poisson samples come last: sampling saves passes, not
//     privacy.
//
// For losses whose slope jumps only the algorithms of package nonsmooth are planned, and forecasts,
// which assume bounded curvature, do not compare them. smoothed comes first if it uses a metric or
// N is at least 2000, else subgradient. For networks with such outputs smoothed comes first, with
// gradients at weights that are perturbed at random for each record.
//
// If the problem has a KL condition ([optimize.KL]), kl-geometric is planned, too.
type Auto struct {
	// Goal is the quantity that plans are compared by: gradient, population (the gradient over the
	// distribution), excess-risk, or second-order. second-order is the gradient at points where no
	// eigenvalue of the Hessian is far below zero.
	Goal Criterion `yaml:"goal"`
	// Gap is the limit for goal second-order: eigenvalues below -Gap are far below zero. Zero means
	// a tenth of the smoothness.
	Gap float64 `yaml:"gap"`
	// Passes is the largest number of passes over the data. Zero means no limit.
	Passes float64 `yaml:"passes"`
	// WithoutSamples leaves out plans on Poisson samples, which take longest to make. They are also
	// left out if the problem has no Budget.
	WithoutSamples bool
}

// Candidate is a plan that was considered.
type Candidate struct {
	Plan    optimize.Plan
	Summary optimize.Summary
	// Predicted is the forecast in Summary for the goal.
	Predicted float64
	// Ranked is Predicted times the adjustment factor of [Auto]. Candidates are ordered by it. It
	// is infinite for plans that come last whatever their forecast.
	Ranked float64

	// unranked means that candidates were not ordered by Ranked.
	unranked bool
	// curvature is the smallest eigenvalue that the plan is predicted to reach, for goal
	// second-order. why is the explanation that Why returns, if it is not the general one.
	curvature float64
	why       string
}

// Agreement is the factor within which forecasts count as equal.
const Agreement = 1.3

// Plan returns the first of the candidates.
func (a Auto) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	list, err := a.Candidates(ctx, p)
	if err != nil {
		return nil, err
	}
	return list[0].Plan, nil
}

// Candidates returns all plans for the problem within the limit on passes, the best first. It
// returns an error if the problem or a setting is not valid, or if there is no plan.
func (a Auto) Candidates(ctx context.Context, p optimize.Problem) ([]Candidate, error) {
	if err := p.ValidateKinked(); err != nil {
		return nil, err
	}
	if err := a.validate(p); err != nil {
		return nil, err
	}
	if (p.Kinked != nil || math.IsInf(p.DataSmoothness(), 1)) && !p.Smoothing.On() {
		return a.kinked(ctx, p)
	}
	if a.Goal == SecondOrder && !p.Convex() {
		return a.curved(ctx, p)
	}
	var list []Candidate
	for _, plan := range planners {
		c, err := plan(ctx, p, a)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		if s := c.Summary(); a.allows(s) {
			list = append(list, Candidate{Plan: c, Summary: s, Predicted: a.Goal.of(s), Ranked: a.rank(p, s, c.Properties())})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("optimize: auto: no algorithm serves")
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(a.Ranked, b.Ranked) })
	if p.Effective() < leastEffective {
		return list, nil
	}
	list = cheapest(list)
	switch {
	case p.Shape.Margins > 1 && a.Goal != ExcessRisk:
		putFirst(list, "a gradient as small as other plans are predicted to reach is soon had by stopping short where the rows are thin; in the released metric classes were told apart better at every budget that was measured")
	case a.Goal == Gradient && p.Convex() && p.Records >= manyRecords:
		if at := find(list); at > 0 && list[at].Summary.Population <= list[0].Summary.Population*asMany {
			putFirst(list, fmt.Sprintf("the gradient on the distribution of the records, which the records themselves tell only so well, is predicted the same within %.2g%% as with %s, for %.4g passes instead of %.4g",
				100*max(0, list[at].Summary.Population/list[0].Summary.Population-1), list[0].Summary.Algorithm, list[at].Summary.Passes, list[0].Summary.Passes))
		}
	}
	return list, nil
}

// manyRecords is a number of records for which a pass takes seconds.
const manyRecords = 1e5

// find returns the index of preconditioned, or -1.
func find(list []Candidate) int {
	return slices.IndexFunc(list, func(c Candidate) bool { return c.Summary.Algorithm == "preconditioned" })
}

// putFirst moves preconditioned to the front, with an explanation. It does nothing if
// preconditioned is absent or already first.
func putFirst(list []Candidate, why string) {
	at := find(list)
	if at < 1 {
		return
	}
	c := list[at]
	copy(list[1:], list[:at])
	c.why = why
	list[0] = c
}

// rank returns the value of Candidate.Ranked.
func (a Auto) rank(p optimize.Problem, s optimize.Summary, q optimize.Properties) float64 {
	if q.Sampled && a.Passes == 0 {
		return math.Inf(1)
	}
	return a.Goal.of(s) * a.caution(p, s, q)
}

// cheapest moves the plan with the fewest passes to the front, among the plans that agree with the
// best and have at most half its passes. Among plans with as many passes the first in the order
// wins.
func cheapest(list []Candidate) []Candidate {
	fewest := list[0].Summary.Passes / 2
	for _, c := range list {
		if c.Ranked <= list[0].Ranked*Agreement {
			fewest = min(fewest, c.Summary.Passes)
		}
	}
	first := slices.IndexFunc(list, func(c Candidate) bool {
		return c.Ranked <= list[0].Ranked*Agreement && c.Summary.Passes <= min(list[0].Summary.Passes/2, fewest*asMany)
	})
	if first < 1 {
		return list
	}
	c := list[first]
	return slices.Insert(slices.Delete(list, first, first+1), 0, c)
}

// asMany is the factor within which numbers of passes, or gradients, count as equal.
const asMany = 1.05

// planners plan one algorithm each. They return nil if the algorithm is not for the problem.
var planners = []func(context.Context, optimize.Problem, Auto) (optimize.Plan, error){
	capped(func(steps int) optimize.Algorithm { return firstorder.GD{Steps: steps} }),
	func(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
		// Replaces GD's plan where the limit cuts it short: an average of few iterates stays near
		// the start.
		plan, err := firstorder.GD{}.Plan(ctx, p)
		if err != nil || a.allows(plan.Summary()) {
			return nil, err
		}
		return firstorder.GD{Steps: a.steps(plan.Summary().Steps), Output: optimize.Last}.Plan(ctx, p)
	},
	preconditioned,
	accelerated,
	capped(func(steps int) optimize.Algorithm { return firstorder.SpiderBoost{Steps: steps} }),
	capped(func(steps int) optimize.Algorithm { return firstorder.STORM{Steps: steps} }),
	func(ctx context.Context, p optimize.Problem, _ Auto) (optimize.Plan, error) {
		plan, err := firstorder.STORM{}.Plan(ctx, p)
		if err != nil || plan.Summary().Steps < optimize.RuleSteps {
			return nil, err
		}
		return firstorder.STORM{Steps: 2 * optimize.RuleSteps}.Plan(ctx, p)
	},
	sampled,
	func(ctx context.Context, p optimize.Problem, _ Auto) (optimize.Plan, error) {
		return onepass.SGD{}.Plan(ctx, p)
	},
	func(ctx context.Context, p optimize.Problem, _ Auto) (optimize.Plan, error) {
		return onepass.STORM{}.Plan(ctx, p)
	},
	func(ctx context.Context, p optimize.Problem, _ Auto) (optimize.Plan, error) {
		return onepass.TreeSpider{}.Plan(ctx, p)
	},
	func(ctx context.Context, p optimize.Problem, _ Auto) (optimize.Plan, error) {
		if p.Records < 1 || !p.Convex() {
			return nil, nil
		}
		return recursive.Recursive{}.Plan(ctx, p)
	},
	risen,
}

// accelerated plans momentum, except for networks. Its steps are limited by L1, and longer steps
// got further on networks (results/models.md).
func accelerated(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	if p.Layered {
		return nil, nil
	}
	return capped(func(steps int) optimize.Algorithm { return firstorder.Nesterov{Steps: steps} })(ctx, p, a)
}

// risen plans kl-geometric, if a KL condition is given.
func risen(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	if !p.KL.Known() {
		return nil, nil
	}
	return capped(func(steps int) optimize.Algorithm { return kl.Geometric{Steps: steps} })(ctx, p, a)
}

// capped plans an algorithm with its own rule for steps (0), or with as many steps as the limit on
// passes allows.
func capped(of func(steps int) optimize.Algorithm) func(context.Context, optimize.Problem, Auto) (optimize.Plan, error) {
	return func(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
		plan, err := of(0).Plan(ctx, p)
		if err != nil || a.allows(plan.Summary()) {
			return plan, err
		}
		for steps := a.steps(plan.Summary().Steps); ; steps = max(1, int(float64(steps)*a.Passes/plan.Summary().Passes)) {
			if plan, err = of(steps).Plan(ctx, p); err != nil || steps == 1 || a.allows(plan.Summary()) {
				return plan, err
			}
		}
	}
}

// leastEffective is the smallest N for which a released second moment is worth its charge.
const leastEffective = 20

// preconditioned plans the preconditioned method for generalised linear models with N at least
// leastEffective. It takes as many steps as the limit on passes allows, and returns nil if these
// are fewer than the method's smallest number.
func preconditioned(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	c := firstorder.Preconditioned{}
	if p.Effective() < leastEffective || c.Serves(p) != nil {
		return nil, nil
	}
	plan, err := c.Plan(ctx, p)
	for err == nil && !a.allows(plan.Summary()) {
		if c.Steps = plan.Summary().Steps - 1; c.Steps < firstorder.LeastPreconditioned {
			return nil, nil
		}
		plan, err = c.Plan(ctx, p)
	}
	return plan, err
}

// sampled plans DP-SGD on Poisson samples of a tenth of the records, or of the share that the limit
// on passes leaves to each step.
func sampled(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	if a.WithoutSamples || p.Budget == (account.Budget{}) {
		return nil, nil
	}
	c := firstorder.SGD{Sampling: .1}
	steps := c.StepRule(p)
	if a.Passes > 0 {
		c.Sampling = min(a.Passes/float64(steps), 1)
		c.Steps = min(steps, int(a.Passes/c.Sampling))
	}
	plan, err := c.Plan(ctx, p)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil // no noise multiplier within reach meets the budget
	}
	return plan, nil
}

// caution returns the adjustment factor of [Auto]: above 1 for forecasts that are too low compared
// with others, below 1 for forecasts that are too high.
func (a Auto) caution(p optimize.Problem, s optimize.Summary, q optimize.Properties) float64 {
	lo, _ := p.Curvature()
	risk := a.Goal == ExcessRisk
	switch {
	case q.Restarted:
		return 1.3
	case a.Goal == Population && s.Passes <= 1 && s.Steps > 1:
		return 1.5
	case s.Steps > optimize.RuleSteps:
		return .95
	case a.Goal == Gradient && (a.Passes == 0 || s.Passes < a.Passes) && s.Effective >= leastEffective && s.Algorithm == "nesterov":
		return .85
	case lo < 0, p.Regularizer == nil, risk && (q.Averaged || s.Passes <= 1), !risk && !q.Averaged:
		return 1
	}
	return averagingMargin
}

// averagingMargin is the cost of an average on a curved loss beyond its forecast.
const averagingMargin = 1.15

// Why explains in a few words why the first candidate was chosen.
func (a Auto) Why(list []Candidate) string {
	first, what := list[0], a.Goal.Describe()
	if first.why != "" {
		return first.why
	}
	if a.Goal == SecondOrder {
		a.Goal = Gradient
		return "every stationary point of a convex objective is one of second order; " + a.Why(list)
	}
	if first.unranked {
		return "the loss has slopes that jump, and of the algorithms for such it was measured to be the better at this number of records"
	}
	lowest, ranked := first, first
	aside := ""
	for _, c := range list[1:] {
		if math.IsInf(c.Ranked, 1) {
			if c.Predicted < first.Predicted {
				aside = fmt.Sprintf("; %s, predicted lower, is left aside: its samples save passes, which are not limited, and no privacy", c.Summary.Algorithm)
			}
			continue
		}
		if c.Predicted < lowest.Predicted {
			lowest = c
		}
		if c.Ranked < ranked.Ranked {
			ranked = c
		}
	}
	switch {
	case ranked.Ranked < first.Ranked:
		return fmt.Sprintf("its predicted %s is within a factor %v of the smallest, %s's: a difference that predictions cannot resolve, at %.4g passes instead of %.4g%s",
			what, Agreement, ranked.Summary.Algorithm, first.Summary.Passes, ranked.Summary.Passes, aside)
	case lowest.Predicted < first.Predicted:
		return fmt.Sprintf("the smallest predicted %s after allowances: the prediction for %s is lower, by less than such predictions were measured to miss%s", what, lowest.Summary.Algorithm, aside)
	}
	return "the smallest predicted " + what + aside
}
