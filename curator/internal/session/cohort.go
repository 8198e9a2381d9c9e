package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/query"
)

// cohorts draws disjoint sets of records, in a uniformly random order that does not depend on the
// records' values.
type cohorts struct {
	records, repeat int // the number of records, and the number for which each row stands
	// order holds the row numbers of the records of all cohorts, one cohort after the other.
	order []int32
	// left holds the records that are in no cohort yet, if cohorts of a given size are drawn (Draw).
	left shuffle
	// joined has a bit for each record, which is 1 if the record is in a cohort. It is used if each record
	// joins by its own random bits (DrawEach).
	joined []uint64
	// Cohort i+1 is order[ends[i-1]:ends[i]]. The first cohort is order[:ends[0]].
	ends []int
	// declared[i] is the declared size of cohort i+1, if each record joins by its own random bits
	// (DrawEach). declared is nil if cohorts of a given size are drawn (Draw).
	declared []float64
	// unjoined is the expected part of the declared number of records that is in no cohort.
	unjoined float64
}

// Draw returns a cohort of size records that are in no earlier cohort, chosen uniformly by secret random bits. Draw
// charges nothing, since it reads no values. It returns an error if fewer records are left. Under add-or-remove it
// always returns an error, because removing a record would change which of the other records are drawn.
func (s *Session) Draw(size int) (query.Cohort, error) {
	if r := s.ledger.Budget().Relation(); r != account.ReplaceOne {
		return query.Cohort{},
			fmt.Errorf("curator: draw of %d records: not possible under %v, where the number of records is secret", size, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return query.Cohort{}, ErrClosed
	}
	if s.cohorts.declared != nil {
		return query.Cohort{}, fmt.Errorf("curator: draw of %d records: this session has drawn by coins already", size)
	}
	if err := s.numbered(); err != nil {
		return query.Cohort{}, err
	}
	n := s.records()
	left := n - s.cohorts.used()
	if size < 1 || size > left {
		return query.Cohort{}, fmt.Errorf("curator: draw of %d records: must be between 1 and the %d not yet drawn", size,
			left)
	}
	s.cohorts.records, s.cohorts.repeat = n, int(s.repeat)
	return s.cohorts.draw(size, s.coins), nil
}

// DrawEach returns a cohort that every record not yet in a cohort joins with probability p, by its
// own secret random bits. The declared size is the expectation over the declared number of records.
// The number of records that joined stays secret. DrawEach therefore also works under
// add-or-remove, where it is the only way to draw a cohort. DrawEach reads no values.
func (s *Session) DrawEach(p float64) (query.Cohort, error) {
	if !(p > 0 && p <= 1) {
		return query.Cohort{}, fmt.Errorf("curator: draw each: probability = %v: must be > 0 and <= 1", p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return query.Cohort{}, ErrClosed
	}
	if err := s.numbered(); err != nil {
		return query.Cohort{}, err
	}
	if len(s.cohorts.ends) > 0 && s.cohorts.declared == nil {
		return query.Cohort{}, fmt.Errorf("curator: draw each with probability %v: this session has drawn by number already",
			p)
	}
	if len(s.cohorts.ends) >= account.MaxCohort {
		return query.Cohort{}, fmt.Errorf("curator: draw each with probability %v: there are %d cohorts already", p,
			account.MaxCohort)
	}
	if len(s.cohorts.ends) == 0 {
		s.cohorts.records, s.cohorts.repeat = s.records(), int(s.repeat)
		s.cohorts.unjoined = s.declared
	}
	// A certificate with more cohorts than records would not be credible.
	if n := len(s.cohorts.ends); float64(n) >= s.declared {
		return query.Cohort{}, fmt.Errorf("curator: draw each with probability %v: %d cohorts are drawn: must be at "+
			"most one for each of %v declared records", p, n, s.declared)
	}
	if !(s.cohorts.unjoined > 0) {
		return query.Cohort{}, fmt.Errorf("curator: draw each with probability %v: every record is in a cohort already", p)
	}
	return s.cohorts.join(p, s.coins), nil
}

// join makes a cohort of the records that are in no cohort yet and whose random bits select them, each with
// probability p.
func (c *cohorts) join(p float64, coins *coin.Secret) query.Cohort {
	if c.joined == nil {
		c.joined = make([]uint64, (c.records+63)/64)
	}
	for i := range c.joined {
		heads := coins.Heads(p, c.records-64*i) &^ c.joined[i]
		c.joined[i] |= heads
		for ; heads != 0; heads &= heads - 1 {
			c.order = append(c.order, int32((64*i+bits.TrailingZeros64(heads))/c.repeat))
		}
	}
	c.ends = append(c.ends, len(c.order))
	c.declared = append(c.declared, p*c.unjoined)
	c.unjoined *= 1 - p
	return query.NewCohort(uint64(len(c.ends)), c.declared[len(c.declared)-1])
}

func (c *cohorts) used() int {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

// draw adds a cohort of size records. It continues a Fisher-Yates shuffle of the records by size
// positions.
func (c *cohorts) draw(size int, coins *coin.Secret) query.Cohort {
	start := c.used()
	for i := start; i < start+size; i++ {
		j := i + coins.IntN(c.records-i)
		c.order = append(c.order, c.left.take(i, j, c.records)/int32(c.repeat))
	}
	c.ends = append(c.ends, start+size)
	return query.NewCohort(uint64(len(c.ends)), float64(size))
}

func (c *cohorts) members(h query.Cohort) ([]int32, error) {
	if h.ID() == account.Everyone || h.ID() > uint64(len(c.ends)) {
		return nil, fmt.Errorf("curator: cohort %d: not drawn from this session", h.ID())
	}
	i := int(h.ID()) - 1
	start := 0
	if i > 0 {
		start = c.ends[i-1]
	}
	size := float64(c.ends[i] - start)
	if c.declared != nil {
		size = c.declared[i]
	}
	if h.Size() != size {
		return nil, fmt.Errorf("curator: cohort %d: size = %v: not drawn from this session", h.ID(), h.Size())
	}
	return c.order[start:c.ends[i]], nil
}

// records returns the number of records: the number of stored rows times the number of records for
// which each row stands (repeat).
func (s *Session) records() int { return s.engine().Len() * int(s.repeat) }

// numbered returns an error if the table has more than 2^31 - 1 rows, since cohorts and samples hold row
// numbers as int32. The number of rows of such a table is public.
func (s *Session) numbered() error {
	if s.engine().Len() > math.MaxInt32 {
		return fmt.Errorf("curator: draw: the table has more than %d rows: queries must be about all of them", math.MaxInt32)
	}
	return nil
}

// permit asks, before the first charge, for the reservation of the session's budget in a store that
// outlives the session.
type permit struct {
	ask func(context.Context, account.View) error

	mu sync.Mutex
	// asked is true if the session's budget may have been reserved. From then on the budget must not change, even if
	// ask returned an error. given is true once ask returned nil, or from the start if there is no ask.
	asked, given bool
}

// get returns nil once the session's budget is reserved. If asking for the reservation fails, get
// returns that error. Concurrent callers wait.
func (p *permit) get(ctx context.Context, v account.View) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given {
		return nil
	}
	p.asked = true
	if err := p.ask(ctx, v); err != nil {
		return err
	}
	p.given = true
	return nil
}

// unasked calls change, which changes the budget that is to be reserved. After the first call of the
// method get, it returns an error instead.
func (p *permit) unasked(change func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked {
		return errors.New("curator: follow: must come before the first question: what the session may cost is reserved")
	}
	return change()
}

// shuffle is a Fisher-Yates shuffle in progress. At the start, position i holds record i. While few records
// have moved, the map moved holds the record of each position where this has changed. Drawing a small
// cohort from many records therefore needs no memory for all records.
type shuffle struct {
	moved map[int32]int32
	all   []int32 // replaces moved once many records have moved
}

// crowded returns the number of moved records, among n, from which on a slice of all records replaces the map of moved
// records. With more than a sixteenth of n entries, the map takes as much memory as the slice.
func crowded(n int) int { return max(n/16, 8) }

// take returns the record at position j of n, and moves the record at position i, i <= j, to
// position j. Position i must not be used again.
func (s *shuffle) take(i, j, n int) int32 {
	if s.all == nil && len(s.moved) >= crowded(n) {
		all := make([]int32, n)
		for k := range all {
			all[k] = s.at(k)
		}
		s.all, s.moved = all, nil
	}
	record, first := s.at(j), s.at(i)
	if s.all != nil {
		s.all[j] = first
		return record
	}
	if s.moved == nil {
		s.moved = make(map[int32]int32)
	}
	delete(s.moved, int32(i))
	if j > i {
		s.moved[int32(j)] = first
	}
	return record
}

func (s *shuffle) at(i int) int32 {
	if s.all != nil {
		return s.all[i]
	}
	if record, ok := s.moved[int32(i)]; ok {
		return record
	}
	return int32(i)
}

// sampleBit distinguishes the identifiers of Poisson samples from the identifiers of cohorts.
const sampleBit = 1 << 63

// sample is the latest Poisson sample of a session's schedule. One query may be made on it.
type sample struct {
	drawn   int // the number of samples drawn so far
	cohort  query.Cohort
	members []int32
	asked   bool
}

// Follow binds the session and its ledger to a schedule. From then on, the session draws its Poisson samples by the
// schedule, and the ledger accounts for them by the schedule. Follow must be called before the first query.
func (s *Session) Follow(schedule *account.Schedule) error {
	return s.permit.unasked(func() error { return s.ledger.Follow(schedule) })
}

// Sample draws the schedule's next Poisson sample. Every record joins by its own secret random bits, with the
// schedule's probability, whatever other samples it is in. The declared size is the expected size. The sample may be
// empty. One query may be made on a sample. Its noise is the schedule's noise, and the charge that the query offers is
// ignored. The next sample replaces this one. Sample returns an error if the session follows no schedule, and an error
// that wraps an account.BudgetError after the schedule's last sample.
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
