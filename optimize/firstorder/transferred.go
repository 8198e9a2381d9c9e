package firstorder

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Transferred is [Preconditioned] with a second moment of the rows that earlier releases determine, in place of a
// released one. All of the budget goes to steps, and the noise does not grow with the number of entries of the moment.
//
//	P = (S + lambda I)^(-1/2),   S the given moment
//	c = mean_i phi''(w_0; x_i)/b + noise,   s^2 = mean_i phi'(w_0; x_i)^2 + noise,   F = mean_i f(w_0; x_i) + noise
//	y_t = w_t + min(t/(t+3), .8) (w_t - w_{t-1})
//	w_{t+1} = y_t - h/(c b) P g_t,   g_t as in Preconditioned, for numbers with .6 of its kappa
//	result: the mean of the w_{t+1} of the second half of the steps
//
// # The ridge
//
// The rows' mean curvature is about c b S. Along an eigenvector of S with eigenvalue g, the steps then are a linear
// recursion that depends on k = g/(g + lambda) alone: of the way to the minimum they leave a share B(k), and they
// raise the variance of their noise to V(k) times that of one step. lambda is the smallest number, of at least .02
// of a bound, for which the forecast loss from noise and from the choice of the records,
//
//	c b/2 ((h/(c b))^2 sigma^2 sum k V(k)) + s^2/(2 n c b) sum (1 - B(k))^2,
//
// is a small share of F. sigma is the deviation of the noise in a coordinate of a step.
//
// # Safe steps
//
// S is not the second moment of the rows, and no bound on the top eigenvalue of the mean curvature in the metric is
// known: it was 3 to 7 times c b on real tables, where a step is stable up to 1.38/h times. So the run asks. After
// half of the steps, and after the last one, it releases the mean change of the loss since the start, clipped. If
// the loss has risen after the first half, the run goes back to the start and goes on with a third of the step
// size. If it has risen at the end, the result is the start. Both depend on released numbers alone.
type Transferred struct {
	Preconditioned
	// Moment is the second moment S of the rows, row by row; nil while it is not known, for plans.
	Moment []float64
	// Intercept is the value of the last feature, which is the same in every row.
	Intercept float64
}

// Constants of Transferred (lab/results/accuracy.md).
const (
	transferredStep     = .15 // h
	transferredMomentum = .8  // most momentum
	atStart             = .01 // share of the budget of c, s^2 and F: .3, .3 and .4 of it
	checkShare          = .01 // share of the budget of each of the two changes of the loss
	checkRange          = 2.  // ratio of the largest change of a record's loss to F: larger ones are clipped
	checkNoise          = 1.  // standard deviations by which the loss must have risen
	slower              = 3.
	lossRange           = 4.  // ratio of the largest loss that F counts to the initial gap
	transferredLimit    = 3.  // ratio of the limit of released mean squares to L0^2 d_eff
	leastMean           = .02 // ratio of the least c to 1, and of the least s^2 to L0^2
	leastRidge          = .02 // ratio of the least lambda to the bound
	clipOfReal          = .6  // ratio of the default kappa for numbers to that of Preconditioned
)

// shareOfLoss returns the share of the loss F that forecast noise may cost, and stepsOfTransferred the number of steps.
// For classes more steps raise the noise by more than they lower the loss.
func shareOfLoss(p optimize.Problem) float64 {
	if p.Real {
		return .016
	}
	return .006
}

func stepsOfTransferred(p optimize.Problem) int {
	if p.Real {
		return 40
	}
	return 10
}

// transferredPlan is the plan of a [Transferred] for one problem.
type transferredPlan struct {
	optimize.Settled
	of               Transferred
	gradient, square float64 // charges
	every            int
	kappa            float64
	step             float64 // h
}

