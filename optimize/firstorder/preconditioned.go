package firstorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Preconditioned is accelerated noisy gradient descent with a privately learned preconditioner (metric) P,
// for generalised linear models. The method is new here; no paper describes it.
//
//	Gt = mean_i x_i x_i' + noise, released once;   P = (Gt_+ + lambda I)^(-1/2)
//	y_t = w_t + t/(t+3) (w_t - w_{t-1})
//	g_t = mean_i clip(P grad f(y_t; x_i), C_t) + noise + P grad reg(y_t)
//	w_{t+1} = y_t - eta P g_t
//
// Gt_+ is Gt with negative eigenvalues replaced by 0. Gradients are clipped after multiplication by P, which makes the
// gradients of different records similarly long. The noise is therefore as large as in about d_eff = tr Gt_+ (Gt_+ +
// lambda I)^(-1) dimensions, the number of directions in which rows vary, instead of d. The gradient norm can fall
// below the noise level r = 2 L0/N of methods that use no statistics of the rows, where N is the effective size. After
// the change of variables by P, all directions along which the rows' second moment exceeds the noise have about the
// same curvature, so that tens of steps are enough.
//
// For a loss of K margins the parameters are K rows. A record's gradient is the outer product of its
// K slopes (derivatives of the loss in the margins) and x_i, and P multiplies the gradient of each
// margin. Below, d is the number of features.
//
// For ordered classes Gt is the second moment of all parameters: that of the rows, with what the released base rate tells
// of the thresholds (optimize.Beyond). What is said below of stable steps holds as long as the thresholds stay near.
//
// lambda is the largest eigenvalue of the noise in Gt (its edge): sigma sqrt(2d) for a symmetric matrix whose diagonal
// has noise of standard deviation sigma. Then G = mean x_i x_i' <= Gt_+ + lambda I, so that P G P <= I. A step of 1/b,
// with b a bound on the second derivative of the loss in the margin, is therefore stable on every table, whatever the
// spectrum. A public regularizer of smoothness s adds s/b to lambda, and the bound still holds.
//
// For N from 50 to below 1000, Gt is computed from the released mean row and the second moment about this row, which
// has less noise (see centring). Then P G P <= (4/3) I if no row is shortened, and steps are still stable. For N below
// 1000, lambda is also at least a value that depends on the forecast noise: with a smaller lambda, the noise of steps
// would raise the loss by more than the steps lower it (see worth). Neither of these two rules applies to losses whose
// Lipschitz constant is a clip, to smoothed losses or to losses of several margins.
//
// For more than query.MaxPairs features, and from 301 on if columns of 50 levels or more have half of them, the run
// releases the mean squares of the features in place of Gt, and the second moment of features that are no such levels.
// P is then diagonal but for one block, and the step size is divided by about the number of P's parts in which a row is
// not zero (see diagonalRidge). Counts, ordered classes, smoothed losses and losses of relative residuals have no block.
//
// The clip norm C_t adapts during the run. At regular intervals a step also releases v = mean_i min(||P grad f(y_t;
// x_i)||^2, B^2) for a fixed bound B, and C_t is kappa (the setting ClipScale) times the square root of the moving
// average of v. With a clip norm a little above the root mean square of gradient norms, most gradients are not clipped.
//
// For a smoothed loss with a real target, smoothing radii fall from wide to narrow (see narrowing).
// Each step has the size for its radius, and momentum is at most .9. Seven mean squared slopes at the
// start determine the first radius; .02 of the steps' charges pay for them.
//
// Guarantee: mu-GDP whatever the constants, by the adaptive composition of the privacy filter. Charges are fixed in the
// plan; only the preconditioner and the clip norms depend on earlier releases. No rate is proved.
//
// The zero Preconditioned selects every setting by the rule in the field's comment. A field that is
// set overrides its rule.
type Preconditioned struct {
	// Steps is the number of steps T. Zero means 4.2 min(1, sqrt(N/N0)) sqrt(2 sqrt(d/s) b/L0) rounded up, between 8
	// and 80. Here s is MomentShare, and b bounds the second derivative of the loss in the margin. N0 is 50 for
	// classes and counts, 100 for numbers, and 150 for numbers if the loss has a kink. With few records, further steps
	// mostly add noise. If the Lipschitz constant of the loss is a clip, T is at least 48 min(1, sqrt(N/500)), since
	// the curvature b of the clip is far above the curvature of most records. If smoothing radii fall from the widest
	// radius r_0 = sqrt(d+2) to the radius r of the problem, zero means min(1, sqrt(N/150)) sqrt(.8 sqrt(d/s)) (4.2 +
	// 3 ln(r_0/r)) rounded up, between 8 and 200. For a diagonal preconditioner T is multiplied by sqrt(1/h), with h
	// by the rule of StepScale but at most 1. The limits on T stay the same. If the fit begins at a released base rate
	// of classes with the mean curvature v, and v is below b/2, zero means at least 16 sqrt(b/(2v)), at most 150. N0
	// is then 100, and N is the size at that start. For counts zero means 24 min(1,
	// sqrt(N/100)).
	Steps int `yaml:"steps"`
	// MomentShare is the second moment's share of the budget. Zero means .1. With a larger share, the second moment
	// has less noise and shows directions in which rows vary less. The ridge that is added to the second moment is
	// then smaller, so fewer steps are needed.
	MomentShare float64 `yaml:"moment_share"`
	// ClipShare is the share of the steps' charges that pays for adapting the clip norm. Zero means .01. A
	// small share is enough, since each of these releases is a single number.
	ClipShare float64 `yaml:"clip_share"`
	// ClipScale is kappa in C = kappa sqrt(v), where C is the clip norm and v is the mean square of the norms of
	// gradients. Zero means .9 log10 N, limited to [1.2, 4]. Zero means .6 log10 N, with the same limits, for several
	// margins, and for losses without smoothing whose derivative is nearly everywhere at its bound (b F0 > 2 L0^2). For
	// two classes of rows with weights, zero means 1.4 log10 N, at most 4.7. kappa grows with N because with little
	// noise the bias of clipping dominates. For counts that begin at a released base rate, zero means 3, or more if the
	// effective size at that start is above 1500; C is also at least about the norm of a record with one event. For a
	// rare class C is at least a share of L0 sqrt(d_eff), where d_eff is the effective number of directions in which
	// rows vary. The bias is smaller if the gradients of the clipped rows have different directions. For classes and
	// counts C is raised to the gradients of rows of the least common level that 1.5% of the rows or more have. For n
	// records of d features C is raised to at most .4 sqrt(n/d) mu sqrt(v), under replace-one.
	ClipScale float64 `yaml:"clip_scale"`
	// StepScale is h in eta = h/b, with b as for Steps. Zero means 1, the largest value that is stable on every table. For losses of
	// relative residuals b is at most 10, and a guard shortens steps. For a diagonal preconditioner, of more than 2000
	// features, zero means 4/3 divided by the largest number of nonzero features of a row. If columns of 50 levels or
	// more have half of more than 300 features, zero means 4/3 divided by one more than the number of these columns.
	StepScale float64 `yaml:"step_scale"`
	// Output is the rule that chooses the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// LeastPreconditioned is the smallest number of steps that the rule of Preconditioned chooses.
const LeastPreconditioned = 8

// leastClipped is the smallest default number of steps for a loss whose Lipschitz constant is a clip,
// if the effective size N is at least manyClipped. For smaller N this number is multiplied by
// sqrt(N/manyClipped) (lab/results/outcome.md).
const leastClipped, manyClipped = 48, 500

// scarcity returns the factor on the default number of steps that makes it smaller at small effective sizes
// N: sqrt(N/many), at most 1. With few records, the noise of more steps raises the error by more than these
// steps lower it. many is 50 for classes and counts, 100 for numbers, and 150 for numbers whose loss has a
// kink (lab/results/outcome.md).
func scarcity(p optimize.Problem) float64 {
	many := 50.
	switch {
	case p.Kinked != nil && p.Kinked.Target() == loss.Real:
		many = 150
	case p.Real:
		many = 100
	}
	if begun(p) {
		many = manyAtBase
	}
	return min(1, math.Sqrt(p.Signal()/many))
}

// Constants of the rules that choose settings. On no table did the result depend much on them.
const (
	firstClip  = .7  // ratio of C_0 to the bound on the root mean square: most slopes are below L0
	forgetting = .7  // factor on the weight of earlier mean squares when a new one is released
	leastRoot  = .02 // ratio of the least mean square to L0^2 d_eff: smaller released values are noise
	limit      = 2   // ratio of B^2 to L0^2 d_eff, the mean square if every slope is L0: clips few records
	squares    = 12  // largest number of mean squares released in a run
	usualRoot  = .15 // ratio to L0^2 d_eff of the mean square that forecasts assume
	leastCount = .5  // least d_eff: one direction whose second moment is lambda
)

// preconditionedPlan is the plan of a [Preconditioned] for one problem. Each step whose number, counted from 0, is a
// multiple of the field every also releases the mean square of gradient norms, from which the clip norm is computed.
type preconditionedPlan struct {
	optimize.Settled
	moment, gradient, square float64 // charges
	curvature                float64 // charge of the curvature at the result; 0 if it is not released
	beyond                   float64 // charge of what the clip holds back at the result; 0 if it is not released
	every                    int
	kappa, rare              float64    // of the clip norm, see clip
	reach                    float64    // most that the clip norm grows for levels, over the rms (see long)
	bound                    float64    // on the second derivative of the loss in the margin
	longest                  float64    // least clip norm over L0 sqrt d_eff (see longest)
	centre                   *centring  // nil if the second moment is about 0
	narrow                   *narrowing // nil if radii do not fall
	density                  *density   // nil if the mean curvature at kinks is not released
}

// Plan implements [optimize.Algorithm]. It returns an error if the method cannot solve p (see Serves).
func (c Preconditioned) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), c.Serves(p)); err != nil {
		return nil, err
	}
	rare := 0.
	if counted(p) && c.ClipScale == 0 {
		_, rare = clipsOfCounts(p)
	}
	reach := 0.
	if c.ClipScale == 0 && p.Explained && !p.Real && !p.Smoothing.On() && p.Beside == 0 {
		reach = levelReach * p.Effective() * math.Sqrt(float64(p.Shape.Margins)/p.Records)
	}
	c, err := c.rule(p)
	if err != nil {
		return nil, err
	}
	full := p.DataSmoothness()
	p = p.AtBase()
	if !guarded(p, full) {
		c.StepScale *= p.DataSmoothness() / full // the step is h/b for the bound b
	}
	T := float64(c.Steps)
	plan := &preconditionedPlan{every: (c.Steps + squares - 1) / squares, kappa: c.ClipScale, rare: rare, reach: reach,
		longest: longest(p), bound: full}
	asked := math.Ceil(T / float64(plan.every))
	plan.moment = p.Charge() * c.MomentShare
	plan.centre = newCentring(p, &plan.moment)
	steps := p.Charge() * (1 - c.MomentShare)
	if charge := curvatureShare * steps; seesCurvature(p, charge) {
		plan.curvature = charge
		steps -= charge
	}
	plan.density = newDensity(p, &steps)
	if seesClip(p) {
		plan.beyond = clipSeenShare * steps
		steps -= plan.beyond
	}
	plan.gradient = steps * (1 - c.ClipShare) / T
	plan.square = steps * c.ClipShare / asked
	if plan.narrow, err = newNarrowing(p, c.StepScale, T, &plan.gradient); err != nil {
		return nil, err
	}
	law := optimize.UpdateRule{Importance: slices.Repeat([]float64{plan.gradient}, c.Steps), Momentum: momentum}
	edge := plan.expectedEdge(p)
	plan.foresee(&law, p, ridgeOf(p, edge), plan.effective(p, ridgeOf(p, edge)))
	words, first := "", c.StepScale/p.DataSmoothness()
	if plan.narrow != nil {
		if _, law.StepSizes, err = plan.narrow.fall(p, c.Steps, widest(p), edge); err != nil {
			return nil, err
		}
		law.Momentum = func(t int) float64 { return min(momentum(t), mostMomentum) }
		words, first = fmt.Sprintf(", %.3g to finding the radius to start at", (1-c.MomentShare)*(1-c.ClipShare)*lookShare),
			law.StepSizes[0]
		asked += looks
	}
	if plan.density != nil {
		words += fmt.Sprintf(", up to %.3g to the curvature at the result", plan.density.charge/p.Charge())
	}
	// The second moment, and the norms of rows in the metric.
	passes, pairs := 1+T+asked+plan.centre.passes(), 2.
	if Diagonal(p) {
		passes, pairs = passes+1, 0
	}
	if plan.density != nil {
		passes += float64(2 * len(halfWidths))
	}
	work := plan.workload(p).Count(query.MetricGradient, T, 1).Count(query.SquaredSlope, asked, 1)
	if plan.density != nil {
		work = work.Count(query.ValueChange, float64(2*len(halfWidths)), 1)
	}
	if plan.curvature > 0 {
		words, pairs = words+fmt.Sprintf(", %.3g to the curvature at the result", plan.curvature/p.Charge()), pairs+2
		work = work.Count(query.WeightedCurvature, 1, 1)
	}
	if plan.beyond > 0 {
		words, passes = words+fmt.Sprintf(", %.3g to what the clip holds back", plan.beyond/p.Charge()), passes+2
		work = work.Count(query.SquaredSlope, 2, 1)
	}
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "preconditioned",
			Citation:  "accelerated noisy gradient descent with a preconditioner learned privately",
			Steps:     c.Steps,
			StepSize:  first,
			Charges: fmt.Sprintf("%.3g of the budget to %s, %.3g to the clip's adaptation%s, the rest to the steps alike",
				c.MomentShare, momentName(p), (1-c.MomentShare)*c.ClipShare, words),
			Passes: passes, PairPasses: pairs,
		},
		Workload: work, UpdateRule: law, Output: c.Output.Or(optimize.TailAverage),
	})
	if err != nil {
		return nil, err
	}
	expected, err := plan.expected()
	if err != nil {
		return nil, err
	}
	plan.Expect(expected)
	return plan, nil
}

