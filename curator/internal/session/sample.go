package session

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// sampleBit distinguishes the identifiers of Poisson samples from the identifiers of cohorts.
const sampleBit = 1 << 63

// sample is the latest Poisson sample of a session's schedule. One query may be made on it.
type sample struct {
	drawn   int // the number of samples drawn so far
	cohort  query.Cohort
	members []int32
	asked   bool
}

// Follow binds the session and its ledger to a schedule. From then on, the session draws its
// Poisson samples by the schedule, and the ledger accounts for them by the schedule. Follow must be
// called before the first query.
func (s *Session) Follow(schedule *account.Schedule) error {
	return s.permit.unasked(func() error { return s.ledger.Follow(schedule) })
}

// Sample draws the schedule's next Poisson sample. Every record joins by its own secret random bits, with
// the schedule's probability, whatever other samples it is in. The declared size is the expected size. The
// sample may be empty. One query may be made on a sample. Its noise is the schedule's noise, and the charge
// that the query offers is ignored. The next sample replaces this one. Sample returns an error if the
// session follows no schedule, and an error that wraps an account.BudgetError after the schedule's last
// sample.
func (s *Session) Sample() (query.Cohort, error) {
	schedule := s.ledger.Schedule()
	if schedule == nil {
		return query.Cohort{}, errors.New("curator: sample: the session follows no schedule")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return query.Cohort{}, ErrClosed
	}
	if s.sample.drawn >= schedule.Len() {
		return query.Cohort{}, fmt.Errorf("curator: sample: the schedule has %d: %w", schedule.Len(),
			&account.BudgetError{Want: 1})
	}
	if err := s.numbered(); err != nil {
		return query.Cohort{}, err
	}
	_, p := schedule.Step(s.sample.drawn)
	s.sample.drawn++
	n := s.records()
	s.sample.members = make([]int32, 0, int(p*float64(n)))
	for first := 0; first < n; first += 64 {
		for heads := s.coins.Heads(p, n-first); heads != 0; heads &= heads - 1 {
			s.sample.members = append(s.sample.members, int32((first+bits.TrailingZeros64(heads))/int(s.repeat)))
		}
	}
	s.sample.asked = false
	s.sample.cohort = query.NewCohort(sampleBit|uint64(s.sample.drawn), p*s.declared)
	return s.sample.cohort, nil
}

// sampled returns the members (row numbers) of the Poisson sample that a query is about. It returns
// an error if the sample was already used, or is not the latest sample.
func (s *Session) sampled(q query.Question) ([]int32, error) {
	if !q.May(query.Sampled) {
		return nil, fmt.Errorf("curator: sample %d: %s: is no question about samples", q.Cohort().ID()&^sampleBit, q.Name())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	return s.sample.take(q.Cohort())
}

// take returns the row numbers of the sample's members for the one query that may be made on it.
// Further calls return an error.
func (s *sample) take(c query.Cohort) ([]int32, error) {
	if c != s.cohort {
		return nil, fmt.Errorf("curator: sample %d: is not the latest one", c.ID()&^sampleBit)
	}
	if s.asked {
		return nil, fmt.Errorf("curator: sample %d: was asked already", c.ID()&^sampleBit)
	}
	s.asked = true
	return s.members, nil
}

// sampleOf returns the noise multiplier and the sampling probability that the schedule has for a sample. ok
// is false for a cohort that is not a sample.
func (s *Session) sampleOf(c query.Cohort) (multiplier, sampling float64, ok bool) {
	if c.ID()&sampleBit == 0 {
		return 0, 0, false
	}
	multiplier, sampling = s.ledger.Schedule().Step(int(c.ID()&^sampleBit) - 1)
	return multiplier, sampling, true
}