// Plan returns the plan for the problem p.
func (c Transferred) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), c.Serves(p)); err != nil {
		return nil, err
	}
	d := p.Shape.Features
	switch {
	case p.Shape.Margins != 1:
		return nil, fmt.Errorf("optimize: transferred: %d margins: must be 1", p.Shape.Margins)
	case d > query.MaxPairs:
		return nil, fmt.Errorf("optimize: transferred: %d features: must be at most %d", d, query.MaxPairs)
	case c.Moment != nil && len(c.Moment) != d*d:
		return nil, fmt.Errorf("optimize: transferred: a moment of %d entries: must have %d", len(c.Moment), d*d)
	case !optimize.Positive(c.Intercept):
		return nil, fmt.Errorf("optimize: transferred: intercept = %v: must be finite and > 0", c.Intercept)
	}
	steps := cmp.Or(c.Steps, stepsOfTransferred(p))
	c.Preconditioned.Steps = steps
	if p.Real && c.ClipScale == 0 {
		c.ClipScale = clipOfReal * usualClip(p, p.Effective())
	}
	settings, err := c.rule(p)
	if err != nil {
		return nil, err
	}
	c.Preconditioned = settings
	g := &transferredPlan{of: c, every: (steps + squares - 1) / squares, kappa: c.ClipScale, step: transferredStep * c.StepScale}
	asked := math.Ceil(float64(steps) / float64(g.every))
	left := p.Charge() * (1 - atStart - 2*checkShare)
	g.gradient = left * (1 - c.ClipShare) / float64(steps)
	g.square = left * c.ClipShare / asked
	law := optimize.UpdateRule{Importance: slices.Repeat([]float64{g.gradient}, steps), Momentum: transferredMomentumAt}
	work := optimize.Workload{Metrics: 1, Smoothing: p.Smoothing}.Count(query.MetricGradient, float64(steps), 1).
		Count(query.SquaredSlope, asked+1, 1).Count(query.CurvatureAlong, 1, 1).Count(query.Value, 1, 1).
		Count(query.ValueChange, 2, 1)
	g.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "preconditioned",
			Citation:  "accelerated noisy gradient descent with a preconditioner learned privately",
			Steps:     steps,
			StepSize:  g.step / p.DataSmoothness(),
			Charges: fmt.Sprintf("%.3g of the budget to the curvature, the slopes and the loss at the start, %.3g to two "+
				"checks of the loss, %.3g to the clip's adaptation, the rest to the steps alike", atStart, 2*checkShare,
				(1-atStart-2*checkShare)*c.ClipShare),
			Passes: 6 + float64(steps) + asked,
		},
		Workload: work, UpdateRule: law, Output: optimize.TailAverage,
	})
	return g, err
}

func transferredMomentumAt(t int) float64 { return min(momentum(t), transferredMomentum) }

// start has the numbers that a run releases at its start.
type start struct{ curvature, sigma, slope, loss float64 }

func (g *transferredPlan) start(run *optimize.Run) (s start, err error) {
	p := g.Problem()
	d, one, l0, b := p.Shape.Features, g.of.Intercept, p.Constants.Lipschitz, p.DataSmoothness()
	charge := p.Charge() * atStart
	last := make([]float64, d)
	last[d-1] = 1
	lo, hi := p.Curvature()
	answer, err := run.Ask(.3*charge, query.CurvatureAlongAt(run.All(), run.W, last, lo*one*one, hi*one*one))
	if err != nil {
		return s, err
	}
	s.curvature, s.sigma = min(max(answer.Mean[0]/(one*one*b), leastMean), 1), answer.Sigma
	last[d-1] = 1 / one
	unit, err := query.NewDiagonal(last) // it gives every row the length 1
	if err != nil {
		return s, err
	}
	if answer, err = run.Ask(.3*charge, query.SquaredSlopeAt(run.All(), run.W, l0*l0, unit)); err != nil {
		return s, err
	}
	s.slope = l0 * math.Sqrt(min(max(answer.Mean[0]/(l0*l0), leastMean), 1))
	most := lossRange * p.Constants.InitialGap
	if answer, err = run.Ask(.4*charge, query.ValueAt(run.All(), run.W, most/2, most/2)); err != nil {
		return s, err
	}
	s.loss = min(max(answer.Mean[0], answer.Sigma, 1e-6*most), most)
	return s, nil
}

// filter has the shares B and V of the recursion (see Transferred) for steps of size h, for k on a grid from 0 to 1.
type filter struct{ left, noise []float64 }

const grid = 200

