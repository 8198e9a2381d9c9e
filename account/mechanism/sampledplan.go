package mechanism

import (
	"context"
	"fmt"
	"math"
)

// SampledSteps describes equal releases. Each release is a sum of clipped contributions over a
// fresh Poisson sample, plus Gaussian noise.
type SampledSteps struct {
	// NoiseMultiplier is sigma/C, the standard deviation of the noise on the sum divided by the
	// clip norm.
	NoiseMultiplier float64 `json:"noise_multiplier"`
	// Sampling is the probability with which each record joins a release's sample.
	Sampling float64 `json:"sampling"`
	// Count is the number of releases, at most 2^30.
	Count int `json:"count"`
}

func (s SampledSteps) validate() error {
	switch {
	case !(s.NoiseMultiplier > 0) || math.IsInf(s.NoiseMultiplier, 0):
		return fmt.Errorf("account: noise multiplier = %v: must be finite and > 0", s.NoiseMultiplier)
	case !(s.Sampling > 0 && s.Sampling <= 1):
		return fmt.Errorf("account: sampling = %v: must be > 0 and <= 1", s.Sampling)
	case s.Count < 1 || s.Count > countLimit:
		return fmt.Errorf("account: count = %d: must be within [1, 2^30]", s.Count)
	}
	return nil
}

// SampledPlan is a sequence of sampled releases that are fixed before the first one, together with
// Gaussian releases.
type SampledPlan struct {
	Steps []SampledSteps
	// Mu is the mu of all Gaussian releases together, or 0 if there are no Gaussian releases. It
	// must be finite and >= 0.
	Mu       float64
	Relation Relation
}

// stepKind holds the parameters of a step. Steps with equal parameters are composed as one kind with
// a count.
type stepKind struct{ noiseMultiplier, sampling float64 }

func (s SampledSteps) kind() stepKind { return stepKind{s.NoiseMultiplier, s.Sampling} }

// Count returns the number of sampled releases. It is an error if a step is invalid or if there is
// no step.
func (p SampledPlan) Count() (total int, err error) {
	for i, s := range p.Steps {
		if err := s.validate(); err != nil {
			return 0, err
		}
		// If the sum overflowed, releases could be admitted that are not accounted for.
		if s.Count > countLimit-total {
			return 0, fmt.Errorf("account: schedule: step %d: counts sum to more than 2^30", i)
		}
		total += s.Count
	}
	if total == 0 {
		return 0, fmt.Errorf("account: schedule: must have at least one step")
	}
	return total, nil
}

// effort returns the work allowed to the proof that the plan is within a budget. The allowance
// depends only on the plan's steps, so that a repeated proof has the same result.
func (p SampledPlan) effort() float64 {
	kinds := make(map[stepKind]bool)
	for _, s := range p.Steps {
		kinds[s.kind()] = true
	}
	return among(effortSchedule, len(kinds))
}

// planWidth is the relative width to which a plan's epsilon is bracketed. The upper end is reported.
const planWidth = 1e-3

// composed lists the steps and the Gaussian releases as events. The noise multipliers of the steps
// are multiplied by factor. Equal steps are one event.
func (p SampledPlan) composed(factor float64) ([]Composed, error) {
	index := make(map[stepKind]int)
	var kinds []SampledSteps
	for _, s := range p.Steps {
		i, known := index[s.kind()]
		if !known {
			i = len(kinds)
			index[s.kind()] = i
			kinds = append(kinds, SampledSteps{NoiseMultiplier: s.NoiseMultiplier, Sampling: s.Sampling})
		}
		kinds[i].Count += s.Count
	}
	var events []Composed
	for _, k := range kinds {
		m, err := NewSampledGaussian(k.NoiseMultiplier*factor, k.Sampling, p.Relation)
		if err != nil {
			return nil, err
		}
		events = append(events, Composed{m, k.Count})
	}
	if p.Mu > 0 {
		m, err := NewGaussian(1 / p.Mu * (1 - 0x1p-50))
		if err != nil {
			return nil, err
		}
		events = append(events, Composed{m, 1})
	}
	return events, nil
}