// Serves returns nil if Preconditioned can solve the problem, and otherwise an error with the reason.
func (Preconditioned) Serves(p optimize.Problem) error {
	switch {
	case !p.RankOne && p.Beside == 0:
		return errors.New("optimize: preconditioned: loss: must be that of a generalised linear model, or of ordered classes, " +
			"with one row a record")
	case p.Beside > 0 && Diagonal(p):
		return fmt.Errorf("optimize: preconditioned: %d features: must be at most %d for ordered classes", p.Dim()-p.Beside,
			query.MaxPairs-p.Beside)
	case p.Set != nil:
		return errors.New("optimize: preconditioned: a set of parameters: must be none, since points are projected on it " +
			"in the metric of space")
	case Diagonal(p) && together(p) > mostFilled:
		return fmt.Errorf("optimize: preconditioned: %d features, of which up to %d are not zero in a row: must be at "+
			"most %d, or at most %d that are not zero",
			p.Shape.Features, p.MostFilled(), query.MaxPairs, mostFilled)
	}
	return nil
}

// rule replaces settings that are zero by the default rule's values. It returns an error for settings
// out of range.
func (c Preconditioned) rule(p optimize.Problem) (Preconditioned, error) {
	N := p.Effective()
	err := cmp.Or(optimize.CheckSteps("preconditioned", c.Steps), optimize.Fill("preconditioned",
		optimize.Setting{Name: "moment share", Value: &c.MomentShare, Rule: .1, Below: 1},
		optimize.Setting{Name: "clip share", Value: &c.ClipShare, Rule: .01, Below: 1},
		optimize.Setting{Name: "clip scale", Value: &c.ClipScale, Rule: usualClip(p, N), Below: math.Inf(1)},
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: usualStep(p), Below: math.Inf(1)}))
	if err != nil {
		return c, err
	}
	if c.Steps == 0 && narrows(p) {
		c.Steps = narrowingSteps(p, c.MomentShare)
	}
	if c.Steps == 0 {
		condition := 2 * math.Sqrt(float64(p.Shape.Features)/c.MomentShare) * p.DataSmoothness() / p.Constants.Lipschitz
		least := float64(LeastPreconditioned)
		if p.Constants.Clipped {
			least = max(least, math.Ceil(leastClipped*min(1, math.Sqrt(N/manyClipped))))
		}
		enough, most := 4.2*math.Sqrt(condition)*moreSteps(p), 80.
		switch {
		case counted(p):
			enough, least = stepsOfCounts, LeastPreconditioned
		case begun(p):
			enough, most = max(enough, enoughAtBase(p)), mostAtBase
		}
		c.Steps = int(min(max(math.Ceil(scarcity(p)*enough), least), most))
	}
	return c, nil
}

