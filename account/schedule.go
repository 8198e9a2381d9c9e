package account

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
	// Sampling is the probability with which each record joins a sample.
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

// Schedule is a sequence of sampled releases that is fixed before the first one. Amplification by
// sampling requires this, because no lossless privacy filter is known for it. A session draws its
// samples from the schedule, and its ledger admits events by the same schedule, so that sampler and
// accountant cannot disagree.
//
// A Schedule is one pointer to immutable content. A copy of a Schedule keeps its content, whatever
// is assigned to the original later or at the same time. The zero Schedule has no steps.
type Schedule struct {
	fixed *fixed
}

// fixed is the immutable content of a schedule.
type fixed struct {
	budget  Budget
	steps   []SampledSteps
	mu      float64
	total   int
	epsilon float64
}

// NewSchedule returns the steps as a schedule if their privacy-loss distributions prove that they
// are within the budget, together with Gaussian releases of mu in sum (0 for none). It is an error
// if the proof fails within the work allowed.
func NewSchedule(ctx context.Context, b Budget, mu float64, steps ...SampledSteps) (*Schedule, error) {
	return newSchedule(newEffort(ctx, scheduleEffort(steps)), b, mu, steps)
}

func newSchedule(e *effort, b Budget, mu float64, steps []SampledSteps) (*Schedule, error) {
	if !(mu >= 0) || math.IsInf(mu, 0) {
		return nil, fmt.Errorf("account: schedule: mu = %v: must be finite and >= 0", mu)
	}
	s := &fixed{budget: b, steps: append([]SampledSteps(nil), steps...), mu: mu}
	total, err := countSteps(s.steps)
	if err != nil {
		return nil, err
	}
	s.total = total
	epsilon, err := composedEpsilon(e, mu, s.steps, b.relation, b.delta)
	if err != nil {
		return nil, err
	}
	if !(epsilon <= b.epsilon) {
		return nil, fmt.Errorf("account: schedule: epsilon = %v at delta = %v: must be at most the budget's %v", epsilon, b.delta, b.epsilon)
	}
	s.epsilon = epsilon
	return &Schedule{fixed: s}, nil
}

// scheduleEffort is the work allowed to the proof for a schedule. It depends on the steps alone, so
// that a repeated proof has the same result.
func scheduleEffort(steps []SampledSteps) float64 {
	kinds := make(map[stepKind]bool)
	for _, s := range steps {
		kinds[s.kind()] = true
	}
	return among(effortSchedule, len(kinds))
}

// stepKind holds the parameters of a step. Steps with equal parameters are counted together.
type stepKind struct{ noiseMultiplier, sampling float64 }

func (s SampledSteps) kind() stepKind { return stepKind{s.NoiseMultiplier, s.Sampling} }

