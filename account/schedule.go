package account

import (
	"context"
	"fmt"
	"math"
)

// SampledSteps is a run of equal releases: each on a fresh Poisson sample, with
// a sum of clipped contributions plus Gaussian noise.
type SampledSteps struct {
	// NoiseMultiplier is sigma/C: the noise on the sum over the clip norm.
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

// Schedule is a sequence of sampled releases fixed before the first one, which
// amplification needs: no lossless filter is known for it. A session draws its
// samples from the schedule and its ledger admits events by the same schedule,
// so that sampler and accountant cannot disagree.
//
// A Schedule is one pointer to what never changes, so that whoever is given one
// keeps what it was by copying it, whatever is assigned to the original
// afterwards or meanwhile. The zero Schedule has no steps.
type Schedule struct {
	fixed *fixed
}

// fixed is what a schedule is.
type fixed struct {
	budget  Budget
	steps   []SampledSteps
	mu      float64
	total   int
	epsilon float64
}

// NewSchedule checks that all steps, together with Gaussian releases of mu in
// sum (0 for none), are within the budget by their privacy-loss distributions,
// and returns them as a schedule. The work is bounded: where it does not show that
// they are, they are refused.
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

// scheduleEffort is the work allowed to the check of a schedule. It depends on the
// steps alone: whoever checks them again comes to the same answer.
func scheduleEffort(steps []SampledSteps) float64 {
	kinds := make(map[stepKind]bool)
	for _, s := range steps {
		kinds[s.kind()] = true
	}
	return among(effortSchedule, len(kinds))
}

// stepKind is what steps that count together share.
type stepKind struct{ noiseMultiplier, sampling float64 }

func (s SampledSteps) kind() stepKind { return stepKind{s.NoiseMultiplier, s.Sampling} }

// countSteps returns the number of releases of steps that are valid.
func countSteps(steps []SampledSteps) (total int, err error) {
	for i, s := range steps {
		if err := s.validate(); err != nil {
			return 0, err
		}
		// A sum that wraps around would count releases that nothing accounts for.
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

// content is what the schedule is; of the zero Schedule, nothing.
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

// Epsilon returns an upper bound on the epsilon of the whole schedule at its
// budget's delta.
func (s *Schedule) Epsilon() float64 { return s.content().epsilon }

// Mu returns the share kept for Gaussian releases.
func (s *Schedule) Mu() float64 { return s.content().mu }

// covers reports whether sampled event number i is at most what the schedule
// counted.
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

// Step returns the multiplier and the sampling probability of release i,
// counted from 0.
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

// scheduleWidth is the relative width to which a schedule's epsilon is known;
// the upper end is claimed.
const scheduleWidth = 1e-3

// composed lists the steps, with multipliers scaled by factor, beside Gaussian
// releases of mu in sum. Equal steps count together.
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

// composedEpsilon returns an upper bound on the epsilon at delta of the steps
// beside Gaussian releases of mu in sum.
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

// scheduleTries is how many factors a calibration tries, each farther beyond the
// one before.
const scheduleTries = 4

// CalibrateSchedule returns the schedule whose multipliers are those of steps
// times the smallest common factor with which the whole is within the budget,
// beside Gaussian releases of mu in sum. It errs by a few parts in a thousand,
// to the private side; by more where so close a search would take seconds.
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
	// The two searches bracket differently: epsilon's upper end may lie above the
	// budget's by its width where delta's did not, and by more where the work
	// allowed to a check ends first.
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
