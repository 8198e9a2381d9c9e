package nonsmooth

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Subgradient is noisy subgradient descent (Bassily, Smith and Thakurta 2014), without smoothing, for
// any loss, smooth or not.
//
//	w_{t+1} = Proj(w_t - eta_t (mean_i clip(grad f(w_t; x_i), L0) + noise_t + grad reg(w_t)))
//
// By default each of the T steps uses all records, all steps have the same charge, and the step size is eta
// = min(3 F0 N/T, F0)/L0^2, where N is the effective size. With OnePass each step uses records that no
// other step uses, each step is charged the whole budget, and the step size is eta_t = 8 (F0/L0^2)(1 -
// t/T). The result is the average of the second half of the iterates. Both rules were found by measurement.
//
// Guarantee: mu-GDP whatever the constants. For a convex loss whose minimiser is within R of the start,
// steps of size R/(G sqrt T) and the average of all iterates give a mean loss within R G/sqrt T of its
// minimum, where G^2 is L0^2 plus the noise's variance. No bound on stationarity is proved. In measurements
// the average was as close to stationary as the results of methods whose stationarity is proved.
//
// The zero Subgradient selects every setting by the rule in the field's comment. A field that is set
// overrides its rule.
type Subgradient struct {
	// OnePass gives each step its own records, which no other step uses.
	OnePass bool `yaml:"one_pass"`
	// Steps is T. Zero means 3 N, but at least 100 and at most 3000. With OnePass, zero means sqrt N, but at
	// least 1 and at most the number of records.
	Steps int `yaml:"steps"`
	// StepScale is a factor on the step size eta of the algorithm's rule. Zero means 1.
	StepScale float64 `yaml:"step_scale"`
	// Output is the rule that picks the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// Plan implements [optimize.Algorithm]. It returns an error if a step would have no record.
func (c Subgradient) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	err := cmp.Or(p.ValidateKinked(), optimize.CheckSteps("subgradient", c.Steps), optimize.Fill("subgradient",
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: 1, Or: ", or left out for 1"}))
	if err != nil {
		return nil, err
	}
	F0, l0, N := p.Constants.InitialGap, p.Constants.Lipschitz, p.Effective()
	T := steps(c.Steps, 3, N)
	charge, asked := p.Charge()/float64(T), p.Records // by each query
	draft := optimize.Draft{Problem: p, Output: c.Output.Or(optimize.TailAverage)}
	s := &draft.Summary
	*s = optimize.Summary{
		Algorithm: "subgradient",
		Citation:  "noisy subgradient descent (Bassily, Smith and Thakurta 2014)",
		Charges:   "every step alike", Passes: float64(T),
	}
	eta := min(3*N/float64(T), 1)
	if c.OnePass {
		if T = c.Steps; T == 0 {
			T = int(min(max(math.Ceil(math.Sqrt(N)), 1), p.Records))
		}
		if asked = p.Cohort(asked / float64(T)); !(asked >= 1) {
			return nil, fmt.Errorf("optimize: subgradient: steps = %d: must leave every cohort of %v records one", T, p.Records)
		}
		charge, eta = p.Charge(), 8
		s.Charges = fmt.Sprintf("the whole budget to each of %d disjoint cohorts of %.6g records", T, asked)
		s.Passes = 1
		draft.Needs.Cohorts, draft.Properties.OnePass, draft.UpdateRule.OnePass = true, true, true
	}
	s.Steps = T
	for t := range T {
		size := c.StepScale * eta * F0 / (l0 * l0)
		if c.OnePass {
			size *= 1 - float64(t)/float64(T)
		}
		draft.UpdateRule.StepSizes = append(draft.UpdateRule.StepSizes, p.Stable(size))
		draft.UpdateRule.Importance = append(draft.UpdateRule.Importance, 1)
	}
	s.StepSize = draft.UpdateRule.StepSizes[0]
	noise := p.Neighbours() * l0 / asked
	fresh := optimize.Variance{Noise: noise * noise / charge}
	if c.OnePass {
		fresh.Sampling = l0 * l0 / asked / float64(p.Dim())
	}
	draft.UpdateRule.Answer = func(int, float64, float64) (float64, optimize.Variance) { return 1, fresh }
	draft.Step = func(run *optimize.Run, _ int) (err error) {
		cohort := run.All()
		if c.OnePass {
			if cohort, err = run.Draw(asked); err != nil {
				return err
			}
		}
		return run.Follow(charge, cohort, optimize.Use{Weight: 1})
	}
	plan, err := optimize.Settle(draft)
	if err != nil {
		return nil, err
	}
	// If the derivative of the loss jumps, the forecast is for the gradient of the smoothed loss.
	smooth := p
	if (p.Kinked != nil || p.Jumps) && !p.Smoothing.On() {
		by := query.Smoothing{Radius: DefaultRadius(p)}
		if p.Kinked == nil {
			by.By, by.Directions = query.Gradients, 1
		}
		if smooth, err = p.Smoothed(by); err != nil {
			return nil, err
		}
	}
	plan.Expect(forecast.Of(smooth, plan.UpdateRule()))
	return &plan, nil
}
