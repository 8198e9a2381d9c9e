package optimize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/query"
)

// STORM configures private STORM with the noise-optimal gain: one release a
// step of a mix of gradient and difference (Cutkosky and Orabona 2019; private
// versions Tran and Cutkosky 2022; the gain is ours).
//
//	g_t = (1-K) g_{t-1} + mean_i [K clip(grad f(w_t; x_i), L0)
//	      + (1-K) clip(grad f(w_t; x_i) - grad f(w_{t-1}; x_i), ball)] + noise
//	w_{t+1} = w_t - eta (g_t + grad reg(w_t))
//
// With s_a and s_d the sensitivities of the mean gradient and of the mean
// difference, m the step's charge and P the variance of g_{t-1} a coordinate,
// that of g_t is (1-K)^2 P + (K s_a + (1-K) s_d)^2/m, least at
//
//	K = clip((P - s_d (s_a - s_d)/m)/(P + (s_a - s_d)^2/m), 0, 1).
//
// All of these are public and known exactly, so the gain is that of a scalar
// Kalman filter; it equals the best combination of releasing gradient and
// difference apart.
//
// Guarantee: mu-GDP whatever the constants, at once, since each release is one
// Gaussian sum. For given charges the gain is optimal step by step. A rate for
// the gradient norm is not proved; that it reaches the floor r from N of a few
// thousand is measured.
//
// The first step has gain 1 and a larger charge, m/(k(2-k)) with k =
// FrontLoad, which lowers the mean variance when s_d/s_a stays near k. Noise only
// is tracked: a clip below the true bound biases and P does not see it.
//
// The zero STORM is the default rule: T as for SpiderBoost, the centred ball, the
// last iterate. Under a strongly convex regularizer T is halved for as long as
// that lowers the predicted gradient norm, since a step past the need adds noise.
// Under others predictions are too rough for that: how long the start takes to
// fade then rests on assumed curvature alone.
type STORM struct {
	// Steps is T; StepScale is h in eta = h/L1.
	Steps     int
	StepScale float64
	Ball      Ball
	// FrontLoad is k in (0, 1]; 1 charges every step alike. Zero means the
	// s_d/s_a that the second step is expected to have.
	FrontLoad float64
	// Output is the rule that picks the result; Unset means Last.
	Output *Output
}

// STORMPlan is a settled STORM.
type STORMPlan struct {
	problem     Problem
	outline     Outline
	first, rest float64 // charges
	steps       int
	ball        Ball
	choice      choice
	neighbours  float64
}

// Plan settles STORM for a problem and a size.
func (c STORM) Plan(p Problem, s Size) (*STORMPlan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	if err := c.Ball.validate(); err != nil {
		return nil, err
	}
	h, k, output := c.StepScale, c.FrontLoad, Last
	if h == 0 {
		h = p.defaultStepScale()
	}
	if c.Output != nil {
		output = *c.Output
	}
	n := s.Effective(p)
	steps := c.Steps
	if steps == 0 && positive(h) {
		return c.planSteps(p, s, varianceReducedSteps(p.initialGradient(), p, n, h))
	}
	switch {
	case steps < 0 || steps > mostSteps:
		return nil, fmt.Errorf("optimize: storm: steps = %d: must be between 0 (the rule's number) and %d", c.Steps, mostSteps)
	case !positive(h):
		return nil, fmt.Errorf("optimize: storm: step scale = %v: must be finite and > 0", h)
	case k != 0 && !(k > 0 && k <= 1):
		return nil, fmt.Errorf("optimize: storm: front load = %v: must be > 0 and <= 1, or 0 for the rule's", k)
	}
	if k == 0 {
		k = c.frontLoad(p, h)
	}
	choice, err := newChoice(output, steps)
	if err != nil {
		return nil, err
	}
	load := 1 / (k * (2 - k))
	rest := s.Mu * s.Mu * usable / (load + float64(steps-1))
	plan := &STORMPlan{
		problem: p, first: load * rest, rest: rest, steps: steps, ball: c.Ball, choice: choice, neighbours: s.neighbours(),
	}
	plan.outline = Outline{
		Algorithm: "storm",
		Citation:  "private STORM with the noise-optimal gain (after Cutkosky and Orabona 2019)",
		Steps:     steps,
		StepSize:  p.stepSize(h),
		Clip:      p.Constants.Lipschitz,
		Charges:   fmt.Sprintf("the first step %.3g of the budget, the others alike; ball %s", plan.first/(s.Mu*s.Mu), c.Ball.describe()),
		Output:    choice.describe(),
		Effective: n,
		Floor:     s.Floor(p),
		Passes:    float64(steps),
	}
	plan.outline.expect(plan.predict(s))
	return plan, nil
}