// usualClip returns the default of kappa for the effective size N.
func usualClip(p optimize.Problem, N float64) float64 {
	if counted(p) {
		scale, _ := clipsOfCounts(p)
		return scale
	}
	growth := clipGrowth(p)
	return min(max(growth*math.Log10(N), 1.2), max(4, growth/.3))
}

// clipGrowth returns by how much the default kappa, the ratio of the clip norm to the root mean square
// gradient, grows for each factor ten of the effective size N: .6 or .9. With .6 errors were lower on every
// table, but the gradient norm of logistic regression was three times larger (lab/results/accuracy.md). The
// reason is that in logistic regression most clipped rows are of the rarer class, and their gradients point
// the same way. Smoothed losses were measured with .9 (lab/results/theorems.md). With two classes and rows of their own
// weights it is 1.4: rows with large weights are clipped most, and often of one class (lab/coverage/results.md).
func clipGrowth(p optimize.Problem) float64 {
	l0 := p.Constants.Lipschitz
	if p.Weighted && !p.Real && p.Shape.Margins == 1 {
		return 1.4
	}
	if p.Shape.Margins > 1 || !p.Smoothing.On() && p.DataSmoothness()*p.Constants.InitialGap > 2*l0*l0 {
		return .6
	}
	return .9
}

// edgeOf returns the largest eigenvalue (edge) of the noise in a released second moment. sigma is the
// standard deviation of the noise in a diagonal entry.
func edgeOf(p optimize.Problem, sigma float64) float64 {
	return sigma * math.Sqrt(2*float64(p.Shape.Features))
}

