package firstorder

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// STORM is private STORM with a weight K of new gradients that minimises the noise. Each step makes
// one release: a mixture of the gradient and the gradient difference since the last step (Cutkosky
// and Orabona 2019; private versions: Tran and Cutkosky 2022). The formula of K is new here.
//
//	g_t = (1-K) g_{t-1} + mean_i [K clip(grad f(w_t; x_i), L0)
//	      + (1-K) clip(grad f(w_t; x_i) - grad f(w_{t-1}; x_i), ball)] + noise
//	w_{t+1} = w_t - eta (g_t + grad reg(w_t))
//
// Let s_a and s_d be the sensitivities of the mean gradient and of the mean difference, m the step's charge
// and P the variance of a coordinate of g_{t-1}. The variance of a coordinate of g_t is (1-K)^2 P + (K s_a
// + (1-K) s_d)^2/m. The variance is smallest for
//
//	K = clip((P - s_d (s_a - s_d)/m)/(P + (s_a - s_d)^2/m), 0, 1).
//
// All these numbers are public and known exactly, so K is the gain of a scalar Kalman filter. The smallest variance
// equals the variance of the best combination of two separate releases, one of the gradient and one of the difference.
//
// Guarantee: mu-GDP whatever the constants, since each release is one Gaussian sum. For given charges the weight K
// minimises the variance step by step. No rate for the gradient norm is proved. In measurements with an effective size
// N of a few thousand or more, the gradient norm reaches the noise level r = 2 L0/N.
//
// The first step has K = 1 and the larger charge m/(k(2-k)) with k = FrontLoad. This charge lowers the mean variance if
// s_d/s_a stays near k. P contains noise only: a clip norm below the true bound adds a bias that P does not contain.
//
// On generalised linear models the default step size is above 1/L1, and steps that overshoot are shortened,
// as in [GD].
//
// The zero STORM selects every setting by a rule: the number of steps T as for [SpiderBoost], the ball
// centred on the curvature interval, the last iterate as output. With a strongly convex regularizer T is
// halved as long as halving lowers the predicted gradient norm, since steps beyond convergence add noise.
// Without such a regularizer T is not halved. The prediction of how fast the effect of the starting point
// fades then depends on assumed curvature alone, and is too rough.
type STORM struct {
	// Steps is the number of steps T. Zero means .1 (G0/L0)^(2/3) N^(4/3)/h, at most 1000, with the
	// effective size N, G0 = sqrt(2 L1 F0) and h = StepScale. With a strongly convex regularizer this
	// number is halved as long as halving lowers the predicted gradient norm.
	Steps int `yaml:"steps"`
	// StepScale is h in eta = h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of
	// several rows, and 1 for other losses.
	StepScale float64 `yaml:"step_scale"`
	// Ball is the ball to which each record's gradient difference is clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// FrontLoad is k in (0, 1]. The first step spends 1/(k(2-k)) times as much as each later step; with k = 1 every
	// step spends the same. Zero means the ratio of two sensitivities that is expected in the second step: that of the
	// mean gradient difference, divided by that of the mean gradient.
	FrontLoad float64 `yaml:"front_load"`
	// Output is the rule that chooses the result; zero means Last.
	Output optimize.Output `yaml:"output"`
}

// stormPlan is the plan of a [STORM] for one problem. first is the part of the budget that the first
// step costs, and rest the part that each later step costs.
type stormPlan struct {
	optimize.Settled
	first, rest float64 // charges
	ball        optimize.DifferenceBall
}