// planSteps plans the given number of steps, or half of it and so on where that
// can be told to be better.
func (c STORM) planSteps(p Problem, s Size, steps int) (*STORMPlan, error) {
	c.Steps = steps
	plan, err := c.Plan(p, s)
	trusted := p.Regularizer != nil && p.Regularizer.Convexity() > 0
	for err == nil && trusted && c.Steps > 1 {
		c.Steps /= 2
		var half *STORMPlan
		if half, err = c.Plan(p, s); err == nil {
			if !(half.outline.Predicted < plan.outline.Predicted) {
				return plan, nil
			}
			plan = half
		}
	}
	return plan, err
}

// frontLoad returns the ratio s_d/s_a to expect of the second step: the ball's
// radius after a step of eta times the assumed initial gradient, over L0.
func (c STORM) frontLoad(p Problem, h float64) float64 {
	return min(max(c.Ball.slope(p)*p.stepSize(h)*p.assumedGradient()/p.Constants.Lipschitz, .02), 1)
}

// Outline describes the plan.
func (s *STORMPlan) Outline() Outline { return s.outline }

// gain returns the K that minimises the variance of the next estimate, given
// that of the last, P, the sensitivities of gradient and difference, and the
// step's charge.
func gain(p, sa, sd, m float64) float64 {
	k := (p - sd*(sa-sd)/m) / (p + (sa-sd)*(sa-sd)/m)
	if math.IsNaN(k) { // P = 0 and s_a = s_d: any gain serves
		return 0
	}
	return min(max(k, 0), 1)
}

// Run carries the plan out.
func (s *STORMPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p, out, n := s.problem, s.choice.begin(), o.All().Size()
	l0 := p.Constants.Lipschitz
	sa := s.neighbours * l0 / n
	w := p.start()
	var prev, estimate []float64
	var variance, charged float64 // variance is P
	for t := range s.steps {
		m, K := s.first, 1.0
		terms := []query.Term{query.GradientAt(o.All(), w, l0)}
		if t > 0 {
			difference := s.ball.difference(p, o.All(), w, prev)
			sd := s.neighbours * difference.Ball().Radius / n
			m = s.rest
			K = gain(variance, sa, sd, m)
			terms = mix(terms[0], difference, K)
		}
		grad := make([]float64, p.Dim)
		if len(terms) == 0 {
			// The iterate has not moved and the best gain is 0: nothing to ask.
			m, K = 0, 0
		} else {
			answer, err := ask(ctx, o, m, terms...)
			if err != nil {
				return out.result(w), stepError("storm", t, err)
			}
			variance = (1-K)*(1-K)*variance + answer.Sigma*answer.Sigma
			charged += answer.Charge
			grad = answer.Mean
		}
		for j, v := range estimate {
			grad[j] += (1 - K) * v
		}
		estimate = slices.Clone(grad)
		p.addRegularizer(grad, w)
		out.visit(w, m, norm(grad))
		prev = slices.Clone(w)
		descend(w, grad, s.outline.StepSize)
		p.project(w)
		if observe != nil {
			observe(Step{Number: t + 1, Of: s.steps, GradientNorm: norm(grad), Charged: charged, W: w})
		}
	}
	return out.result(w), nil
}

// mix weights gradient and difference by K and 1-K, leaving out what cannot
// move.
func mix(gradient, difference query.Term, K float64) []query.Term {
	var terms []query.Term
	// Questions take no weights or radii below 2^-200; far above that a term is
	// already nothing beside the other.
	const least = 0x1p-100
	if K > least {
		terms = append(terms, gradient.Weighted(K))
	}
	if 1-K > least && difference.Ball().Radius > least {
		terms = append(terms, difference.Weighted(1-K))
	}
	return terms
}
