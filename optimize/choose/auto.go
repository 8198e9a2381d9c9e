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

// Auto plans every algorithm with its default rule, within a limit on passes over the records, and orders
// the plans by their forecasts. It uses public quantities only, so the choice has no privacy cost.
//
// Forecasts may be wrong by a third or more in both directions. Forecasts within the factor Agreement of the lowest
// therefore count as equal. Among these plans the plan with the fewest passes over the records comes first, if it makes
// at most half the passes of the plan with the lowest forecast. Among plans with equal passes, up to 5 %, the lowest
// forecast comes first. The rule of fewest passes is not used for an effective size N below 20. At such N all forecasts
// are close to the gradient norm at the start, and agree for this reason only. (On 2,000 rows of Adult at epsilon .1 a
// plan of a single step had an AUC of .56, and the plan with the lowest forecast had .71.)
//
// Other rules adjust the order. Each corrects a measured error of the forecasts (lab/results/planner.md,
// lab/results/accuracy.md):
//
//   - preconditioned is planned for generalised linear models if N is large enough (see leastFor), and comes first in
//     the cases that Candidates lists with their reasons, unless the goal is the excess risk. In the last of these
//     cases other plans, with 10 to 100 times the passes, reach smaller gradients on the records. The gain is smaller
//     than the difference between the gradient on the records and that of the distribution. The coefficients of
//     correlated columns had a seventh of nesterov's error, and their noise can be stated (lab/coverage/results.md).
//   - For nonconvex losses preconditioned is ordered by its forecast without a correction, although its
//     gradient norm was 1.6 to 1.9 times its forecast, since most records' gradients are clipped. Other
//     plans had smaller gradients only because their weights were so large that the derivative of the loss
//     vanishes (lab/results/outcome.md).
//   - Forecasts are multiplied by factors (see caution). If the rule for STORM's steps is cut off at 1000, STORM is
//     also planned with 2000 steps.
//   - Without a limit on passes, plans on Poisson samples come last, since sampling saves passes and not
//     privacy. SpiderBoost is planned on all records only. With the batches of its rule, SpiderBoost was no
//     better than dp-sgd at equal passes, except for one budget of one table.
//   - For N below 20, convex losses and generalised linear models with one margin, forecasts do not
//     decide which plan is first (see scarce), unless the goal is the excess risk.
//
// For losses whose slope jumps only the algorithms of package nonsmooth are planned. Forecasts assume
// bounded curvature, so they do not order these plans. smoothed comes first if it uses a preconditioner or
// N is at least 2000, and subgradient comes first otherwise. For networks whose slope jumps smoothed comes
// first, with gradients at weights that are perturbed at random for each record.
//
// For networks without jumps gd comes first, whatever the forecasts and the passes, unless the limit on
// passes is below 8 (see networks).
//
// If the problem has a KL condition ([optimize.KL]), kl-geometric is also planned.
type Auto struct {
	// Goal is the quantity that plans are compared by: gradient, population (the gradient over the
	// distribution), excess-risk, or second-order. second-order is the gradient at points where no
	// eigenvalue of the Hessian is far below zero.
	Goal Criterion `yaml:"goal"`
	// Gap is a positive number, used by the goal second-order: an eigenvalue of the Hessian counts as far below zero
	// if it is below -Gap. Zero means a tenth of the smoothness of the objective.
	Gap float64 `yaml:"gap"`
	// Passes is the largest number of passes over the data. Zero means no limit.
	Passes float64 `yaml:"passes"`
	// WithoutSamples leaves out plans on Poisson samples, since the calibration of their noise takes
	// longest. Such plans are also left out if the problem has no Budget.
	WithoutSamples bool
}

// Candidate is a plan that was considered, with its place in the order.
type Candidate struct {
	Plan    optimize.Plan
	Summary optimize.Summary
	// Predicted is the forecast in Summary for the goal.
	Predicted float64
	// Ranked is Predicted times a factor that corrects a measured error of such forecasts (see [Auto]). Candidates are
	// ordered by Ranked, the smallest first. Ranked is infinite for plans that come last whatever their forecast.
	Ranked float64

	// unranked means that the order of the candidates does not follow Ranked.
	unranked bool
	// curvature is the prediction for the goal second-order: the smallest eigenvalue of the Hessian at the point that
	// the plan reaches. why is the text that Why returns. If why is empty, Why composes a text from the forecasts.
	curvature float64
	why       string
	// cut means that the limit on passes over the records leaves the plan too few steps to escape from
	// saddles.
	cut bool
}

// Agreement is the factor within which the forecasts of two plans count as equal.
const Agreement = 1.3

