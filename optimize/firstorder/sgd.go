package firstorder

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// SGD is DP-SGD with Poisson batches (Abadi et al. 2016), the most widely used method of private training.
//
//	g_t = sum over a Poisson sample of clip(grad f(w_t; x_i), L0) + noise, over the expected size
//	w_{t+1} = Proj(w_t - eta (g_t + grad reg(w_t)))
//
// Guarantee: (epsilon, delta)-DP, by composing the privacy-loss distributions of the subsampled Gaussian
// for the schedule of steps. Subsampling saves computation, not privacy. At equal budget and number of
// steps, the noise of a gradient estimate is never below the noise with full batches. It is far above the
// noise with full batches if batches are small and steps few (lab/results/cost.md). The algorithm auto (package
// choose) therefore chooses SGD only if the number of passes over the table is limited.
//
// Deviations from Abadi et al.:
//   - Sums are divided by the declared expected batch size, never by the size of the sample drawn.
//   - The tail average of the iterates is the default output.
//
// The zero SGD samples each record with probability one tenth in each step, and makes as many steps
// as the default rule of [GD] chooses.
type SGD struct {
	// Sampling is the probability with which a record joins the batch of a step. Zero means .1.
	Sampling float64 `yaml:"sampling"`
	// Steps is the number of steps T. Zero means the number that the default rule of gradient descent (gd)
	// gives.
	Steps int `yaml:"steps"`
	// StepScale is h in eta = h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of
	// several rows, and 1 for other losses.
	StepScale float64 `yaml:"step_scale"`
	// Output is the rule that chooses the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// Plan implements [optimize.Algorithm]. The noise is calibrated to the budget's (epsilon, delta) by privacy-loss
// distributions. The problem's mu is not used. It returns an error if the calibration fails.
func (c SGD) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	law := optimize.UpdateRule{Guarded: c.StepScale == 0}
	err := cmp.Or(p.Validate(), optimize.Fill("dp-sgd",
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: p.StepScale()}))
	if err != nil {
		return nil, err
	}
	c.Steps = cmp.Or(c.Steps, c.StepRule(p))
	law.StepSize = p.StepSize(c.StepScale)
	return c.settle(ctx, optimize.Draft{Problem: p, UpdateRule: law, Step: sampledStep}, optimize.Summary{
		Algorithm: "dp-sgd",
		Citation:  "DP-SGD with Poisson batches (Abadi et al. 2016)",
		StepSize:  law.StepSize,
	})
}

// StepRule returns the default number of steps for the problem, which is the same as for [GD].
func (c SGD) StepRule(p optimize.Problem) int {
	return p.GradientSteps(4, cmp.Or(c.StepScale, p.StepScale()))
}

// settle calibrates the noise of all steps to the budget, completes the draft and its summary s, and returns the plan.
func (c SGD) settle(ctx context.Context, d optimize.Draft, s optimize.Summary) (optimize.Plan, error) {
	p := d.Problem
	c.Sampling = cmp.Or(c.Sampling, .1)
	if !(c.Sampling > 0 && c.Sampling <= 1) {
		return nil, fmt.Errorf("optimize: %s: sampling = %v: must be > 0 and <= 1, or left out for the rule's", s.Algorithm,
			c.Sampling)
	}
	if err := optimize.CheckSteps(s.Algorithm, c.Steps); err != nil {
		return nil, err
	}
	schedule, err := account.CalibrateSchedule(ctx, p.Budget, 0,
		account.SampledSteps{NoiseMultiplier: 1, Sampling: c.Sampling, Count: c.Steps})
	if err != nil {
		return nil, err
	}
	z, _ := schedule.Step(0)
	s.Steps = c.Steps
	s.Charges = fmt.Sprintf("noise multiplier %.4g on Poisson batches of %.3g of the records", z, c.Sampling)
	s.Passes = float64(c.Steps) * c.Sampling
	d.UpdateRule.Importance = slices.Repeat([]float64{1}, c.Steps)
	// The forecast assumes that a record's gradient deviates from the mean gradient by L0 (root mean
	// square norm).
	batch, l0 := c.Sampling*p.Records, p.Constants.Lipschitz
	noise, scatter := z*l0/batch, (1-c.Sampling)*l0*l0/(batch*float64(p.Dim()))
	d.UpdateRule.Answer = func(int, float64, float64) (K float64, fresh optimize.Variance) {
		return 1, optimize.Variance{Noise: noise * noise, Sampling: scatter}
	}
	d.Summary, d.Output = s, c.Output.Or(optimize.TailAverage)
	d.Needs.Schedule, d.Properties.Sampled = schedule, true
	return forecast.Plan(d)
}

// sampledStep releases the mean gradient of a new Poisson sample, and makes one descent step along it.
func sampledStep(run *optimize.Run, _ int) error {
	batch, err := run.Sample()
	if err != nil {
		return err
	}
	return run.Follow(1, batch, optimize.Use{Weight: 1})
}