// ridgeOf returns the ridge lambda of the preconditioner: the largest eigenvalue (edge) of the second
// moment's noise, plus the regularizer's smoothness divided by the curvature bound b.
func ridgeOf(p optimize.Problem, edge float64) float64 {
	return edge + p.Penalty().Smoothness()/p.DataSmoothness()
}

// effective returns the effective dimension d_eff that forecasts assume for a ridge of the
// preconditioner.
func (*preconditionedPlan) effective(p optimize.Problem, ridge float64) float64 {
	return vector.Sum(forecast.Assumed(p), func(e forecast.Direction) float64 {
		g := float64(p.Shape.Margins) * e.Eigenvalue / p.DataSmoothness()
		return e.Share * float64(p.Shape.Features) * g / (g + ridge)
	})
}

// foresee sets the metric of a law, and the noise of its answers, for forecasts: it assumes the given
// ridge of the preconditioner, the given effective dimension d_eff and slopes of the usual size.
func (g *preconditionedPlan) foresee(law *optimize.UpdateRule, p optimize.Problem, ridge, effective float64) {
	l0 := usualSlope(p)
	noise := p.Neighbours() * g.clip(l0, effective, ridge, usualRoot*l0*l0*effective) / p.Records
	law.Metric = metricOf(p, ridge)
	law.Answer = optimize.Fresh(func(int) float64 { return noise * noise / g.gradient })
}

