package optimize

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/query"
)

// GD configures noisy gradient descent: full-batch gradient descent on noisy
// means of clipped gradients (Bassily, Smith and Thakurta 2014, with Gaussian
// noise and exact Gaussian-DP composition).
//
//	w_{t+1} = Proj(w_t - eta_t (mean_i clip(grad f(w_t; x_i), L0) + noise_t + grad reg(w_t)))
//
// Guarantee: mu-GDP whatever the constants. Accuracy: for an L1-smooth loss and
// eta <= 1/L1 the average squared gradient norm over T steps is at most
// 2 F0/(eta T) plus the noise's variance times L1 eta.
//
// Deviations from the textbook, all measured to help and none touching privacy:
// step t of T is charged in proportion to t, so the tail is the least noisy; the
// output is the average of the iterates t >= T/2 weighted by their charges; on
// generalised linear models eta = 4/L1, because rows of norm at most 1 rarely
// bring the curvature near its bound.
//
// The zero GD is the default rule. A field that is set overrides it.
type GD struct {
	// Steps is T. Zero: Multiplier * G0 N/(2 L0 h) rounded up, at most 1000,
	// with G0 = sqrt(2 L1 F0).
	Steps int
	// Multiplier stretches the default T. Zero means 4, which suits tables; 1
	// is enough on well-conditioned synthetic problems.
	Multiplier float64
	// StepScale is h in eta = h/L1. Zero means 4 for rank-one losses, else 1.
	StepScale float64
	// ConstantCharges divides the budget evenly instead of in proportion to t.
	ConstantCharges bool
	// Output is the rule that picks the result; zero means TailAverage.
	Output Output
}

// GDPlan is a settled GD.
type GDPlan struct {
	problem Problem
	outline Outline
	charges []float64
	choice  choice
}

// Plan settles GD for a problem and a size.
func (c GD) Plan(p Problem, s Size) (*GDPlan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	h, multiplier := c.StepScale, c.Multiplier
	if h == 0 {
		h = p.defaultStepScale()
	}
	if multiplier == 0 {
		multiplier = 4
	}
	switch {
	case c.Steps < 0 || c.Steps > mostSteps:
		return nil, fmt.Errorf("optimize: gd: steps = %d: must be between 0 (the rule's number) and %d", c.Steps, mostSteps)
	case !positive(h):
		return nil, fmt.Errorf("optimize: gd: step scale = %v: must be finite and > 0", h)
	case !positive(multiplier):
		return nil, fmt.Errorf("optimize: gd: multiplier = %v: must be finite and > 0", multiplier)
	}
	l0 := p.Constants.Lipschitz
	g0 := p.initialGradient()
	steps := c.Steps
	if steps == 0 {
		steps = stepCount(multiplier * g0 * s.Effective(p) / (2 * l0 * h))
	}
	choice, err := newChoice(c.Output, steps)
	if err != nil {
		return nil, err
	}
	plan := &GDPlan{problem: p, charges: make([]float64, steps), choice: choice}
	budget := s.Mu * s.Mu * usable
	words := "step t in proportion to t"
	for t := 1; t <= steps; t++ {
		plan.charges[t-1] = budget * 2 * float64(t) / (float64(steps) * float64(steps+1))
		if c.ConstantCharges {
			plan.charges[t-1] = budget / float64(steps)
			words = "every step alike"
		}
	}
	plan.outline = Outline{
		Algorithm: "gd",
		Citation:  "noisy gradient descent (Bassily, Smith and Thakurta 2014)",
		Steps:     steps,
		StepSize:  p.stepSize(h),
		Clip:      l0,
		Charges:   words,
		Output:    choice.describe(),
		Effective: s.Effective(p),
		Floor:     s.Floor(p),
		Passes:    float64(steps),
	}
	plan.outline.expect(plan.predict(s))
	return plan, nil
}

// Outline describes the plan.
func (g *GDPlan) Outline() Outline { return g.outline }

// Run carries the plan out.
func (g *GDPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p, out := g.problem, g.choice.begin()
	w := p.start()
	var charged float64
	for t, m := range g.charges {
		q, err := query.New(m, query.GradientAt(o.All(), w, p.Constants.Lipschitz))
		if err != nil {
			return out.result(w), stepError("gd", t, err)
		}
		answer, err := o.Ask(ctx, q)
		if err != nil {
			return out.result(w), stepError("gd", t, err)
		}
		grad := answer.Mean
		p.addRegularizer(grad, w)
		out.visit(w, m, norm(grad))
		descend(w, grad, g.outline.StepSize)
		p.project(w)
		charged += answer.Charge
		if observe != nil {
			observe(Step{Number: t + 1, Of: len(g.charges), GradientNorm: norm(grad), Charged: charged, W: w})
		}
	}
	return out.result(w), nil
}
