package firstorder

import (
	"cmp"
	"context"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// GD is noisy gradient descent: full-batch gradient descent on noisy means of clipped gradients
// (Bassily, Smith and Thakurta 2014, with Gaussian noise and exact Gaussian-DP composition).
//
//	w_{t+1} = Proj(w_t - eta_t (mean_i clip(grad f(w_t; x_i), L0) + noise_t + grad reg(w_t)))
//
// Guarantee: mu-GDP whatever the constants. Accuracy: for an L1-smooth loss and eta <= 1/L1 the
// average squared gradient norm over T steps is at most 2 F0/(eta T) plus L1 eta times the noise's
// variance, where F0 bounds the initial gap.
//
// Deviations from the textbook. Measurements showed that each lowers the error; none affects privacy:
//   - Step t of T is charged in proportion to t, so that the last steps have the least noise.
//   - The result is the average of the iterates t >= T/2, weighted by their charges.
//   - On generalised linear models eta = 4/L1, since with rows of norm at most 1 the curvature is rarely
//     near its bound L1. If a step goes far past the minimum, the next gradient estimate points the
//     opposite way. Later steps are then shortened, down to 1/L1, which is stable on every table (see
//     [optimize.Pace]). If StepScale is set, steps are not shortened.
//
// The zero GD selects every setting by the rule in the field's comment. A field that is set overrides
// its rule.
type GD struct {
	// Steps is the number of steps T. Zero means Multiplier * G0 N/(2 L0 h), rounded up, and five times this number
	// for networks, at most 1000. G0 = sqrt(2 L1 F0), N is the effective size and h is StepScale.
	Steps int `yaml:"steps"`
	// Multiplier is a factor on the default T. Zero means 4, which suits tables. 1 is enough on well-conditioned
	// synthetic problems.
	Multiplier float64 `yaml:"multiplier"`
	// StepScale is h in eta = h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of
	// several rows, and 1 for other losses.
	StepScale float64 `yaml:"step_scale"`
	// ConstantCharges gives every step the same charge instead of a charge proportional to t.
	ConstantCharges bool `yaml:"constant_charges"`
	// Output is the rule that chooses the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// Plan implements [optimize.Algorithm].
func (c GD) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	guarded := c.StepScale == 0
	err := cmp.Or(p.Validate(), optimize.CheckSteps("gd", c.Steps), optimize.Fill("gd",
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: p.StepScale()},
		optimize.Setting{Name: "multiplier", Value: &c.Multiplier, Rule: 4}))
	if err != nil {
		return nil, err
	}
	steps := cmp.Or(c.Steps, p.GradientSteps(c.Multiplier, c.StepScale))
	curvature := p.CurvatureCharge()
	charges, words := optimize.Charges(p.Charge()-curvature, steps, c.ConstantCharges)
	return forecast.Plan(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "gd",
			Citation:  "noisy gradient descent (Bassily, Smith and Thakurta 2014)",
			StepSize:  p.StepSize(c.StepScale),
			Charges:   words,
		},
		UpdateRule: optimize.UpdateRule{Guarded: guarded},
		Charges:    charges, Curvature: curvature, Output: c.Output.Or(optimize.TailAverage),
	})
}
