package firstorder

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Preconditioned configures accelerated noisy gradient descent in a released metric,
// for generalised linear models. It is ours.
//
//	Gt = mean_i x_i x_i' + noise, released once;   P = (Gt_+ + lambda I)^(-1/2)
//	y_t = w_t + t/(t+3) (w_t - w_{t-1})
//	g_t = mean_i clip(P grad f(y_t; x_i), C_t) + noise + P grad reg(y_t)
//	w_{t+1} = y_t - eta P g_t
//
// Records are clipped where their gradients have become alike, in the metric, and so
// the noise is that of about as many dimensions as the rows have directions
// (d_eff = tr Gt_+ (Gt_+ + lambda I)^(-1)), not of d: it goes below the floor r of
// methods that know nothing of the rows. In the metric every direction that the noise
// does not hide has about the same curvature, so that tens of steps do.
//
// Of a loss of K margins the parameters are K rows, and x_i x_i' stands for the metric
// of each: gradients are slopes times x_i, and P is applied to every margin's. What d
// counts below is features.
//
// lambda is the edge of the noise's own spectrum, sigma sqrt(2d) for a symmetric
// matrix whose diagonal has noise sigma; then G <= Gt_+ + lambda I, so that P G P <= I
// and a step of 1/b, b bounding phi's second derivative, is stable on every table: no spectrum is
// assumed. A public regularizer of smoothness s adds s/b to lambda, and the bound
// holds with it.
//
// Where N is from 50 to 1000 Gt is put together from the mean row and the second moment
// about it, whose noise is less, and then P G P <= (4/3) I where no row is shortened, which
// is stable still; below
// 1000 lambda is no less than what a direction can gain (see centring and worth). Losses
// whose Lipschitz constant is a clip, smoothed losses and losses of several margins do
// without.
//
// The clip is found on the way. Every Every-th step also releases
// v = mean_i min(||P grad f(y_t; x_i)||^2, B^2), and C follows kappa times the root of
// its moving average: a little above the root mean square, most records keep their
// gradients.
//
// Of a smoothed loss with a real target radii fall from wide to narrow (see narrowing):
// steps are those of each radius, momentum is at most .9, and .02 of the steps' charges
// go to seven mean squares at the start that say how wide to begin.
//
// Guarantee: mu-GDP whatever the constants, by the filter's adaptive composition:
// charges are fixed in the plan, and only the metric and the clips depend on earlier
// releases. A rate is not proved.
//
// The zero Preconditioned is the default rule. A field that is set overrides it.
type Preconditioned struct {
	// Steps is T. Zero: 4.2 min(1, sqrt(N/50)) sqrt(2 sqrt(d/s) b/L0) rounded up, s
	// being MomentShare, between 8 and 80: momentum takes the root of the condition
	// number in the metric, and with few records more steps add noise before they add
	// anything else. Where the loss has a clip for its Lipschitz constant, 48 min(1,
	// sqrt(N/500)) at least: b is then the curvature of the clip, and that of most records is
	// far below. Where radii fall from r_0 = sqrt(d+2) to r: min(1, sqrt(N/50))
	// sqrt(.8 sqrt(d/s)) (4.2 + 3 ln(r_0/r)) rounded up, between 8 and 200.
	Steps int `yaml:"steps"`
	// MomentShare is the second moment's share of the budget. Zero means .1: a larger
	// share sees directions in which rows vary less, and its lower lambda saves steps.
	MomentShare float64 `yaml:"moment_share"`
	// ClipShare is the share of each step's charge that the clip's adaptation has.
	// Zero means .01: a number has the noise of a single coordinate.
	ClipShare float64 `yaml:"clip_share"`
	// ClipScale is kappa in C = kappa sqrt(mean square). Zero: .9 log10 N, or .6 log10 N
	// for several margins and for slopes that are at their bound nearly everywhere
	// (b F0 > 2 L0^2), between 1.2 and 4. Where noise is low the bias of a clip that cuts
	// is what is left, and it is less where the rows that are cut pull apart.
	ClipScale float64 `yaml:"clip_scale"`
	// StepScale is h in eta = h/b. Zero means 1, the most that is stable whatever the
	// table.
	StepScale float64 `yaml:"step_scale"`
	// Output is the rule that picks the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// LeastPreconditioned is the least number of steps of Preconditioned's rule.
const LeastPreconditioned = 8

// leastClipped is that number for losses whose Lipschitz constant is a clip, from an N of
// manyClipped on (results/outcome.md).
const leastClipped, manyClipped = 48, 500

// Figures of the rule that no table was found to be sensitive to.
const (
	firstClip  = .7  // C_0 over what bounds the root mean square: slopes are below L0
	forgetting = .7  // of the mean square, from one release of it to the next
	leastRoot  = .02 // of L0^2 d_eff, below which a released mean square is noise
	limit      = 2   // B^2 in L0^2 d_eff, its mean if every slope is L0: few are cut
	squares    = 12  // about how many mean squares are released in a run
	usualRoot  = .15 // of L0^2 d_eff, what forecasts take the mean square for
	leastCount = .5  // of d_eff: a direction that varies by lambda, which the noise may hide
)

// preconditionedPlan is a settled Preconditioned.
type preconditionedPlan struct {
	optimize.Settled
	moment, gradient, square float64 // charges
	every                    int
	kappa                    float64
	centre                   *centring  // nil where the second moment is about 0
	narrow                   *narrowing // nil where radii do not fall
}

// Plan settles Preconditioned for a problem.
func (c Preconditioned) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := c.Serves(p); err != nil {
		return nil, err
	}
	c, err := c.rule(p)
	if err != nil {
		return nil, err
	}
	T := float64(c.Steps)
	plan := &preconditionedPlan{every: (c.Steps + squares - 1) / squares, kappa: c.ClipScale}
	asked := math.Ceil(T / float64(plan.every))
	plan.moment = p.Charge() * c.MomentShare
	plan.centre = newCentring(p, &plan.moment)
	plan.gradient = p.Charge() * (1 - c.MomentShare) * (1 - c.ClipShare) / T
	plan.square = p.Charge() * (1 - c.MomentShare) * c.ClipShare / asked
	if plan.narrow, err = newNarrowing(p, c.StepScale, T, &plan.gradient); err != nil {
		return nil, err
	}
	law := optimize.Law{Importance: make([]float64, c.Steps), Momentum: momentum}
	for t := range law.Importance {
		law.Importance[t] = plan.gradient
	}
	edge := plan.expectedEdge(p)
	plan.foresee(&law, p, ridgeOf(p, edge), plan.effective(p, ridgeOf(p, edge)))
	words, first := "", c.StepScale/p.DataSmoothness()
	if plan.narrow != nil {
		if _, law.StepSizes, err = plan.narrow.fall(p, c.Steps, widest(p), edge); err != nil {
			return nil, err
		}
		law.Momentum = func(t int) float64 { return min(momentum(t), mostMomentum) }
		words, first = fmt.Sprintf(", %.3g to finding the radius to start at", (1-c.MomentShare)*(1-c.ClipShare)*lookShare), law.StepSizes[0]
		asked += looks
	}
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "preconditioned",
			Citation:  "accelerated noisy gradient descent in a released metric",
			Steps:     c.Steps,
			StepSize:  first,
			Charges: fmt.Sprintf("%.3g of the budget to the second moment of the rows, %.3g to the clip's adaptation%s, the rest to the steps alike",
				c.MomentShare, (1-c.MomentShare)*c.ClipShare, words),
			Passes: 1 + T + asked + plan.centre.passes(), PairPasses: 2, // the second moment, and measuring rows in the metric
		},
		Law: law, Output: c.Output.Or(optimize.TailAverage),
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