// Prove returns an upper bound on the plan's epsilon at delta, by the privacy-loss distributions of its releases. It is
// an error if the bound exceeds epsilon, or if no bound is found within the work allowed.
func (p SampledPlan) Prove(ctx context.Context, epsilon, delta float64) (proven float64, err error) {
	return p.prove(newEffort(ctx, p.effort()), epsilon, delta)
}

func (p SampledPlan) prove(e *effort, epsilon, delta float64) (proven float64, err error) {
	if !(p.Mu >= 0) || math.IsInf(p.Mu, 0) {
		return 0, fmt.Errorf("account: schedule: mu = %v: must be finite and >= 0", p.Mu)
	}
	if _, err := p.Count(); err != nil {
		return 0, err
	}
	proven, err = p.epsilon(e, delta)
	if err != nil {
		return 0, err
	}
	if !(proven <= epsilon) {
		return 0, fmt.Errorf("account: schedule: epsilon = %v at delta = %v: must be at most the budget's %v", proven, delta,
			epsilon)
	}
	return proven, nil
}

// epsilon returns an upper bound on the epsilon with which the plan is (epsilon, delta)-DP. e limits
// the work.
func (p SampledPlan) epsilon(e *effort, delta float64) (float64, error) {
	events, err := p.composed(1)
	if err != nil {
		return 0, err
	}
	c, err := Compose(e.ctx, events, planWidth)
	if err != nil {
		return 0, err
	}
	b, err := c.epsilon(e, delta)
	return b.Upper, err
}

// planTries is the largest number of factors on the noise multipliers for which Calibrate tries the
// proof. The factors increase until the proof succeeds.
const planTries = 4

// Calibrate multiplies the noise multipliers of all steps by one factor and returns the resulting
// plan. It also returns the plan's epsilon at delta, as [SampledPlan.Prove] returns it. The factor
// is the smallest at which the plan is proven (epsilon, delta)-DP. It exceeds the true minimum by a
// few parts in a thousand, or by more if a search this precise would take too long.
func (p SampledPlan) Calibrate(ctx context.Context, epsilon, delta float64) (scaled SampledPlan, proven float64,
	err error) {
	return p.calibrate(newEffort(ctx, effortSearch+planTries*p.effort()), epsilon, delta)
}

func (p SampledPlan) calibrate(e *effort, epsilon, delta float64) (scaled SampledPlan, proven float64, err error) {
	if _, err := p.Count(); err != nil {
		return SampledPlan{}, 0, err
	}
	var factor float64
	err = e.lend(effortSearch, func(e *effort) (err error) {
		factor, err = calibrateMultiplier(e, epsilon, delta, p.composed)
		return err
	})
	if err != nil {
		return SampledPlan{}, 0, err
	}
	// The calibration brackets delta at the stated epsilon, but the proof brackets epsilon at the stated delta. The
	// upper end of epsilon may exceed the stated epsilon even if the upper end of delta is at most the stated delta.
	// The difference is at most the width of the bracket of epsilon, or more if the work allowed runs out. The factor
	// is then increased and the proof is tried again.
	more := planWidth
	for try := 1; ; try++ {
		scaled = p.scaled(factor)
		err = e.lend(scaled.effort(), func(e *effort) (err error) {
			proven, err = scaled.prove(e, epsilon, delta)
			return err
		})
		if err == nil {
			return scaled, proven, nil
		}
		if e.ctx.Err() != nil || try == planTries {
			return SampledPlan{}, 0, err
		}
		factor *= 1 + more
		more *= 8
	}
}

// scaled returns the plan with all noise multipliers multiplied by factor.
func (p SampledPlan) scaled(factor float64) SampledPlan {
	p.Steps = append([]SampledSteps(nil), p.Steps...)
	for i := range p.Steps {
		p.Steps[i].NoiseMultiplier *= factor
	}
	return p
}