// Plan returns the plan that Candidates puts first.
func (a Auto) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	list, err := a.Candidates(ctx, p)
	if err != nil {
		return nil, err
	}
	return list[0].Plan, nil
}

// Candidates returns the plans of all algorithms for the problem that make at most the allowed number of
// passes over the records, the best plan first. It returns an error if the problem or a setting is not
// valid, or if no algorithm has a plan.
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
	list, err := a.planned(ctx, p, planners)
	if err != nil {
		return nil, err
	}
	if a.unforeseen(p) {
		return networks(list), nil
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(a.Ranked, b.Ranked) })
	if firstorder.Diagonal(p) && a.Goal != ExcessRisk && find(list, "preconditioned") >= 0 {
		putFirst(list, "preconditioned",
			"with so many features, classes were told apart better in a released metric that is diagonal for levels than by any other plan, "+
				"at every budget that was measured")
		return list, nil
	}
	if p.Effective() < leastEffective {
		if a.Goal != ExcessRisk {
			scarce(p, list)
		}
		return list, nil
	}
	cheapest(list)
	switch {
	case a.Goal != ExcessRisk && p.Scored:
		putFirst(list, "preconditioned",
			"forecasts do not know how slowly steps go where the rows are thin; for ordered classes it was the best of the "+
				"measured algorithms at every budget")
	case a.Goal != ExcessRisk && rare(p):
		putFirst(list, "preconditioned",
			"forecasts do not know how few records of a rare class, or of counts, tell a fit anything; at the released base "+
				"rate it was the best of the measured algorithms at every budget")
	case a.Goal != ExcessRisk && byRecord(p, list):
		putFirst(list, "preconditioned",
			"on tables with such losses it was the best of the measured algorithms, or level; its forecast is too far "+
				"off to choose by")
	case p.Shape.Margins > 1 && a.Goal != ExcessRisk:
		putFirst(list, "preconditioned",
			"a gradient as small as other plans are predicted to reach is soon had by stopping short where the rows are "+
				"thin; with a preconditioner learned privately classes were told apart better at every budget that was measured")
	case a.Goal == Gradient && p.Convex():
		if at := find(list, "preconditioned"); at > 0 && list[at].Summary.Population <= list[0].Summary.Population*asMany {
			putFirst(list, "preconditioned",
				fmt.Sprintf("the gradient on the distribution of the records, which the records themselves tell only so well, "+
					"is predicted the same within %.2g%% as with %s, for %.4g passes instead of %.4g",
					100*max(0, list[at].Summary.Population/list[0].Summary.Population-1), list[0].Summary.Algorithm,
					list[at].Summary.Passes, list[0].Summary.Passes))
		}
	}
	return list, nil
}