// clip returns the clip norm kappa sqrt(square), where square is the moving average of the released mean
// squares of gradient norms, but at least leastRoot l0^2 times effective. No gradient multiplied by the
// preconditioner is longer than l0/sqrt(ridge), so the clip norm is at most l0/sqrt(ridge). For counts it is at least
// rare times the mean square slope (see clipsOfCounts).
func (g *preconditionedPlan) clip(l0, effective, ridge, square float64) float64 {
	square = max(square, leastRoot*l0*l0*effective)
	return min(max(g.kappa*math.Sqrt(square), g.rare*square/math.Sqrt(effective), g.longest*l0*math.Sqrt(effective)),
		g.Problem().Constants.Lipschitz/math.Sqrt(ridge))
}

// Run releases the second moment of the rows, computes the preconditioner from this release and makes the
// steps of the plan with the preconditioner.
func (g *preconditionedPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result,
	error) {
	p := g.Problem()
	l0 := p.Constants.Lipschitz
	run := g.Begin(ctx, o, observe)
	released, err := g.release(run)
	if err != nil {
		return run.Result(), run.Failed(err)
	}
	edge := g.least(released.edge, released.effective, func(p optimize.Problem, law optimize.UpdateRule) float64 {
		return forecast.ReleasedExcess(p, released.seen, released.edge, law)
	})
	ridge := ridgeOf(p, edge)
	metric, err := released.metric(ridge)
	if err != nil {
		return run.Result(), run.Failed(err)
	}
	run.In(metric, released.record(ridge))
	// If the release is mostly noise, it may have no eigenvalue above zero, and d_eff would be 0. d_eff
	// is at least leastCount, since queries reject a clip norm of 0.
	effective := max(released.effective(ridge), leastCount)
	slope := usualSlope(p)
	clip := firstClip * slope * math.Sqrt(min(effective, 1/ridge))
	most := slope * slope * min(limit*effective, 1/ridge)
	smoothing := func(int) query.Smoothing { return p.Smoothing }
	if g.narrow != nil {
		if smoothing, err = g.narrow.begin(run, metric, p, g.Summary().Steps, edge, most); err != nil {
			return run.Result(), run.Failed(err)
		}
	}
	long := g.long(released, effective)
	var sum, weight, last float64
	half := g.secondHalf()
	var held *guard
	if guarded(p, g.bound) {
		run.StepSizes = make([]float64, g.Summary().Steps)
		held = &guard{curvature: 1 / g.Summary().StepSize, most: g.bound}
	}
	result, err := run.Steps(func(t int) error {
		run.Extrapolate(t)
		last = clip
		answer, err := run.Ask(g.gradient, query.GradientInMetric(run.All(), run.W, clip, l0, metric).Smoothed(smoothing(t)))
		if err != nil {
			return err
		}
		if t%g.every == 0 {
			square, err := run.Ask(g.square, query.SquaredSlopeAt(run.All(), run.W, most, metric).Smoothed(smoothing(t)))
			if err != nil {
				return err
			}
			sum, weight = forgetting*sum+square.Mean[0], forgetting*weight+1
			affordable := g.reach * math.Sqrt(max(sum/weight, 0))
			clip = min(max(g.clip(slope, effective, ridge, sum/weight), min(long, affordable)), l0/math.Sqrt(ridge))
			run.Slope(math.Sqrt(max(sum/weight, 0) / effective))
		}
		half.add(t, run.Regularized(answer.Mean), answer.Sigma)
		if held != nil {
			run.StepSizes[t] = held.next(released.turned(run.W, ridge), released.along(run.Regularized(answer.Mean)),
				answer.Sigma)
		}
		run.Descend(run.Estimate(answer), optimize.Use{Weight: g.gradient})
		return nil
	})
	if err != nil {
		return result, err
	}
	result.Trace.Moment.Clip = last
	if g.beyond > 0 {
		if result.Trace, err = g.seeClip(run, result, metric, last, l0*l0/ridge); err != nil {
			return result, run.Failed(err)
		}
	}
	if g.curvature > 0 {
		reach := math.Sqrt(min(mostLong*effective, 1/ridge))
		answer, err := run.Ask(g.curvature, query.WeightedCurvatureAt(run.All(), result.W, g.bound, reach, metric))
		if err != nil {
			return result, run.Failed(err)
		}
		matrix, dim, err := query.Symmetric(answer.Mean)
		if err != nil {
			return result, run.Failed(err)
		}
		result.Trace = result.Trace.WithCurvature(optimize.NewMoment(matrix, dim, answer.Sigma, 0))
	}
	if g.density != nil {
		if err := g.density.see(run, p, &result, released.intercept()); err != nil {
			return result, run.Failed(err)
		}
	}
	law := g.realised(result.Trace, ridge)
	if g.narrow != nil {
		if p, law, err = usual(p, law, ridge); err != nil {
			return result, err
		}
	}
	if released.diagonal {
		return result, nil // mean squares of features do not determine the curvature
	}
	noise := forecast.Released(p, released.seen, released.edge, law)
	result.Rows = released.rows()
	near, there := p.AtBase(), law
	there.Metric = metricOf(near, ridge)
	result.Excess = forecast.ReleasedExcess(near, released.seen, released.edge, there)
	result.Foreseen = math.Sqrt(noise*noise + half.seen(released.spectrum, ridge))
	return result, nil
}