func newFilter(steps int, h float64, from int) filter {
	f := filter{make([]float64, grid+1), make([]float64, grid+1)}
	average := float64(steps - from)
	for i := range f.left {
		kh := h * gridAt(i)
		run := func(u, before float64, t int) (sum float64) {
			for ; t < steps; t++ {
				v := u + transferredMomentumAt(t)*(u-before)
				before, u = u, v-kh*v
				if t >= from {
					sum += u / average
				}
			}
			return sum
		}
		f.left[i] = run(1, 1, 0)
		for t := 1; t <= steps; t++ {
			r := run(1, 0, t) // of the noise in w_t
			if t > from {
				r += 1 / average
			}
			f.noise[i] += r * r
		}
	}
	return f
}

// gridAt returns the i-th k of the grid, which is finer near 0.
func gridAt(i int) float64 { x := float64(i) / grid; return x * x * x }

// at returns B and V at k.
func (f filter) at(k float64) (left, noise float64) {
	x := math.Cbrt(min(max(k, 0), 1)) * grid
	i := min(int(x), grid-1)
	w := (k - gridAt(i)) / (gridAt(i+1) - gridAt(i))
	return f.left[i] + w*(f.left[i+1]-f.left[i]), f.noise[i] + w*(f.noise[i+1]-f.noise[i])
}

// ridge returns lambda for the second moment S of the rows.
func (g *transferredPlan) ridge(rows *spectrum, s start) float64 {
	p := g.Problem()
	n, b, l0 := p.Records, p.DataSmoothness(), p.Constants.Lipschitz
	steps := g.Summary().Steps
	f := newFilter(steps, g.step, g.from())
	effective := func(lambda float64) float64 { return max(rows.effective(lambda), leastCount) }
	bound := worth(worthOver, p.Constants.InitialGap, func(lambda float64) float64 {
		noise := effective(lambda) * 1.5 * l0 * p.Neighbours() / n
		return usualRoot * noise * noise / (p.Charge() * b)
	})
	cost := func(lambda float64) float64 {
		var kv, sampling float64
		for _, v := range rows.values {
			k := max(v, 0) / (max(v, 0) + lambda)
			left, noise := f.at(k)
			kv += k * noise
			sampling += (1 - left) * (1 - left)
		}
		clip := g.kappa * s.slope * math.Sqrt(effective(lambda))
		sigma := p.Neighbours() * clip / n
		cb := s.curvature * b
		return (.5*g.step*g.step/cb*sigma*sigma/g.gradient*kv + s.slope*s.slope/(2*n*cb)*sampling) / s.loss
	}
	lambda := leastRidge * bound
	for range 80 {
		if cost(lambda) <= shareOfLoss(p) {
			break
		}
		lambda *= 1.12
	}
	return lambda
}

// from returns the first step whose point is in the average.
func (g *transferredPlan) from() int { return g.Summary().Steps / 2 }

// Run makes the steps of the plan.
func (g *transferredPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result,
	error) {
	p := g.Problem()
	run := g.Begin(ctx, o, observe)
	if g.of.Moment == nil {
		return run.Result(), run.Failed(fmt.Errorf("the second moment is not known"))
	}
	s, err := g.start(run)
	if err != nil {
		return run.Result(), run.Failed(err)
	}
	spectrum, err := newSpectrum(g.of.Moment, p.Shape.Features)
	if err != nil {
		return run.Result(), run.Failed(err)
	}
	ridge := ridgeOf(p, g.ridge(spectrum, s))
	metric, err := spectrum.metric(ridge)
	if err != nil {
		return run.Result(), run.Failed(err)
	}
	run.In(metric, &optimize.Moment{Features: p.Shape.Features, Ridge: ridge})
	w := append([]float64(nil), run.W...)
	m := &moving{plan: g, run: run, start: s, begin: w, w: w, before: w, eta: g.step / (s.curvature * p.DataSmoothness())}
	m.effective = max(spectrum.effective(ridge), leastCount)
	m.longest = 1 / math.Sqrt(ridge)
	result, err := run.Loop(func() error { return m.steps(metric) })
	if err != nil {
		return result, err
	}
	result = run.ResultAt(m.result(), true)
	m.law(&result.Trace)
	result.Trace = result.Trace.WithLevel(s.curvature*p.DataSmoothness()*g.of.Intercept*g.of.Intercept, s.sigma)
	return result, nil
}

