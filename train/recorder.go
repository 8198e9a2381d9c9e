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

// recorder is the oracle between a plan and its session. It writes charges to the log before it returns
// an answer. If it cannot, it withholds this answer and all further ones, and the plan ends with what
// it has reached. A plan gets nothing but answers from the session.
type recorder struct {
	session *curator.Session
	log     Log
	// noted is the number of events in the log.
	noted int

	mu sync.Mutex
	// failed is the reason why no more can be written to the log.
	failed error
}

// note writes the events of the last query.
func (r *recorder) note() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	return r.take()
}

// take writes the events that are not yet in the log.
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

// step writes what a step released. If that fails, the next query fails.
func (r *recorder) step(s Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		_ = r.fail(r.log.Step(s))
	}
}

// measured writes the measurement of the result.
func (r *recorder) measured(m optimize.Measured) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Measured(m))
}

// compared writes the comparison of the result with the best constant.
func (r *recorder) compared(c optimize.Compared) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Compared(c))
}

// finish writes all charges to stable storage.
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

// answer returns an answer after its events are in the log.
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

// OpenPrefix opens a prefix sum whose items are written to the log.
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