// curvatureShare is the share of the steps' charges that pays for the curvature at the result. mostLong is the squared
// length in the metric, over d_eff, above which a row has a weight below 1 in it. mostHidden is the largest noise in the
// mean curvature, over its bound, with which it is released, and mostSeen the largest number of features: certificates keep
// no matrix of more.
const curvatureShare, mostLong, mostHidden, mostSeen = .03, 4, .1, 300

// seesCurvature reports whether the curvature at the result is released for the given charge. It is for losses whose
// second derivative jumps, such as Huber's: the rows with a large residual have none, and neither the slopes nor the rows
// tell which they are. It is also for rows with weights or exposures, of which the mean is not released. The noise of the
// weights follows from it.
func seesCurvature(p optimize.Problem, charge float64) bool {
	k := p.Constants
	jumps := p.Real && !k.Clipped && math.IsInf(k.HessianLipschitz, 1) && k.Curvature.Hi <= 1
	if !p.Explained || !jumps && !p.Weighted || !p.RankOne || p.Shape.Margins > 1 || p.Kinked != nil || p.Smoothing.On() ||
		k.Curvature.Lo < 0 || math.IsInf(k.Curvature.Hi, 0) || Diagonal(p) || p.Shape.Features > mostSeen {
		return false
	}
	moves := query.WeightedCurvature.Facts().Moves(p.Relation)
	return moves*mostLong*math.Sqrt(float64(p.Shape.Features)) <= mostHidden*p.Records*math.Sqrt(charge)
}

