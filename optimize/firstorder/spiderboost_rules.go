package firstorder

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

func (c SpiderBoost) check() error {
	switch {
	case c.Steps < 1 || c.Steps > optimize.MostSteps:
		return fmt.Errorf("optimize: spiderboost: steps = %d: must be between 1 and %d, or left out for the rule's number",
			c.Steps,
			optimize.MostSteps)
	case !optimize.Positive(c.StepScale):
		return fmt.Errorf("optimize: spiderboost: step scale = %v: must be finite and > 0", c.StepScale)
	case c.Period < 1:
		return fmt.Errorf("optimize: spiderboost: period = %d: must be >= 1, or left out for the rule's", c.Period)
	case !(c.AnchorShare > 0 && c.AnchorShare < 1):
		return fmt.Errorf("optimize: spiderboost: anchor share = %v: must be > 0 and < 1, or left out for the rule's",
			c.AnchorShare)
	}
	return c.checkBatches()
}

func (c SpiderBoost) sampled() bool { return c.AnchorBatch != 0 || c.DifferenceBatch != 0 }

// settle replaces settings that are zero by the values of the default rules, or by the theorem's if
// c.Theorem is set.
func (c SpiderBoost) settle(p optimize.Problem) SpiderBoost {
	n := p.Effective()
	if c.Theorem {
		a := 2 / n
		c.StepScale = cmp.Or(c.StepScale, .5)
		if c.Steps == 0 {
			t := math.Pow(math.Sqrt(p.Constants.InitialGap*p.Smoothness())/(p.Constants.Lipschitz*a*a), 2./3)
			c.Steps = int(min(max(t, 1/a, 1), optimize.MostSteps))
		}
		c.Period = cmp.Or(c.Period, int(min(max(1/(float64(c.Steps)*a*a), 1), float64(c.Steps))))
		c.AnchorShare, c.Batches = cmp.Or(c.AnchorShare, .5), cmp.Or(c.Batches, TheoremBatches)
		c.Output = c.Output.Or(optimize.Random)
		return c
	}
	c.StepScale = cmp.Or(c.StepScale, p.StepScale())
	c.Steps = cmp.Or(c.Steps, varianceReducedSteps(p, c.StepScale))
	if c.Period == 0 {
		t := float64(c.Steps)
		c.Period = int(max(min(.02*n*n/(c.StepScale*c.StepScale*t), t/8), 1))
	}
	c.AnchorShare = cmp.Or(c.AnchorShare, .8)
	c.Output = c.Output.Or(optimize.TailAverage)
	return c
}

// theoremBound returns the bound of Theorem 1 of Arora et al. 2023 on the gradient norm, with its constant set to 1.
func theoremBound(p optimize.Problem) float64 {
	a, c := 2/p.Effective(), p.Constants
	return math.Cbrt(c.InitialGap*p.Smoothness()*c.Lipschitz*a*a) + c.Lipschitz*a
}

// varianceReducedSteps returns the default number of steps of methods that update gradient estimates
// by differences: .1 (G0/L0)^(2/3) N^(4/3)/h, at most 1000. G0 bounds the first gradient norm, N is
// the effective size and h the step size in units of 1/L1.
func varianceReducedSteps(p optimize.Problem, h float64) int {
	return optimize.StepCount(.1 * math.Pow(p.InitialGradient()/p.Constants.Lipschitz, 2./3) * math.Pow(p.Effective(),
		4./3) / h)
}

// schedule calibrates the noise of the releases on Poisson samples to the budget. The plan then
// states, for each release, the charge that a release on all records with the same noise would have.
func (c SpiderBoost) schedule(ctx context.Context, p optimize.Problem, plan *spiderBoostPlan) (*account.Schedule,
	error) {
	// A release on samples of the share q with noise multiplier z has noise of standard deviation z C/(q n)
	// in the mean. A release on all records with the same noise has the charge (v q/z)^2, with v = 2 under
	// replace-one and 1 under add-or-remove.
	root := func(charge float64) float64 { return math.Sqrt(max(charge, math.SmallestNonzeroFloat64)) }
	multiplier := func(batch, charge float64) float64 { return batch / root(charge) }
	if c.Batches == AutoBatches {
		multiplier = func(batch, charge float64) float64 { return sampledMultiplier(p.Neighbours(), batch, charge) }
	}
	s, anchor, difference, err := Amplify(ctx, p, c.Steps, c.Period,
		account.SampledSteps{NoiseMultiplier: multiplier(c.AnchorBatch, plan.anchor), Sampling: c.AnchorBatch},
		account.SampledSteps{NoiseMultiplier: multiplier(c.DifferenceBatch, plan.difference), Sampling: c.DifferenceBatch})
	if err == nil {
		plan.anchor, plan.difference = anchor, difference
	}
	return s, err
}

// Amplify calibrates to the budget of p the noise of a run whose releases are all on Poisson samples. Every period-th
// step, the first included, releases an anchor, the other steps release differences. The noise multipliers of anchor
// and difference count by their ratio alone. Amplify also returns the charges that an anchor and a difference on all
// records with the same noise would have.
func Amplify(ctx context.Context, p optimize.Problem, steps, period int, anchor, difference account.SampledSteps) (
	s *account.Schedule, anchors, differences float64, err error) {
	var list []account.SampledSteps
	anchor.Count = 1
	for t := 0; t < steps; t += period {
		list = append(list, anchor)
		if difference.Count = min(period, steps-t) - 1; difference.Count > 0 {
			list = append(list, difference)
		}
	}
	if s, err = account.CalibrateSchedule(ctx, p.Budget, 0, list...); err != nil {
		return nil, 0, 0, err
	}
	equivalent := func(i int) float64 {
		z, q := s.Step(i)
		return p.Neighbours() * q / z * p.Neighbours() * q / z
	}
	if anchors = equivalent(0); period > 1 && steps > 1 {
		differences = equivalent(1)
	}
	return s, anchors, differences, nil
}
