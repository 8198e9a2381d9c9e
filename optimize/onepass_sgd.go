package optimize

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/query"
)

// OnePassSGD configures stochastic gradient descent in one pass over disjoint
// cohorts (Song, Chaudhuri and Sarwate 2013, with Gaussian noise and clipping).
//
//	w_{t+1} = Proj(w_t - eta (mean over cohort t of clip(grad f(w_t; x), L0) + noise + grad reg(w_t)))
//
// Each record is in one release only, so that every release has the whole
// budget.
//
// Guarantee: mu-GDP whatever the constants. Answers are unbiased for the
// gradient of the expected loss where nothing is clipped, so for an L1-smooth
// loss, cohorts of b and eta <= 1/L1 the average squared gradient norm of the
// expected loss over T steps is at most 2 F0/(eta T) + L1 eta V, V = L0^2/b +
// d (2 L0/(b mu))^2.
//
// Deviations, all measured to help: cohort t has a size in proportion to
// sqrt(t), so the tail is the least noisy; the output is the average, weighted by
// those sizes, of the points that the second half of the steps reach; on
// generalised linear models eta starts at 16/L1 and is shortened by the secant
// whenever an estimate turns by more than 120 degrees from the one before. The
// bound above is then not proved: its eta is 1/L1 and its iterate a random one.
//
// The zero OnePassSGD is the default rule.
type OnePassSGD struct {
	// Steps is T. Zero: 4 sqrt(N)/h rounded up, at most 1000.
	Steps int
	// StepScale is h in eta = h/L1 of the first step. Zero means 16 for rank-one
	// losses, else 1.
	StepScale float64
	// EqualCohorts gives all steps equally many records.
	EqualCohorts bool
	// Output is the rule that picks the result; zero means TailAverage.
	Output Output
}

// OnePassSGDPlan is a settled OnePassSGD.
type OnePassSGDPlan struct {
	problem Problem
	outline Outline
	sizes   []float64
	scatter scatter
	choice  choice
}

// Plan settles OnePassSGD for a problem and a size.
func (c OnePassSGD) Plan(p Problem, s Size) (*OnePassSGDPlan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	h := c.StepScale
	if h == 0 {
		h = p.onePassScale()
	}
	if !positive(h) {
		return nil, fmt.Errorf("optimize: one-pass-sgd: step scale = %v: must be finite and > 0", h)
	}
	sizes, err := passSizes("one-pass-sgd", s, c.Steps, onePassSteps(s.Effective(p), h), c.EqualCohorts)
	if err != nil {
		return nil, err
	}
	choice, err := newChoice(c.Output, len(sizes))
	if err != nil {
		return nil, err
	}
	plan := &OnePassSGDPlan{problem: p, sizes: sizes, scatter: newScatter(p, s), choice: choice}
	plan.outline = Outline{
		Algorithm: "one-pass-sgd",
		Citation:  "one-pass noisy SGD on disjoint cohorts (Song, Chaudhuri and Sarwate 2013)",
		Steps:     len(sizes),
		StepSize:  p.stepSize(h),
		Clip:      p.Constants.Lipschitz,
		Charges:   passWords(sizes),
		Output:    choice.describe(),
		Effective: s.Effective(p),
		Floor:     s.Floor(p),
		Passes:    1,
	}
	plan.outline.expect(plan.predict(s))
	return plan, nil
}

// predict has fresh noise at every step.
func (g *OnePassSGDPlan) predict(s Size) Forecast {
	p := g.problem
	l0 := p.Constants.Lipschitz
	return p.passForecast(g.outline.StepSize, s, g.choice.passWeights(g.sizes), func(t int, _ float64) (K, variance float64) {
		return 1, l0 * l0 * g.scatter.of(g.sizes[t]) / float64(p.Dim)
	})
}

// Outline describes the plan.
func (g *OnePassSGDPlan) Outline() Outline { return g.outline }

// Run carries the plan out.
func (g *OnePassSGDPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p, out := g.problem, g.choice.begin()
	records := newDrawer(o, g.scatter.neighbours)
	w := p.start()
	pace := newPace(p, g.outline.StepSize)
	var charged float64
	for t, size := range g.sizes {
		cohort, err := records.draw(size)
		if err != nil {
			return out.result(w), stepError("one-pass-sgd", t, err)
		}
		answer, err := ask(ctx, o, g.scatter.charge, query.GradientAt(cohort, w, p.Constants.Lipschitz))
		if err != nil {
			return out.result(w), stepError("one-pass-sgd", t, err)
		}
		grad := answer.Mean
		p.addRegularizer(grad, w)
		charged = max(charged, answer.Charge)
		out.step(p, w, grad, pace.next(grad), size)
		if observe != nil {
			observe(Step{Number: t + 1, Of: len(g.sizes), GradientNorm: norm(grad), Charged: charged, W: w})
		}
	}
	return out.result(w), nil
}