// Serves says whether the algorithm serves the problem, and why it does not.
func (Preconditioned) Serves(p optimize.Problem) error {
	switch {
	case !p.RankOne:
		return errors.New("optimize: preconditioned: loss: must be that of a generalised linear model")
	case p.Set != nil:
		return errors.New("optimize: preconditioned: a set of parameters: must be none, since points are projected on it in the metric of space")
	case p.Shape.Features > query.MaxPairs:
		return fmt.Errorf("optimize: preconditioned: %d features: must be at most %d, of whose pairs there is a sum each", p.Shape.Features, query.MaxPairs)
	}
	return nil
}

// rule fills in what is left zero, and checks what is not.
func (c Preconditioned) rule(p optimize.Problem) (Preconditioned, error) {
	if err := optimize.CheckSteps("preconditioned", c.Steps); err != nil {
		return c, err
	}
	N := p.Effective()
	for _, f := range []struct {
		name       string
		value      *float64
		rule, most float64
	}{
		{"moment share", &c.MomentShare, .1, 1},
		{"clip share", &c.ClipShare, .01, 1},
		{"clip scale", &c.ClipScale, min(max(clipGrowth(p)*math.Log10(N), 1.2), 4), math.Inf(1)},
		{"step scale", &c.StepScale, 1, math.Inf(1)},
	} {
		if *f.value == 0 {
			*f.value = f.rule
		}
		if !(*f.value > 0 && *f.value < f.most) {
			return c, fmt.Errorf("optimize: preconditioned: %s = %v: must be > 0 and < %v, or 0 for the rule's", f.name, *f.value, f.most)
		}
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
		c.Steps = int(min(max(math.Ceil(4.2*min(1, math.Sqrt(N/50))*math.Sqrt(condition)), least), 80))
	}
	return c, nil
}