// planned returns the candidates of the planners whose plans make at most the allowed number of passes. It is an error
// if there are none.
func (a Auto) planned(ctx context.Context, p optimize.Problem, by []planner) ([]Candidate, error) {
	var list []Candidate
	for _, of := range by {
		plan, err := of(ctx, p, a)
		if err != nil {
			return nil, err
		}
		if plan == nil {
			continue
		}
		if s := plan.Summary(); a.allows(s) {
			list = append(list, Candidate{Plan: plan, Summary: s, Predicted: a.Goal.of(s),
				Ranked: a.rank(p, s, plan.Properties())})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("optimize: auto: no algorithm serves")
	}
	return list, nil
}

// rare reports whether the released base rate is that of counts, or of classes of which one is so rare that the
// curvature there is below leastCurved of its bound.
func rare(p optimize.Problem) bool {
	return p.Base != nil && p.Base.Curvature > 0 && p.RankOne && (p.Counts || p.Signal() < leastCurved*p.Effective())
}

// leastCurved is 4 p (1-p) for the share p of a class of about a quarter.
const leastCurved = .72

// scarce puts a plan first for generalised linear models with convex losses and one margin, at effective sizes below
// leastEffective. The plan is nesterov if the target is a real number or the Lipschitz constant is a clip, and
// preconditioned otherwise. At such sizes the forecasts of all plans are about equal to the gradient norm at the start,
// and the plan with the lowest forecast was far worse on tables (lab/results/outcome.md).
func scarce(p optimize.Problem, list []Candidate) {
	if !p.Convex() || !p.RankOne || p.Shape.Margins > 1 {
		return
	}
	algorithm := "preconditioned"
	if p.Real || p.Constants.Clipped {
		algorithm = "nesterov"
	}
	putFirst(list, algorithm,
		"with so few records for the budget forecasts do not order the plans; it was the best of the measured algorithms "+
			"on such tables, or level")
}

// find returns the index of the algorithm's plan in the list, or -1.
func find(list []Candidate, algorithm string) int {
	return slices.IndexFunc(list, func(c Candidate) bool { return c.Summary.Algorithm == algorithm })
}

// putFirst moves the algorithm's plan to the front of the list and stores why as the reason. It does
// nothing if this plan is not in the list or already first.
func putFirst(list []Candidate, algorithm, why string) {
	if at := find(list, algorithm); at > 0 {
		toFront(list, at, why)
	}
}

// toFront moves a plan to the front of the list and stores why as the reason.
func toFront(list []Candidate, at int, why string) {
	c := list[at]
	c.why = why
	copy(list[1:], list[:at])
	list[0] = c
}

// rank returns the number by which a plan with the summary s and the properties q is ordered (see
// Candidate.Ranked).
func (a Auto) rank(p optimize.Problem, s optimize.Summary, q optimize.Properties) float64 {
	if q.Sampled && a.Passes == 0 {
		return math.Inf(1)
	}
	return a.Goal.of(s) * a.caution(p, s, q)
}

// cheapest moves a plan that makes few passes over the records to the front. The plan's forecast must be
// within the factor Agreement of the best plan's, and its passes must be at most half the best plan's. If
// several plans satisfy this, cheapest moves the plan with the fewest passes. Among plans with equally many
// passes (see asMany), it moves the first one of the list.
func cheapest(list []Candidate) {
	fewest := list[0].Summary.Passes / 2
	for _, c := range list {
		if c.Ranked <= list[0].Ranked*Agreement {
			fewest = min(fewest, c.Summary.Passes)
		}
	}
	first := slices.IndexFunc(list, func(c Candidate) bool {
		return c.Ranked <= list[0].Ranked*Agreement && c.Summary.Passes <= min(list[0].Summary.Passes/2, fewest*asMany)
	})
	if first > 0 {
		toFront(list, first, "")
	}
}

// asMany is the factor within which two numbers of passes over the records, or two gradient norms,
// count as equal.
const asMany = 1.05

// planner returns an algorithm's plan, or nil if the algorithm is not for the problem.
type planner func(context.Context, optimize.Problem, Auto) (optimize.Plan, error)

// planners has a planner for each algorithm.
var planners = []planner{
	capped(func(steps int) optimize.Algorithm { return firstorder.GD{Steps: steps} }),
	func(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
		// A second plan of GD, if the limit on passes reduces GD's steps: its result is the last
		// iterate, since an average of few iterates stays near the start.
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
	capped(func(int) optimize.Algorithm { return onepass.SGD{} }),
	capped(func(int) optimize.Algorithm { return onepass.STORM{} }),
	capped(func(int) optimize.Algorithm { return onepass.TreeSpider{} }),
	func(ctx context.Context, p optimize.Problem, _ Auto) (optimize.Plan, error) {
		if p.Records < 1 || !p.Convex() {
			return nil, nil
		}
		return recursive.Recursive{}.Plan(ctx, p)
	},
	risen,
}

// accelerated returns the plan of Nesterov, and nil for networks. Nesterov's steps are at most 1/L1
// long, and on networks longer steps lowered the loss more (lab/results/accuracy.md).
func accelerated(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	if p.Layered {
		return nil, nil
	}
	return capped(func(steps int) optimize.Algorithm { return firstorder.Nesterov{Steps: steps} })(ctx, p, a)
}

// risen returns the plan of kl-geometric if the problem has a KL condition, and nil otherwise.
func risen(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	if !p.KL.Known() {
		return nil, nil
	}
	return capped(func(steps int) optimize.Algorithm { return kl.Geometric{Steps: steps} })(ctx, p, a)
}

// capped returns a function that plans the algorithm of(steps). The plan has the algorithm's own
// number of steps (steps 0). If this plan exceeds the limit on passes over the records, the plan has
// as many steps as the limit allows.
func capped(of func(steps int) optimize.Algorithm) planner {
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

// leastEffective is the smallest effective size N = n mu/sqrt(d) at which a released second moment of
// the rows improves a fit by more than its part of the budget is worth. Below it the moment is mostly noise.
const leastEffective = 20

// leastClasses is the smallest such effective size for two classes and a convex loss whose Lipschitz
// constant is not a clip.
const leastClasses = 5

// leastWide is the smallest product n mu of the number of records and the budget at which the released mean squares of
// the features improve a fit by more than their part of the budget is worth (lab/results/outcome.md).
const leastWide = 450

// leastFor returns the smallest effective size N at which the algorithm preconditioned is planned. N is n
// mu over the square root of the number of features. The ridge of a diagonal metric does not depend on the
// number of features. For so many features the limit is therefore on n mu (leastWide), and leastFor divides
// it by the square root of the number of features.
func leastFor(p optimize.Problem) float64 {
	switch {
	case firstorder.Wide(p):
		return leastWide / math.Sqrt(float64(p.Dim()))
	case p.Convex() && p.Shape.Margins == 1 && !p.Real && !p.Constants.Clipped:
		return leastClasses
	}
	return leastEffective
}

// preconditioned returns the plan of Preconditioned for generalised linear models whose effective size N is
// large enough (see leastFor), and nil for other problems. The plan makes the default number of steps, or
// as many as the limit on passes over the records allows. If this limit allows fewer than
// firstorder.LeastPreconditioned steps, preconditioned returns nil.
func preconditioned(ctx context.Context, p optimize.Problem, a Auto) (optimize.Plan, error) {
	c := firstorder.Preconditioned{}
	if p.Effective() < leastFor(p) || c.Serves(p) != nil {
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

// sampled returns the plan of DP-SGD on Poisson samples. Each sample has a tenth of the records. With a
// limit on passes, each sample has the share of the records at which the default number of steps makes as
// many passes as allowed. sampled returns nil if samples are excluded, or if no noise multiplier that the
// calibration tries meets the budget.
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
		return nil, nil // no noise multiplier that the calibration tries meets the budget
	}
	return plan, nil
}

// caution returns the factor by which [Auto] multiplies a plan's forecast. The factor is above 1 if
// forecasts of such plans were measured to be too low compared with other plans' forecasts, and below 1 if
// they were too high. Only the first factor that applies is used.
func (a Auto) caution(p optimize.Problem, s optimize.Summary, q optimize.Properties) float64 {
	lo, _ := p.Curvature()
	risk := a.Goal == ExcessRisk
	switch {
	case q.Restarted:
		return 1.3 // recursive was worse by this factor than plans with equal forecasts (docs/explanation/papers)
	case a.Goal == Population && s.Passes <= 1 && s.Steps > 1:
		return 1.5 // the norm was half of the forecast with repeated passes, and four fifths with a single one
	case s.Steps > optimize.RuleSteps:
		return .95 // forecasts ignore directions in which the loss falls slowly
	case a.Goal == Gradient && (a.Passes == 0 || s.Passes < a.Passes) && s.Effective >= leastEffective &&
		s.Algorithm == "nesterov":
		return .85 // along directions in which the loss falls slowly, gd was up to 7 times worse
	case lo < 0, p.Regularizer == nil, risk && (q.Averaged || s.Passes <= 1), !risk && !q.Averaged:
		return 1
	}
	return averagingMargin
}

// averagingMargin is the factor on the forecast of a plan whose result is an average of iterates. Forecasts assume that
// the gradient there is the average of the iterates' gradients. With a regularizer and a convex loss, this error raised
// gd's gradient norm by up to a third for N below 1000; without a regularizer none was measured. The risk at an average
// is below the average risk. For the goal excess-risk the factor is therefore on plans that do not average.
const averagingMargin = 1.15

// Why explains in a few words why the first candidate of the list was chosen.
func (a Auto) Why(list []Candidate) string {
	first, what := list[0], a.Goal.Describe()
	if first.why != "" {
		return first.why
	}
	if first.unranked {
		return "the loss has slopes that jump, and of the algorithms for such it was measured to be the better at this " +
			"number of records"
	}
	if a.Goal == SecondOrder {
		a.Goal = Gradient
		return "every stationary point of a convex objective is one of second order; " + a.Why(list)
	}
	lowest, ranked := first, first
	aside := ""
	for _, c := range list[1:] {
		if math.IsInf(c.Ranked, 1) {
			if c.Predicted < first.Predicted {
				aside = fmt.Sprintf("; %s, predicted lower, is left aside: its samples save passes, which are not limited, and "+
					"no privacy", c.Summary.Algorithm)
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
		return fmt.Sprintf("its predicted %s is within a factor %v of the smallest, %s's: a difference that predictions "+
			"cannot resolve, at %.4g passes instead of %.4g%s",
			what, Agreement, ranked.Summary.Algorithm, first.Summary.Passes, ranked.Summary.Passes, aside)
	case lowest.Predicted < first.Predicted:
		return fmt.Sprintf("the smallest predicted %s after allowances: the prediction for %s is lower, by less than such "+
			"predictions were measured to miss%s", what, lowest.Summary.Algorithm, aside)
	}
	return "the smallest predicted " + what + aside
}
