package onepass

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// SGD is stochastic gradient descent in one pass over disjoint cohorts (Song, Chaudhuri and Sarwate
// 2013, with Gaussian noise and clipping).
//
//	w_{t+1} = Proj(w_t - eta (mean over cohort t of clip(grad f(w_t; x), L0) + noise + grad reg(w_t)))
//
// Each record is in one release only, so every release is charged the whole budget.
//
// Guarantee: mu-GDP whatever the constants. If nothing is clipped, answers are unbiased for the gradient of the
// expected loss. For an L1-smooth loss, cohorts of b records and eta <= 1/L1, the average squared gradient norm of the
// expected loss over T steps is then at most 2 F0/(eta T) + L1 eta V, with V = L0^2/b + d (2 L0/(b mu))^2.
//
// Deviations from the textbook. Measurements showed that each lowers the error:
//   - The size of cohort t is proportional to sqrt(t), so that the last steps have the least noise.
//   - The result is the average of the points that the second half of the steps reach, weighted by the
//     cohort sizes.
//   - On generalised linear models eta starts at 16/L1. Whenever the angle between an estimate and the
//     previous estimate exceeds 120 degrees, eta is divided by eta times a secant estimate of the
//     curvature, but never falls below 1/L1.
//
// With these deviations the bound above is not proved, since its proof needs eta <= 1/L1 and a random
// iterate as result.
//
// The zero SGD selects every setting by the rule in the field's comment.
type SGD struct {
	// Steps is the number of steps T. Zero means 4 sqrt(N)/h rounded up, at most 1000, with the effective
	// size N and h = StepScale.
	Steps int `yaml:"steps"`
	// StepScale is h in eta = h/L1 of the first step. Zero means 16 for rank-one losses, networks and records of
	// several rows, and 1 for other losses, and less if errors of the gradient estimates alone would move the weights
	// by more than 2 sqrt(2 F0/L1) max(1, N/500).
	StepScale float64 `yaml:"step_scale"`
	// EqualCohorts gives each step the same number of records. Without it, step t (counted from 1) gets a
	// number in proportion to sqrt(t).
	EqualCohorts bool `yaml:"equal_cohorts"`
	// Output is the rule that picks the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// Plan implements [optimize.Algorithm]. It returns an error if a step would have no record.
func (c SGD) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	d, scatter, err := draft("one-pass-sgd", "one-pass noisy SGD on disjoint cohorts (Song, Chaudhuri and Sarwate 2013)", p,
		c.Steps, c.StepScale, c.EqualCohorts)
	if err != nil {
		return nil, err
	}
	sizes := d.UpdateRule.Importance
	d.UpdateRule.Answer = func(t int, _, _ float64) (K float64, fresh optimize.Variance) {
		return 1, scatter.variance(p.Constants.Lipschitz, sizes[t])
	}
	d.Output = c.Output.Or(optimize.TailAverage)
	d.Begin = func(run *optimize.Run) func(int) error {
		run.Eta = paced(newPace(p, d.Summary.StepSize))
		return func(t int) error {
			cohort, err := run.Draw(sizes[t])
			if err != nil {
				return err
			}
			return run.Follow(scatter.charge, cohort, optimize.Use{Weight: sizes[t]})
		}
	}
	return forecast.Plan(d)
}
