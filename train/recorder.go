package train

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// recorder stands between a plan and its session, and writes what was charged to
// the log before it hands out the answer. If it cannot, it withholds the
// answer, and all others: the plan ends with what it has reached. Nothing of the
// session but its answers is to be had from it.
type recorder struct {
	session *curator.Session
	log     Log
	// noted is how many events the log has.
	noted int

	mu sync.Mutex
	// failed is why nothing can be written any more.
	failed error
}

// note writes the events of the question that was asked.
func (r *recorder) note() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	return r.take()
}

// take writes the events that are not in the log yet.
func (r *recorder) take() error {
	events := r.session.Ledger().Since(r.noted)
	r.noted += len(events)
	return r.fail(r.log.Events(events))
}

func (r *recorder) fail(err error) error {
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("output: %w", err)
	}
	return r.failed
}

// step writes what a step released. If that fails, the next question will.
func (r *recorder) step(s Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		_ = r.fail(r.log.Step(s))
	}
}

// measured writes what was measured of the result.
func (r *recorder) measured(m optimize.Measured) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Measured(m))
}

// compared writes how the result compares with a constant.
func (r *recorder) compared(c optimize.Compared) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Compared(c))
}

// finish puts all that was charged on stable storage.
func (r *recorder) finish() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return nil
	}
	if err := r.take(); err != nil {
		return err
	}
	return r.fail(r.log.Sync())
}

// answer returns an answer once it is noted.
func answer[T any](r *recorder, a T, err error) (T, error) {
	if noted := r.note(); noted != nil {
		return *new(T), errors.Join(err, noted)
	}
	return a, err
}

// Ask implements optimize.Oracle.
func (r *recorder) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a, err := r.session.Ask(ctx, q)
	return answer(r, a, err)
}

// Select implements optimize.Oracle.
func (r *recorder) Select(ctx context.Context, s query.Selection) (int, error) {
	a, err := r.session.Select(ctx, s)
	return answer(r, a, err)
}

// Stable implements optimize.StableOracle.
func (r *recorder) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	a, err := r.session.Stable(ctx, q)
	return answer(r, a, err)
}

// OpenPrefix opens a prefix sum whose items are noted.
func (r *recorder) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	sum, err := r.session.OpenPrefix(p)
	if err != nil {
		return nil, err
	}
	return &recordedSum{r, sum}, nil
}

type recordedSum struct {
	r   *recorder
	sum query.PrefixSum
}

// Add implements query.PrefixSum.
func (s *recordedSum) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	a, err := s.sum.Add(ctx, terms...)
	return answer(s.r, a, err)
}

// All implements optimize.Oracle.
func (r *recorder) All() query.Cohort { return r.session.All() }

// Draw implements optimize.Oracle.
func (r *recorder) Draw(size int) (query.Cohort, error) { return r.session.Draw(size) }

// DrawEach implements optimize.Oracle.
func (r *recorder) DrawEach(p float64) (query.Cohort, error) { return r.session.DrawEach(p) }

// Sample implements optimize.SampledOracle.
func (r *recorder) Sample() (query.Cohort, error) { return r.session.Sample() }
