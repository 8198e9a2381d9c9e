package optimize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// SGD configures DP-SGD (Abadi et al. 2016) and DP-Adam with Poisson batches:
// what a user would otherwise pick.
//
//	g_t = sum over a Poisson sample of clip(grad f(w_t; x_i), L0) + noise, over the expected size
//	w_{t+1} = Proj(w_t - eta (g_t + grad reg(w_t)))         or Adam's step
//
// Guarantee: (epsilon, delta)-DP by the privacy-loss distributions of the
// subsampled Gaussian, exact for the schedule. Subsampling saves computation, not
// privacy: at equal budget and steps the noise is never below that of full
// batches, and far above it where batches are small and steps few
// (results/account.md). auto never picks it.
//
// Deviations from Abadi et al.: sums are divided by the declared expected size,
// never by the sample's; the tail average of the iterates is the default output.
//
// The zero SGD samples a tenth of the records, for as many steps as GD's rule.
type SGD struct {
	// Adam takes Adam's step (Kingma and Ba 2015: beta1 .9, beta2 .999) with
	// Rate as its step size; zero means .05.
	Adam bool
	Rate float64
	// Sampling is the probability of joining a batch. Zero means .1.
	Sampling float64
	// Steps is T; StepScale is h in eta = h/L1.
	Steps     int
	StepScale float64
	Output    Output
}

// SGDPlan is a settled SGD.
type SGDPlan struct {
	problem  Problem
	outline  Outline
	schedule *account.Schedule
	adam     bool
	rate     float64
	choice   choice
}

// Plan settles SGD for a problem, a size and a budget. The size's Mu is not
// used: the budget is composed by privacy-loss distributions.
func (c SGD) Plan(p Problem, s Size, b account.Budget) (*SGDPlan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	if c.Sampling == 0 {
		c.Sampling = .1
	}
	if c.Rate == 0 {
		c.Rate = .05
	}
	if c.StepScale == 0 {
		c.StepScale = p.defaultStepScale()
	}
	if c.Steps == 0 {
		c.Steps = c.rule(p, s)
	}
	switch {
	case !(c.Sampling > 0 && c.Sampling <= 1):
		return nil, fmt.Errorf("optimize: sgd: sampling = %v: must be > 0 and <= 1, or 0 for the rule's", c.Sampling)
	case !positive(c.Rate):
		return nil, fmt.Errorf("optimize: sgd: rate = %v: must be finite and > 0", c.Rate)
	case !positive(c.StepScale):
		return nil, fmt.Errorf("optimize: sgd: step scale = %v: must be finite and > 0", c.StepScale)
	case c.Steps < 1 || c.Steps > mostSteps:
		return nil, fmt.Errorf("optimize: sgd: steps = %d: must be between 0 (the rule's number) and %d", c.Steps, mostSteps)
	}
	choice, err := newChoice(c.Output, c.Steps)
	if err != nil {
		return nil, err
	}
	schedule, err := account.CalibrateSchedule(context.Background(), b, 0, account.SampledSteps{NoiseMultiplier: 1, Sampling: c.Sampling, Count: c.Steps})
	if err != nil {
		return nil, err
	}
	plan := &SGDPlan{problem: p, schedule: schedule, adam: c.Adam, rate: c.Rate, choice: choice}
	z, _ := schedule.Step(0)
	plan.outline = Outline{
		Algorithm: "dp-sgd",
		Citation:  "DP-SGD with Poisson batches (Abadi et al. 2016)",
		Steps:     c.Steps,
		StepSize:  p.stepSize(c.StepScale),
		Clip:      p.Constants.Lipschitz,
		Charges:   fmt.Sprintf("noise multiplier %.4g on Poisson batches of %.3g of the records", z, c.Sampling),
		Output:    choice.describe(),
		Effective: s.Effective(p),
		Floor:     s.Floor(p),
		Passes:    float64(c.Steps) * c.Sampling,
	}
	if c.Adam {
		plan.outline.Algorithm = "dp-adam"
		plan.outline.Citation = "Adam (Kingma and Ba 2015) on the gradients of DP-SGD"
		plan.outline.StepSize = c.Rate
	}
	plan.outline.expect(plan.predict(s, z, c.Sampling))
	return plan, nil
}

// rule is GD's rule for the number of steps.
func (c SGD) rule(p Problem, s Size) int {
	h := c.StepScale
	if h == 0 {
		h = p.defaultStepScale()
	}
	return stepCount(4 * p.initialGradient() * s.Effective(p) / (2 * p.Constants.Lipschitz * h))
}

// predict takes Adam for SGD. Sampling adds to the noise: records' gradients are
// taken to scatter by L0.
func (g *SGDPlan) predict(s Size, z, sampling float64) Forecast {
	p, eta := g.problem, g.outline.StepSize
	if g.adam {
		eta = p.stepSize(p.defaultStepScale())
	}
	alike := make([]float64, g.choice.steps)
	for t := range alike {
		alike[t] = 1
	}
	batch, l0 := sampling*s.Records, p.Constants.Lipschitz
	variance := math.Pow(z*l0/batch, 2) + (1-sampling)*l0*l0/(batch*float64(p.Dim))
	return p.forecast(eta, s.Records, g.choice.weights(alike), func(int, float64) (K, fresh float64) { return 1, variance })
}

// Outline describes the plan.
func (g *SGDPlan) Outline() Outline { return g.outline }

// Schedule returns the releases that the plan's oracle must have been opened
// with.
func (g *SGDPlan) Schedule() *account.Schedule { return g.schedule }

// Run carries the plan out. The oracle must be a SampledOracle.
func (g *SGDPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p, out := g.problem, g.choice.begin()
	w := p.start()
	sampler, ok := o.(SampledOracle)
	if !ok {
		return out.result(w), fmt.Errorf("optimize: %s: oracle must draw Poisson samples", g.outline.Algorithm)
	}
	adam := newAdam(p.Dim)
	for t := range g.choice.steps {
		batch, err := sampler.Sample()
		if err != nil {
			return out.result(w), stepError(g.outline.Algorithm, t, err)
		}
		answer, err := ask(ctx, o, 1, query.GradientAt(batch, w, p.Constants.Lipschitz))
		if err != nil {
			return out.result(w), stepError(g.outline.Algorithm, t, err)
		}
		grad := answer.Mean
		p.addRegularizer(grad, w)
		out.visit(w, 1, norm(grad))
		if g.adam {
			descend(w, adam.direction(grad), g.rate)
		} else {
			descend(w, grad, g.outline.StepSize)
		}
		p.project(w)
		if observe != nil {
			observe(Step{Number: t + 1, Of: g.choice.steps, GradientNorm: norm(grad), W: w})
		}
	}
	return out.result(w), nil
}

// adam keeps the moving averages of Kingma and Ba 2015, Algorithm 1.
type adam struct {
	m, v []float64
	t    int
}

func newAdam(dim int) *adam { return &adam{m: make([]float64, dim), v: make([]float64, dim)} }

// direction returns the bias-corrected step direction for a gradient.
func (a *adam) direction(g []float64) []float64 {
	const beta1, beta2, small = .9, .999, 1e-8
	a.t++
	out := slices.Clone(g)
	for j, x := range g {
		a.m[j] = beta1*a.m[j] + (1-beta1)*x
		a.v[j] = beta2*a.v[j] + (1-beta2)*x*x
		m := a.m[j] / (1 - math.Pow(beta1, float64(a.t)))
		v := a.v[j] / (1 - math.Pow(beta2, float64(a.t)))
		out[j] = m / (math.Sqrt(v) + small)
	}
	return out
}