// clipSeenShare is the share of the steps' charges that pays for what the clip holds back at the result: the mean of
// min(||g||^2, beyondClip C^2) less that of min(||g||^2, C^2), over C^2, for the gradient g of a record in the metric and
// the last clip norm C. With more, noise hides less, and with a larger beyondClip far gradients count more.
const clipSeenShare, beyondClip = .03, 3

// seesClip reports whether the run releases what the clip holds back. It is for numbers with one margin, whose records
// may pull the same way beyond the clip, so that coefficients are off by more than their noise. With an effective size
// below that of a moment about 0, noise was larger than such a bias on every table.
func seesClip(p optimize.Problem) bool {
	return p.Explained && p.Real && p.RankOne && p.Shape.Margins == 1 && p.Kinked == nil && !p.Smoothing.On() &&
		!math.IsInf(p.Constants.Curvature.Hi, 0) && !Diagonal(p) && !counted(p) && p.Effective() >= mostCentred
}

// seeClip releases what the clip norm holds back at the result and returns the trace with it. No gradient has a squared
// norm above most. Each answer is charged in proportion to its limit, so that the noise of their difference is least.
func (g *preconditionedPlan) seeClip(run *optimize.Run, r optimize.Result, metric query.Metric, clip, most float64) (
	optimize.Trace, error) {
	inner := clip * clip
	outer := min(beyondClip*inner, most)
	if !(outer > inner) {
		return r.Trace, nil // nothing is clipped
	}
	share := outer / (outer + inner)
	far, err := run.Ask(g.beyond*share, query.SquaredSlopeAt(run.All(), r.W, outer, metric))
	if err != nil {
		return r.Trace, err
	}
	near, err := run.Ask(g.beyond*(1-share), query.SquaredSlopeAt(run.All(), r.W, inner, metric))
	if err != nil {
		return r.Trace, err
	}
	return r.Trace.WithClipped((far.Mean[0]-near.Mean[0])/inner, math.Hypot(far.Sigma, near.Sigma)/inner), nil
}