// Plan implements [optimize.Algorithm].
func (c STORM) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), c.Ball.Validate()); err != nil {
		return nil, err
	}
	h, k, steps := c.StepScale, c.FrontLoad, c.Steps
	h = cmp.Or(h, p.StepScale())
	if steps == 0 && optimize.Positive(h) {
		return c.planSteps(ctx, p, varianceReducedSteps(p, h))
	}
	if err := optimize.CheckSteps("storm", steps); err != nil {
		return nil, err
	}
	switch {
	case !optimize.Positive(h):
		return nil, fmt.Errorf("optimize: storm: step scale = %v: must be finite and > 0", h)
	case k != 0 && !(k > 0 && k <= 1):
		return nil, fmt.Errorf("optimize: storm: front load = %v: must be > 0 and <= 1, or left out for the rule's", k)
	}
	k = cmp.Or(k, c.frontLoad(p, h))
	load := 1 / (k * (2 - k))
	curvature := p.CurvatureCharge()
	rest := (p.Charge() - curvature) / (load + float64(steps-1))
	plan := &stormPlan{first: load * rest, rest: rest, ball: c.Ball}
	law := optimize.UpdateRule{Guarded: c.StepScale == 0, Importance: vector.Make(steps, plan.charge),
		Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz, Answer: plan.answer}
	return forecast.Finish(plan, &plan.Settled, optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "storm",
			Citation:  "private STORM with the noise-optimal gain (after Cutkosky and Orabona 2019)",
			Steps:     steps,
			StepSize:  p.StepSize(h),
			Charges: fmt.Sprintf("the first step %.3g of the budget, the others alike; ball %s", plan.first/(p.Mu*p.Mu),
				c.Ball),
			Passes: float64(2*steps - 1), // each difference evaluates two gradients
		},
		Workload: optimize.Workload{}.Count(query.Gradient, float64(steps), 1).
			Count(query.Difference, float64(steps-1), 1),
		UpdateRule: law, Curvature: curvature, Output: c.Output.Or(optimize.Last),
	})
}

// planSteps plans the given number of steps. If the regularizer is strongly convex, it then halves
// the number as long as this lowers the predicted gradient norm.
func (c STORM) planSteps(ctx context.Context, p optimize.Problem, steps int) (optimize.Plan, error) {
	c.Steps = steps
	plan, err := c.Plan(ctx, p)
	trusted := p.Regularizer != nil && p.Regularizer.Convexity() > 0
	for err == nil && trusted && c.Steps > 1 {
		c.Steps /= 2
		half, err := c.Plan(ctx, p)
		if err != nil {
			return nil, err
		}
		if !(half.Summary().Predicted < plan.Summary().Predicted) {
			return plan, nil
		}
		plan = half
	}
	return plan, err
}

// frontLoad returns the default of the setting FrontLoad: the expected sensitivity of the gradient difference in the
// second step, divided by the sensitivity of a gradient. The ratio is R/L0, where R is the radius of the ball to which
// differences are clipped after a step of h/L1 along the assumed initial gradient. The ratio is limited to [.02, 1].
func (c STORM) frontLoad(p optimize.Problem, h float64) float64 {
	return min(max(c.Ball.Slope(p)*p.StepSize(h)*forecast.StartGradient(p)/p.Constants.Lipschitz, .02), 1)
}

func (s *stormPlan) charge(t int) float64 {
	if t == 0 {
		return s.first
	}
	return s.rest
}

// answer implements [optimize.UpdateRule].Answer. It returns the weight K of the new gradient that minimises
// the noise, and the variance of the release. Differences are clipped to a ball of the given radius,
// and P is the variance of the last estimate.
func (s *stormPlan) answer(t int, radius, P float64) (K float64, fresh optimize.Variance) {
	p, m := s.Problem(), s.charge(t)
	sa, sd := p.Neighbours()*p.Constants.Lipschitz/p.Records, p.Neighbours()*radius/p.Records
	K = 1
	if t > 0 {
		K = optimize.Gain(P, sa, sd, m)
	}
	noise := K*sa + (1-K)*sd
	return K, optimize.Variance{Noise: noise * noise / m}
}

// Run makes, for each step of the plan, one query for a mixture of gradient and gradient difference,
// and one descent step.
func (s *stormPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	p := s.Problem()
	run := s.Begin(ctx, o, observe)
	var prev []float64
	var estimate *optimize.Estimate
	var P float64
	return run.Steps(func(t int) error {
		m := s.charge(t)
		terms := []query.Term{query.GradientAt(run.All(), run.W, p.Constants.Lipschitz)}
		K := 1.0
		if t > 0 {
			difference := s.ball.Difference(p, run.All(), run.W, prev)
			K, _ = s.answer(t, difference.Ball().Radius, P)
			terms = optimize.Mix(terms[0], difference, K)
		}
		var answer optimize.Answer
		if len(terms) == 0 {
			// The iterate has not moved and the best weight K is 0, so the step makes no query.
			m, K = 0, 0
		} else {
			var err error
			if answer, err = run.Ask(m, terms...); err != nil {
				return err
			}
			P = (1-K)*(1-K)*P + answer.Sigma*answer.Sigma
		}
		estimate, prev = run.Mix(estimate, 1-K, answer, 1), slices.Clone(run.W)
		run.Descend(estimate, optimize.Use{Weight: m})
		return nil
	})
}