// clipGrowth is by how much kappa grows with each power of ten of N. The smaller one was
// better in the errors on every table, but of logistic regression it makes the gradient
// three times longer (results/metric.md): there, rows that are cut are mostly the rarer
// class's, and pull one way. Smoothed losses were measured with the larger one
// (results/nonsmooth.md).
func clipGrowth(p optimize.Problem) float64 {
	l0 := p.Constants.Lipschitz
	if p.Shape.Margins > 1 || !p.Smoothing.On() && p.DataSmoothness()*p.Constants.InitialGap > 2*l0*l0 {
		return .6
	}
	return .9
}

// edgeOf is where the spectrum of the noise in a second moment ends.
func edgeOf(p optimize.Problem, sigma float64) float64 {
	return sigma * math.Sqrt(2*float64(p.Shape.Features))
}

// ridgeOf is lambda: that edge, and more for a regularizer.
func ridgeOf(p optimize.Problem, edge float64) float64 {
	if p.Regularizer != nil {
		edge += p.Regularizer.Smoothness() / p.DataSmoothness()
	}
	return edge
}

// effective is the d_eff that forecasts assume.
func (*preconditionedPlan) effective(p optimize.Problem, ridge float64) float64 {
	var sum float64
	for _, e := range forecast.Assumed(p) {
		g := float64(p.Shape.Margins) * e.Eigenvalue / p.DataSmoothness()
		sum += e.Share * float64(p.Shape.Features) * g / (g + ridge)
	}
	return sum
}

// foresee sets the metric of a law, and the noise of its answers, to those of a ridge with so
// many effective directions, where slopes are as usual.
func (g *preconditionedPlan) foresee(law *optimize.Law, p optimize.Problem, ridge, effective float64) {
	l0 := p.Constants.Lipschitz
	noise := p.Neighbours() * g.clip(l0, effective, ridge, usualRoot*l0*l0*effective) / p.Records
	law.Metric = metricOf(p, ridge)
	law.Answer = func(int, float64, float64) (float64, optimize.Variance) {
		return 1, optimize.Variance{Noise: noise * noise / g.gradient}
	}
}

// clip is C after a mean square: no gradient is longer in the metric than
// L0/sqrt(lambda).
func (g *preconditionedPlan) clip(l0, effective, ridge, square float64) float64 {
	return min(g.kappa*math.Sqrt(max(square, leastRoot*l0*l0*effective)), l0/math.Sqrt(ridge))
}

