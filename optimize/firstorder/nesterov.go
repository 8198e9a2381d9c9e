package firstorder

import (
	"cmp"
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// Nesterov is accelerated noisy gradient descent: Nesterov's momentum (Nesterov 1983, with the weights t/(t+3) of Su,
// Boyd and Candes 2016) on noisy means of clipped gradients, with Gaussian noise and exact Gaussian-DP composition.
//
//	y_t = Proj(w_t + t/(t+3) (w_t - w_{t-1}))
//	w_{t+1} = Proj(y_t - eta (mean_i clip(grad f(y_t; x_i), L0) + noise + grad reg(y_t)))
//
// Guarantee: mu-GDP whatever the constants. Accuracy without noise, for a convex loss and eta <= 1/L1: F(w_T) - F* <= 2
// ||w_0 - w*||^2/(eta (T+1)^2). Gradient descent has the same bound with T in place of (T+1)^2/4.
//
// A step of 1/L1 is stable on every table; a step of 4/L1 is not. T steps go as far as T^2/4 steps of gradient descent.
// On ill-conditioned tables Nesterov therefore needs tens of passes, where gradient descent needs a thousand. Momentum
// accumulates the noise of the steps. The average over the second half removes most of this noise.
//
// Deviation from the textbook: the result is not w_T but the average, over the second half of the
// run, of the points y_t at which gradients were released.
//
// The zero Nesterov selects every setting by the rule in the field's comment. A field that is set
// overrides its rule.
type Nesterov struct {
	// Steps is the number of steps T. Zero means Multiplier * sqrt(G0 N/(2 L0 h)) rounded up, at most 1000,
	// with G0 = sqrt(2 L1 F0), the effective size N and h = StepScale. Gradient descent needs a number in
	// proportion to the square of this root.
	Steps int `yaml:"steps"`
	// Multiplier is a factor on the default T. Zero means 6. With 4, runs on real tables stopped a little early. With
	// 8, they took longer without a gain.
	Multiplier float64 `yaml:"multiplier"`
	// StepScale is h in eta = h/L1. Zero means 1, the largest value that is stable on every table.
	StepScale float64 `yaml:"step_scale"`
	// Output is the rule that chooses the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// momentum returns t/(t+3), the factor by which step t repeats the last move w_t - w_{t-1}.
func momentum(t int) float64 { return float64(t) / float64(t+3) }

// Plan implements [optimize.Algorithm].
func (c Nesterov) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	err := cmp.Or(p.Validate(), optimize.CheckSteps("nesterov", c.Steps), optimize.Fill("nesterov",
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: 1},
		optimize.Setting{Name: "multiplier", Value: &c.Multiplier, Rule: 6}))
	if err != nil {
		return nil, err
	}
	h, steps := c.StepScale, c.Steps
	if steps == 0 {
		steps = optimize.StepCount(c.Multiplier * math.Sqrt(p.InitialGradient()*p.Effective()/(2*p.Constants.Lipschitz*h)))
	}
	curvature := p.CurvatureCharge()
	charges, words := optimize.Charges(p.Charge()-curvature, steps, true)
	return forecast.Plan(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "nesterov",
			Citation:  "accelerated noisy gradient descent (after Nesterov 1983)",
			StepSize:  p.StepSize(h),
			Charges:   words,
		},
		UpdateRule: optimize.UpdateRule{Momentum: momentum},
		Charges:    charges, Curvature: curvature, Output: c.Output.Or(optimize.TailAverage),
	})
}