// countSteps returns the number of releases. It is an error if a step is invalid or if there is
// none.
func countSteps(steps []SampledSteps) (total int, err error) {
	for i, s := range steps {
		if err := s.validate(); err != nil {
			return 0, err
		}
		// A sum that overflowed would admit releases that are not accounted for.
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

// content returns the content of the schedule, and an empty content for nil and the zero Schedule.
func (s *Schedule) content() *fixed {
	if s == nil || s.fixed == nil {
		return new(fixed)
	}
	return s.fixed
}

// Steps returns a copy of the steps.
func (s *Schedule) Steps() []SampledSteps { return append([]SampledSteps(nil), s.content().steps...) }

// Len returns the number of releases.
func (s *Schedule) Len() int { return s.content().total }

// Epsilon returns an upper bound on the epsilon of the whole schedule at the delta of its budget.
func (s *Schedule) Epsilon() float64 { return s.content().epsilon }

// Mu returns the mu reserved for Gaussian releases.
func (s *Schedule) Mu() float64 { return s.content().mu }

// covers returns an error unless sampled event number i is within the schedule: i is less than the
// number of releases, the sampling probability is the schedule's, and the noise is at least the
// schedule's.
func (s *fixed) covers(i int, e Event) error {
	if s == nil {
		return fmt.Errorf("account: kind = %q: needs a schedule", e.Kind)
	}
	if i >= s.total {
		return &BudgetError{Want: 1, Have: 0}
	}
	z, q := s.step(i)
	if e.Sampling != q {
		return fmt.Errorf("account: sampling = %v: must be the schedule's %v", e.Sampling, q)
	}
	if !(mulDown(e.Sensitivity, z) <= e.Sigma) {
		return fmt.Errorf("account: sigma = %v: must be at least the schedule's multiplier %v times %v", e.Sigma, z, e.Sensitivity)
	}
	return nil
}

// Step returns the noise multiplier and the sampling probability of release i, counted from 0. It
// panics if i is not less than Len.
func (s *Schedule) Step(i int) (noiseMultiplier, sampling float64) { return s.content().step(i) }

func (s *fixed) step(i int) (noiseMultiplier, sampling float64) {
	for _, x := range s.steps {
		if i < x.Count {
			return x.NoiseMultiplier, x.Sampling
		}
		i -= x.Count
	}
	panic("account: schedule: step out of range")
}

// scheduleWidth is the relative width to which a schedule's epsilon is bracketed. The schedule
// reports the upper end.
const scheduleWidth = 1e-3

// composed lists the steps, with multipliers scaled by factor, and Gaussian releases of mu in sum.
// Equal steps are one entry.
func composed(mu float64, steps []SampledSteps, factor float64, r Relation) ([]Composed, error) {
	place := make(map[stepKind]int)
	var kinds []SampledSteps
	for _, s := range steps {
		i, known := place[s.kind()]
		if !known {
			i = len(kinds)
			place[s.kind()] = i
			kinds = append(kinds, SampledSteps{NoiseMultiplier: s.NoiseMultiplier, Sampling: s.Sampling})
		}
		kinds[i].Count += s.Count
	}
	var events []Composed
	for _, k := range kinds {
		m, err := NewSampledGaussian(k.NoiseMultiplier*factor, k.Sampling, r)
		if err != nil {
			return nil, err
		}
		events = append(events, Composed{m, k.Count})
	}
	if mu > 0 {
		m, err := NewGaussian(1 / mu * (1 - 0x1p-50))
		if err != nil {
			return nil, err
		}
		events = append(events, Composed{m, 1})
	}
	return events, nil
}

// composedEpsilon returns an upper bound on the epsilon, at delta, of the steps and Gaussian
// releases of mu in sum.
func composedEpsilon(e *effort, mu float64, steps []SampledSteps, r Relation, delta float64) (float64, error) {
	events, err := composed(mu, steps, 1, r)
	if err != nil {
		return 0, err
	}
	c, err := Compose(e.ctx, events, scheduleWidth)
	if err != nil {
		return 0, err
	}
	b, err := c.epsilon(e, delta)
	return b.Upper, err
}

// scheduleTries is the number of factors that CalibrateSchedule tries, in growing distances above
// the first.
const scheduleTries = 4

// CalibrateSchedule returns the schedule whose multipliers are the multipliers of steps times the
// smallest common factor with which the steps, together with Gaussian releases of mu in sum, are
// within the budget. The factor is above the true minimum by a few parts in a thousand; by more if
// so close a search would take seconds.
func CalibrateSchedule(ctx context.Context, b Budget, mu float64, steps ...SampledSteps) (*Schedule, error) {
	return calibrateSchedule(newEffort(ctx, effortSearch+scheduleTries*scheduleEffort(steps)), b, mu, steps)
}

func calibrateSchedule(e *effort, b Budget, mu float64, steps []SampledSteps) (s *Schedule, err error) {
	if _, err := countSteps(steps); err != nil {
		return nil, err
	}
	var factor float64
	err = e.lend(effortSearch, func(e *effort) (err error) {
		factor, err = calibrateMultiplier(e, b.epsilon, b.delta, func(factor float64) ([]Composed, error) {
			return composed(mu, steps, factor, b.relation)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	// The calibration brackets delta and the schedule brackets epsilon. The upper end of epsilon
	// may exceed the budget's epsilon by the width of its bracket although delta's upper end did
	// not exceed delta, and by more if the work allowed runs out.
	scaled := append([]SampledSteps(nil), steps...)
	more := scheduleWidth
	for try := 1; ; try++ {
		for i := range scaled {
			scaled[i].NoiseMultiplier = steps[i].NoiseMultiplier * factor
		}
		err = e.lend(scheduleEffort(scaled), func(e *effort) (err error) {
			s, err = newSchedule(e, b, mu, scaled)
			return err
		})
		if err == nil || e.ctx.Err() != nil || try == scheduleTries {
			return s, err
		}
		factor *= 1 + more
		more *= 8
	}
}