// Run carries the plan out.
func (g *preconditionedPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	p := g.Problem()
	l0 := p.Constants.Lipschitz
	run := g.Begin(ctx, o, observe)
	released, err := g.release(run)
	if err != nil {
		return run.Result(), run.Failed(err)
	}
	edge := g.least(released.edge, released.effective, func(p optimize.Problem, law optimize.Law) float64 {
		return forecast.ReleasedExcess(p, released.seen, released.edge, law)
	})
	ridge := ridgeOf(p, edge)
	metric, err := released.metric(ridge)
	if err != nil {
		return run.Result(), run.Failed(err)
	}
	run.In(metric)
	moment := released.record(ridge)
	run.Saw(moment)
	// A release without an eigenvalue above zero, of noise alone, must not lead to
	// clips of 0, which no question takes.
	effective := max(released.effective(ridge), leastCount)
	clip := firstClip * l0 * math.Sqrt(min(effective, 1/ridge))
	most := l0 * l0 * min(limit*effective, 1/ridge)
	smoothing := func(int) query.Smoothing { return p.Smoothing }
	if g.narrow != nil {
		if smoothing, err = g.narrow.begin(run, metric, p, g.Summary().Steps, edge, most); err != nil {
			return run.Result(), run.Failed(err)
		}
	}
	var sum, weight float64
	late := g.late()
	result, err := run.Steps(func(t int) error {
		run.Extrapolate(t)
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
			clip = g.clip(l0, effective, ridge, sum/weight)
			moment.Slope = math.Sqrt(max(sum/weight, 0) / effective)
		}
		late.add(t, run.Regularized(answer.Mean), answer.Sigma)
		run.Descend(run.Estimate(answer), optimize.Use{Weight: g.gradient})
		return nil
	})
	if err != nil {
		return result, err
	}
	law := g.realised(result.Law, ridge)
	if g.narrow != nil {
		if p, law, err = usual(p, law, ridge); err != nil {
			return result, err
		}
	}
	noise := forecast.Released(p, released.seen, released.edge, law)
	result.Foreseen = math.Sqrt(noise*noise + late.seen(released.spectrum, ridge))
	return result, nil
}

// late is the mean of the answers in the second half of a run, over which results are
// averaged.
type late struct {
	from     int
	sum      []float64
	variance float64 // of a coordinate of the sum
	count    float64
}

func (g *preconditionedPlan) late() *late { return &late{from: g.Summary().Steps / 2} }

func (l *late) add(t int, g []float64, sigma float64) {
	if t < l.from {
		return
	}
	if l.sum == nil {
		l.sum = make([]float64, len(g))
	}
	for j, v := range g {
		l.sum[j] += v
	}
	l.variance += sigma * sigma
	l.count++
}

// seen is by how much the mean, out of the metric, is longer than noise makes it, in
// squares: the gradient along directions that have not converged. Where they have, it is
// noise that makes the gradient, and the mean shows less than that.
func (l *late) seen(s *spectrum, ridge float64) float64 {
	square, noise := s.outside(l.sum, ridge)
	return max(square-noise*l.variance, 0) / (l.count * l.count)
}

// realised is the law with the ridge and the noise that a run had.
func (g *preconditionedPlan) realised(had optimize.Realised, ridge float64) optimize.Law {
	law, p := g.Law(), g.Problem()
	law.StepSizes, law.Metric = had.StepSizes, metricOf(p, ridge)
	law.Answer = func(t int, _, _ float64) (float64, optimize.Variance) {
		return 1, optimize.Variance{Noise: had.Noise[t] * had.Noise[t]}
	}
	return law
}

// metricOf is what forecasts take the metric for, by eigenvalues of the Hessian: of K
// margins, K directions share what the rows vary by in one.
func metricOf(p optimize.Problem, ridge float64) func(eigenvalue float64) float64 {
	most := p.DataSmoothness() / float64(p.Shape.Margins)
	return func(eigenvalue float64) float64 { return 1 / (eigenvalue/most + ridge) }
}
