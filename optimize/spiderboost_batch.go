package optimize

import (
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Batches has Private SpiderBoost look at Poisson samples of expected sizes b1
// (anchors) and b2 (differences), as Algorithm 1 of Arora et al. 2023 does for
// b1, b2 < n. It saves computation; privacy is amplified by less than the
// smaller sample costs.
type Batches struct {
	// Anchor and Difference are b1/n and b2/n, in (0, 1].
	Anchor, Difference float64
}

// PlanBatches settles SpiderBoost on Poisson samples. The multipliers of anchors
// and differences keep the proportion that AnchorShare gives them on full
// batches and are calibrated together by privacy-loss distributions.
func (c SpiderBoost) PlanBatches(p Problem, s Size, b account.Budget, batches Batches) (*SpiderBoostPlan, error) {
	for _, x := range []struct {
		name  string
		share float64
	}{{"anchor", batches.Anchor}, {"difference", batches.Difference}} {
		if !(x.share > 0 && x.share <= 1) {
			return nil, fmt.Errorf("optimize: spiderboost: %s batch = %v of the records: must be > 0 and <= 1", x.name, x.share)
		}
	}
	plan, err := c.Plan(p, s)
	if err != nil {
		return nil, err
	}
	// Noise z C/(q n) a step is that of a charge of (2 q/z)^2.
	anchor := account.SampledSteps{NoiseMultiplier: batches.Anchor / root(plan.anchor), Sampling: batches.Anchor, Count: 1}
	var steps []account.SampledSteps
	for t := 0; t < plan.steps; t += plan.period {
		steps = append(steps, anchor)
		if n := min(plan.period, plan.steps-t) - 1; n > 0 {
			steps = append(steps, account.SampledSteps{
				NoiseMultiplier: batches.Difference / root(plan.difference), Sampling: batches.Difference, Count: n,
			})
		}
	}
	if plan.schedule, err = account.CalibrateSchedule(context.Background(), b, 0, steps...); err != nil {
		return nil, err
	}
	equivalent := func(i int) float64 {
		z, q := plan.schedule.Step(i)
		return s.neighbours() * q / z * s.neighbours() * q / z
	}
	plan.anchor = equivalent(0)
	if plan.period > 1 && plan.steps > 1 {
		plan.difference = equivalent(1)
	}
	plan.outline.Algorithm = "spiderboost-batches"
	plan.outline.Charges += fmt.Sprintf("; Poisson batches of %.3g (anchors) and %.3g (differences) of the records", batches.Anchor, batches.Difference)
	anchors := float64((plan.steps + plan.period - 1) / plan.period)
	plan.outline.Passes = anchors*batches.Anchor + (float64(plan.steps)-anchors)*batches.Difference
	plan.outline.expect(plan.predict(s))
	return plan, nil
}

// Schedule returns the releases of a plan on Poisson samples; nil for one on all
// records.
func (b *SpiderBoostPlan) Schedule() *account.Schedule { return b.schedule }

// batch returns the records of the next step.
func (b *SpiderBoostPlan) batch(o Oracle) (query.Cohort, error) {
	if b.schedule == nil {
		return o.All(), nil
	}
	sampler, ok := o.(SampledOracle)
	if !ok {
		return query.Cohort{}, errors.New("oracle must draw Poisson samples")
	}
	return sampler.Sample()
}
