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

// Auto plans every algorithm with its default rule, within a limit on passes, and
// orders them by what they are predicted to reach. It uses public quantities only,
// so that choosing costs nothing.
//
// Predictions are off by a third and more either way. Of the plans whose predictions
// are within Agreement of the lowest the one that takes fewest passes is first, if it
// saves half of the lowest's: the others cost time and promise nothing. Of plans with as
// many passes, up to a twentieth, it is the one that is predicted lower. Not so where N
// is below 20: there all predictions are near that of not moving, and agree on that alone
// (of 2,000 rows of Adult at epsilon .1 a single step had an AUC of .56, the lowest
// prediction .71).
//
// preconditioned is planned for generalised linear models where N is 20 at least:
// below, its second moment is noise (lambda above .3). Of several margins, where it is
// planned it comes first, unless the goal is the risk: a small gradient is soon had by
// stopping short where the rows are thin, and there classes were told apart worse at every
// budget (results/models.md). Of losses that are not convex, whose slopes are mostly at
// their clip, its gradient was 1.6 to 1.9 times what is predicted; it is ranked as it is
// predicted all the same, since the smaller gradients of other plans were those of weights
// so large that slopes vanish (results/outcome.md). Of convex losses of 100,000 records and
// more it comes first where the gradient on the distribution that the records come from is
// predicted the same within a twentieth: other plans get further down on the records, in 20
// to 100 times the passes, below what the
// records tell of it.
//
// Where the rule for STORM's steps is cut off at 1000 it is also planned with
// twice as many, and put first if it is predicted within 5%: predictions know of
// no slow tails. For the same reason nesterov is ranked by the gradient as if predicted
// 15% lower where N is 20 at least and no limit cuts it short: on slow tails gd was up to
// 7 times behind it.
//
// Predictions leave out that the gradient at an average of iterates is not the
// average of their gradients, which STORM's last iterate is free of. On
// regularized convex data terms this was measured to cost gd up to a third in the
// gradient norm below N of 1000; there averages are ranked as if predicted 15%
// higher. The risk at an average, on the other hand, is below the average risk: by
// that goal it is the others that are ranked 15% higher, but for single passes.
// Without a regularizer no such difference shows, on generated rows or on tables.
// recursive is ranked as if predicted 30% higher: it was behind gd by as much at
// equal predictions (docs/papers/recursive-regularization.md). By the gradient of the
// population single passes are ranked as if predicted 50% higher: what plans that repeat
// their passes reach is half of what is predicted, what passes reach four fifths
// (results/planner.md).
//
// Losses whose slope jumps have algorithms of their own (package nonsmooth): smoothed
// comes first where it takes a metric or N is 2000 at least, subgradient otherwise. Of
// networks with such outputs smoothed comes first, by gradients at weights that are
// perturbed at random, each record's by itself.
// Predictions, which take curvature to be bounded, do not compare them.
//
// Where a problem says how fast it rises (optimize.KL), kl-geometric is a candidate,
// too.
//
// Sampling saves passes, not privacy: without a limit on passes plans on samples
// are last.
type Auto struct {
	// Goal is what plans are compared by: gradient, population (the gradient of
	// the distribution), excess-risk, or second-order, the gradient where no eigenvalue of
	// the Hessian is far below zero.
	Goal Criterion `yaml:"goal"`
	// Gap is how far that is, for goal second-order; zero means a tenth of the smoothness.
	Gap float64 `yaml:"gap"`
	// Passes is the most passes over the data; zero means no limit.
	Passes float64 `yaml:"passes"`
	// WithoutSamples leaves out plans on Poisson samples, which take longest to
	// make. They are left out as well if the problem has no Budget.
	WithoutSamples bool
}

// Candidate is a plan that was considered.
type Candidate struct {
	Plan    optimize.Plan
	Summary optimize.Summary
	// Predicted is what the summary predicts by the criterion.
	Predicted float64
	// Ranked is that times the allowance for what predictions of its kind leave out,
	// by which candidates are ordered; infinite for plans that are last whatever they
	// are predicted.
	Ranked float64

	// unranked says that candidates were ordered by another rule.
	unranked bool
	// curvature is the least eigenvalue predicted, and why what Why says, where second-order
	// points are looked for.
	curvature float64
	why       string
}

// Agreement is the factor within which predictions are taken to say the same.
const Agreement = 1.3

// Plan returns the first of the candidates.
func (a Auto) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	list, err := a.Candidates(ctx, p)
	if err != nil {
		return nil, err
	}
	return list[0].Plan, nil
}

// Candidates returns all plans that serve, the best first.
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

// manyRecords are so many that passes take seconds.
const manyRecords = 1e5

// find returns where preconditioned is, -1 for nowhere.
func find(list []Candidate) int {
	return slices.IndexFunc(list, func(c Candidate) bool { return c.Summary.Algorithm == "preconditioned" })
}

// putFirst puts preconditioned first, if it is there and is not, and says why.
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

// rank is the figure that candidates are ordered by.
func (a Auto) rank(p optimize.Problem, s optimize.Summary, q optimize.Properties) float64 {
	if q.Sampled && a.Passes == 0 {
		return math.Inf(1)
	}
	return a.Goal.of(s) * a.caution(p, s, q)
}

// cheapest puts the plan of the fewest passes first among those that agree with the
// best, if that saves half of its passes; of several the one that is ranked first.
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

// asMany is the factor within which passes are as many, or gradients the same.
const asMany = 1.05

// planners plan one algorithm each; nil where it does not serve.
var planners = []func(context.Context, optimize.Problem, Auto) (optimize.Plan, error){
	capped(func(steps int) optimize.Algorithm { return firstorder.GD{Steps: steps} }),
	func(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
		// The average of few iterates holds on to the start.
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

// accelerated plans momentum, but for networks: its steps are those that L1 allows, and
// longer ones got further there (results/models.md).
func accelerated(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	if p.Layered {
		return nil, nil
	}
	return capped(func(steps int) optimize.Algorithm { return firstorder.Nesterov{Steps: steps} })(ctx, p, a)
}

// risen plans by the KL condition, where one is given.
func risen(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	if !p.KL.Known() {
		return nil, nil
	}
	return capped(func(steps int) optimize.Algorithm { return kl.Geometric{Steps: steps} })(ctx, p, a)
}

// capped plans an algorithm by its rule (0 steps), or with as many passes as are
// allowed.
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

// leastEffective is the N from which a released second moment is worth its charge.
const leastEffective = 20

// preconditioned is for generalised linear models of enough records, with as many
// steps as are allowed if that is at least the rule's least.
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

// sampled is DP-SGD: on samples of a tenth, or of as much as the limit leaves each
// of its steps.
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
		return nil, nil // a budget that no noise multiplier in reach serves
	}
	return plan, nil
}

// caution is by how much a prediction may be too low, or if below 1 too high,
// beside others; see Auto.
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

// averagingMargin is what averages on a curved loss cost beyond their forecast.
const averagingMargin = 1.15

// Why says in a few words why the first candidate was chosen.
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