// secondHalf sums the released gradients of the second half of a run. The result of the run is the average
// of the iterates of this half. The method seen computes from the sum whether the mean gradient is longer
// than a mean of noise alone. If it is longer, the run has not converged.
type secondHalf struct {
	from int
	vector.Mean
	variance float64 // noise variance of each coordinate of the sum
}

func (g *preconditionedPlan) secondHalf() *secondHalf {
	return &secondHalf{from: g.Summary().Steps / 2}
}

func (l *secondHalf) add(t int, g []float64, sigma float64) {
	if t < l.from {
		return
	}
	l.Add(1, g)
	l.variance += sigma * sigma
}

// seen returns the squared norm of the mean gradient, transformed back from the preconditioner, minus the
// mean squared norm of the noise in it. It returns 0 if the difference is negative. A positive difference
// comes from directions along which the run has not converged. Once all directions have converged, the
// iterates follow the noise, and the mean gradient is shorter than its noise alone would be.
func (l *secondHalf) seen(s *spectrum, ridge float64) float64 {
	square, noise := s.outside(l.Sum, ridge)
	return max(square-noise*l.variance, 0) / (l.Weight * l.Weight)
}

// realised returns the plan's update rule with the preconditioner for the given ridge, and with the noise and
// step sizes that a run actually had.
func (g *preconditionedPlan) realised(had optimize.Trace, ridge float64) optimize.UpdateRule {
	law, p := g.UpdateRule(), g.Problem()
	law.StepSizes, law.Metric = had.StepSizes, metricOf(p, ridge)
	law.Answer = optimize.Fresh(func(t int) float64 { return had.Noise[t] * had.Noise[t] })
	return law
}

// metricOf returns the preconditioner that forecasts assume, as a function of an eigenvalue of the
// Hessian (see optimize.UpdateRule.Metric). With K margins, K directions of the parameters belong to each
// direction of the rows, and each has 1/K of the curvature.
func metricOf(p optimize.Problem, ridge float64) func(eigenvalue float64) float64 {
	most := p.DataSmoothness() / float64(p.Shape.Margins)
	return func(eigenvalue float64) float64 { return 1 / (eigenvalue/most + ridge) }
}