// law leaves the steps in the trace on which the result depends, and adds their momentum and the weights of their points in
// it. The result is a mean of iterates, and a trace has weights of the points y_t = w_t + beta_t (w_t - w_{t-1}): w_t is
// (y_t + beta_t w_{t-1})/(1 + beta_t).
func (m *moving) law(l *optimize.Trace) {
	if m.back {
		m.since = len(l.Noise)
	}
	l.Noise, l.StepSizes, l.Back, l.Keep = l.Noise[m.since:], l.StepSizes[m.since:], nil, nil
	last := len(l.Noise)
	l.Weights, l.Momentum = make([]float64, last+1), make([]float64, last)
	rest := 0. // of the weights of the iterates, what later points leave to w_t
	for t := last; t >= 0; t-- {
		if t > 0 && t+m.since > m.plan.from() {
			rest += 1 / m.mean.Weight
		}
		beta := 0.
		if t < last {
			beta = transferredMomentumAt(t)
			l.Momentum[t] = beta
		}
		l.Weights[t] = rest / (1 + beta)
		rest -= l.Weights[t]
	}
}

// moving is a run of a [Transferred].
type moving struct {
	plan               *transferredPlan
	run                *optimize.Run
	start              start
	begin, w, before   []float64
	eta                float64
	effective, longest float64
	mean               vector.Mean
	since              int  // the first step since the run last was at its start
	back               bool // the loss has risen: the result is the start
}

func (m *moving) result() []float64 {
	if m.back {
		return m.begin
	}
	return m.mean.Or(m.begin)
}

// risen releases the mean change of the loss from the start to the point w, and reports whether it is above its noise.
func (m *moving) risen(w []float64) (bool, error) {
	p := m.plan.Problem()
	if slices.Equal(w, m.begin) {
		return false, nil
	}
	answer, err := m.run.Ask(p.Charge()*checkShare,
		query.ValueChangeWithin(m.run.All(), w, m.begin, 0, checkRange*m.start.loss))
	return err == nil && answer.Mean[0] > checkNoise*answer.Sigma, err
}

func (m *moving) steps(metric query.Metric) error {
	g, run := m.plan, m.run
	p := g.Problem()
	l0, steps := p.Constants.Lipschitz, g.Summary().Steps
	clip := firstClip * l0 * min(math.Sqrt(m.effective), m.longest)
	most := l0 * l0 * min(transferredLimit*m.effective, m.longest*m.longest)
	var sum, weight float64
	for t := range steps {
		beta := transferredMomentumAt(t - m.since)
		y := vector.Make(len(m.w), func(j int) float64 { return m.w[j] + beta*(m.w[j]-m.before[j]) })
		answer, err := run.Ask(g.gradient, query.GradientInMetric(run.All(), y, clip, l0, metric))
		if err != nil {
			return err
		}
		if t%g.every == 0 {
			square, err := run.Ask(g.square, query.SquaredSlopeAt(run.All(), y, most, metric))
			if err != nil {
				return err
			}
			sum, weight = forgetting*sum+square.Mean[0], forgetting*weight+1
			clip = min(g.kappa*math.Sqrt(max(sum/weight, leastRoot*l0*l0*m.effective)), l0*m.longest)
		}
		estimate := answer.Mean
		if p.Regularizer != nil {
			more := make([]float64, len(y))
			p.AddRegularizer(more, y)
			vector.Add(estimate, 1, metric.Times(more))
		}
		next := y
		optimize.Descend(next, metric.Times(estimate), m.eta)
		m.before, m.w = m.w, next
		if t >= g.from()/2 {
			m.mean.Add(1, next)
		}
		run.Reach(next, optimize.Norm(estimate), answer.Sigma, m.eta)
		if t+1 == g.from() {
			risen, err := m.risen(m.result())
			if err != nil {
				return err
			}
			if risen {
				m.eta /= slower
				m.before, m.w, m.since = m.begin, m.begin, t+1
			}
			m.mean = vector.Mean{}
		}
	}
	risen, err := m.risen(m.result())
	m.back = risen
	return err
}
