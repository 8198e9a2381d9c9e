package onepass

import (
	"cmp"
	"context"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// STORM makes the steps of STORM (Cutkosky and Orabona 2019) in one pass over disjoint cohorts. The weight
// K of new gradients minimises the error from noise and sampling together.
//
//	g_t = (1-K) g_{t-1} + mean over cohort t of [K clip(grad f(w_t; x), L0)
//	      + (1-K) clip(grad f(w_t; x) - grad f(w_{t-1}; x), ball)] + noise
//	w_{t+1} = w_t - eta (g_t + grad reg(w_t))
//
// Let R be the ball's radius. The vector that a record adds to the sum lies within distance K L0 + (1-K) R
// of a public centre. The mean over a cohort of b records, released at charge m, then has a mean squared
// error of at most (K L0 + (1-K) R)^2 v with v = d (2/b)^2/m + 1/b. The first term of v is noise, the
// second is the sampling of the records. If P bounds the mean squared error of g_{t-1}, the error of g_t is
// at most (1-K)^2 P + (K L0 + (1-K) R)^2 v. The weight K minimises this bound.
//
// Each record is in one release only, so every release is charged the whole budget.
//
// Guarantee: mu-GDP whatever the constants. If nothing is clipped, P bounds the mean squared distance of g_t from the
// gradient of the expected loss at every step. A rate for the gradient norm is not proved.
//
// Deviations from Cutkosky and Orabona:
//   - K and the step size do not follow the schedules of Cutkosky and Orabona.
//   - The size of cohort t is proportional to sqrt(t).
//   - Step sizes follow the rule of [SGD].
//
// The zero STORM selects every setting by a rule: the number of steps T as for [SGD], the ball
// centred on the curvature interval (see [optimize.DifferenceBall]), the last iterate as output.
type STORM struct {
	// Steps is the number of steps T. Zero means 4 sqrt(N)/h rounded up, at most 1000, with the effective
	// size N and h = StepScale.
	Steps int `yaml:"steps"`
	// StepScale is h in eta = h/L1 of the first step. Zero means 16 for rank-one losses, networks and records of
	// several rows, and 1 for other losses, and less if errors of the gradient estimates alone would move the weights
	// by more than 2 sqrt(2 F0/L1) max(1, N/500).
	StepScale float64 `yaml:"step_scale"`
	// Ball is the ball to which each record's gradient difference is clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// EqualCohorts gives each step the same number of records. Without it, step t (counted from 1) gets a
	// number in proportion to sqrt(t).
	EqualCohorts bool `yaml:"equal_cohorts"`
	// Output is the rule that picks the result; zero means Last.
	Output optimize.Output `yaml:"output"`
}

// Plan implements [optimize.Algorithm]. It returns an error if a step would have no record.
func (c STORM) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), c.Ball.Validate()); err != nil {
		return nil, err
	}
	d, scatter, err := draft("one-pass-storm", "one-pass private STORM with the best gain (after Cutkosky and Orabona 2019)",
		p, c.Steps, c.StepScale, c.EqualCohorts)
	if err != nil {
		return nil, err
	}
	sizes := d.UpdateRule.Importance
	d.Workload = optimize.Workload{}.Count(query.Gradient, 1, sizes[0]/p.Records)
	for _, size := range sizes[1:] {
		d.Workload = d.Workload.Count(query.Gradient, 1, size/p.Records).Count(query.Difference, 1, size/p.Records)
	}
	d.Summary.Charges += "; ball " + c.Ball.String()
	d.UpdateRule.Slope, d.UpdateRule.MostRadius = c.Ball.Slope(p), 2*p.Constants.Lipschitz
	d.UpdateRule.Answer = func(t int, radius, last float64) (K float64, fresh optimize.Variance) {
		K, mixed := scatter.gain(p, t, sizes[t], radius, last*float64(p.Dim()))
		return K, scatter.variance(mixed, sizes[t])
	}
	d.Output = c.Output.Or(optimize.Last)
	d.Begin = func(run *optimize.Run) func(int) error {
		run.Eta = paced(newPace(p, d.Summary.StepSize))
		var prev []float64
		var estimate *optimize.Estimate
		var P float64
		return func(t int) error {
			cohort, err := run.Draw(sizes[t])
			if err != nil {
				return err
			}
			terms := []query.Term{query.GradientAt(cohort, run.W, p.Constants.Lipschitz)}
			K, mixed := scatter.gain(p, 0, cohort.Size(), 0, 0)
			if t > 0 {
				difference := c.Ball.Difference(p, cohort, run.W, prev)
				K, mixed = scatter.gain(p, t, cohort.Size(), difference.Ball().Radius, P)
				terms = optimize.Mix(terms[0], difference, K)
			}
			answer, err := run.Ask(scatter.charge, terms...)
			if err != nil {
				return err
			}
			P = (1-K)*(1-K)*P + mixed*mixed*scatter.of(cohort.Size())
			estimate, prev = run.Mix(estimate, 1-K, answer, 1), slices.Clone(run.W)
			run.Descend(estimate, optimize.Use{Weight: sizes[t]})
			return nil
		}
	}
	return forecast.Plan(d)
}

// gain returns the weight K of the new gradient in step t, and the radius K L0 + (1-K) R of the ball in which each
// record's mixture of gradient and difference lies. size is the number of records in the cohort, radius is the radius R
// to which differences are clipped, and P is the mean squared error of the previous estimate.
func (s meanError) gain(p optimize.Problem, t int, size, radius, P float64) (K, mixed float64) {
	l0 := p.Constants.Lipschitz
	K = 1
	if t > 0 {
		K = optimize.Gain(P, l0, radius, 1/s.of(size))
	}
	return K, K*l0 + (1-K)*radius
}
