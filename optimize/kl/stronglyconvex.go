package kl

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// StronglyConvex is noisy gradient descent with steps 1/(lambda t) and weights t for lambda-strongly
// convex objectives (Menart, Ullah, Arora, Bassily and Guzmán 2024, Algorithm 4 and Theorem 9).
//
//	1  for t = 1..T
//	2-3    w_{t+1} = Proj(w_t - eta_t (mean_i clip(grad f(w_t; x_i), L0) + noise + grad reg(w_t)))
//	5  return 2/(T(T+1)) sum_t t w_t
//
// Here eta_t = 1/(lambda t). If the regularizer is m-strongly convex, Proj projects on the ball of
// radius (L0 + ||grad reg(0)||)/m around zero, which contains the minimiser.
//
// Guarantee: mu-GDP whatever the constants. N is the effective size. If the objective is lambda-strongly convex, smooth
// or not, the excess risk after T = N^2 log^2(2/beta)/2 steps is O(L0^2 d/(lambda n^2 mu^2)) up to logarithms.
//
// Deviations from the paper:
//   - A step is charged exactly mu^2/T. The paper's noise costs half as much.
//   - A gradient is released at w_T, too. A run has T releases, the paper's loop T-1.
//   - The regularizer is the problem's own. The ball is around zero, the paper's ball around its w_0. If
//     the problem has a feasible set, points are projected on this set instead of the ball. If the problem
//     has neither a feasible set nor a strongly convex regularizer, there is no projection.
//   - Without Theorem a step size is at most h/L1. The paper assumes no smoothness, and its first steps
//     overshoot.
//
// The zero StronglyConvex makes as many steps as the default rule of firstorder.GD chooses.
type StronglyConvex struct {
	// Lambda is the modulus of strong convexity. Zero means the regularizer's modulus plus the lower bound on
	// the curvature of the loss, if this sum is > 0. Otherwise zero means 1/(2 gamma^2) if the problem states
	// a KL condition with kappa = 2, and else the smallest curvature that forecasts assume.
	Lambda float64 `yaml:"lambda"`
	// Steps is T. Zero means the number that the rule of algorithm gd gives. With the setting Theorem, zero
	// means N^2 log^2(2/.05)/2, but at most 10^6.
	Steps int `yaml:"steps"`
	// StepScale is h in eta_t <= h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of
	// several rows, and 1 for other losses. With the setting Theorem it must be zero.
	StepScale float64 `yaml:"step_scale"`
	// Theorem uses the settings of Theorem 9 of Menart et al. (2024) for the fields that are zero.
	Theorem bool `yaml:"theorem"`
	// Output is the rule that picks the result; zero means Average.
	Output optimize.Output `yaml:"output"`
}

// harmonic is the sequence of step sizes min(1/(lambda t), most) for t = 1, 2, ...
type harmonic struct{ lambda, most float64 }

func (h harmonic) eta(t int) float64 { return min(1/(h.lambda*float64(t)), h.most) }

// Plan implements [optimize.Algorithm].
func (c StronglyConvex) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	const name = "strongly-convex"
	lambda := c.Lambda
	err := cmp.Or(p.Validate(), optimize.Fill(name, optimize.Setting{Name: "lambda", Value: &lambda, Rule: modulus(p)}))
	if err != nil {
		return nil, err
	}
	step, T, err := c.rules(name, p, lambda)
	if err != nil {
		return nil, err
	}
	if p.Set == nil && p.Penalty().Convexity() > 0 {
		if p.Set, err = minimiserBall(p); err != nil {
			return nil, err
		}
	}
	charge, plan := p.Charge()/float64(T), new(optimize.Settled)
	sigma := noise(p, charge)
	law := optimize.UpdateRule{
		Importance: make([]float64, T), StepSizes: make([]float64, T),
		Answer: optimize.Fresh(func(int) float64 { return sigma * sigma }),
	}
	for t := range T {
		law.Importance[t], law.StepSizes[t] = float64(t+1), step.eta(t+1)
	}
	made, err := forecast.Finish(plan, plan, optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: name,
			Citation:  "noisy gradient descent for strongly convex objectives (Menart et al. 2024, Algorithm 4)",
			Steps:     T,
			StepSize:  step.eta(1),
			Charges:   fmt.Sprintf("every step alike; steps 1/(%.3g t), at most %.3g", lambda, step.most),
			Passes:    float64(T),
		},
		UpdateRule: law,
		Output:     c.Output.Or(optimize.Average),
		Step: func(run *optimize.Run, t int) error {
			return run.Follow(charge, run.All(), optimize.Use{Weight: float64(t + 1)})
		},
	})
	if err == nil && c.Theorem {
		plan.Promises("Theorem 9 (Menart et al. 2024)", optimize.OfExcess, p.Constants.InitialGap,
			func(p optimize.Problem) float64 {
				a := p.Constants.Lipschitz * math.Sqrt2 / p.Effective()
				return a * a * stronglyConvexLog(p, 1) / lambda
			})
	}
	return made, err
}

// stronglyConvexLog returns log(n^2 log^2(2/b)/(d b)) for b = defaultFailure/T, the logarithm in Theorem 9 of Menart et
// al. 2024; at least 1.
func stronglyConvexLog(p optimize.Problem, T float64) float64 {
	b := defaultFailure / T
	l := math.Log(2 / b)
	return max(math.Log(p.Records*p.Records*l*l/(float64(p.Dim())*b)), 1)
}

// rules returns the step sizes and the number of steps. It returns an error if a setting is out of range.
func (c StronglyConvex) rules(name string, p optimize.Problem, lambda float64) (harmonic, int, error) {
	if err := optimize.CheckSteps(name, c.Steps); err != nil {
		return harmonic{}, 0, err
	}
	step, T := harmonic{lambda: lambda, most: math.Inf(1)}, c.Steps
	if c.Theorem {
		if c.StepScale != 0 {
			return step, 0, fmt.Errorf("optimize: %s: step scale = %v: must be 0 with the theorem, whose steps have "+
				"no other length", name, c.StepScale)
		}
		step.most = 1 / lambda
		if T == 0 {
			n, l := p.Effective(), math.Log(2/defaultFailure)
			T = int(min(max(n*n/2*l*l, 1), optimize.MostSteps))
		}
		return step, T, nil
	}
	err := optimize.Fill(name, optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: p.StepScale()})
	step.most = p.StepSize(c.StepScale)
	return step, cmp.Or(T, p.GradientSteps(4, c.StepScale)), err
}

// modulus returns the default of the setting Lambda, the modulus of strong convexity (see
// [StronglyConvex]).
func modulus(p optimize.Problem) float64 {
	if m := convexity(p); m > 0 {
		return m
	}
	if p.KL.Kappa == 2 {
		return 1 / (2 * p.KL.Gamma * p.KL.Gamma)
	}
	return leastAssumed(p)
}

// minimiserBall returns a ball around zero that contains the minimiser of the objective. At the minimiser
// the gradients of regularizer and loss cancel. The regularizer's gradient therefore has the norm of the
// loss's gradient, at most L0. The regularizer's gradient at w has norm at least m ||w|| - ||grad reg(0)||,
// where m is its convexity. This bounds ||w||.
func minimiserBall(p optimize.Problem) (convex.Set, error) {
	at := make([]float64, p.Dim())
	p.AddRegularizer(at, make([]float64, p.Dim()))
	return convex.NewBall(nil, (p.Constants.Lipschitz+optimize.Norm(at))/p.Penalty().Convexity())
}
