package train

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// recorder is the oracle to which a plan makes its queries. It passes queries to the session. Before it returns
// an answer, it makes sure that the store of budgets has noted a charge that covers it, and writes the charges of
// the query to the log. If one of the two fails, the recorder returns an error in place of this answer and of all
// later answers, and the plan ends with the steps it has made. A plan learns about records only through answers.
type recorder struct {
	session *curator.Session
	log     Log
	store   *storedRun
	// noted is the number of events (charges) of the session's ledger that are already in the log.
	noted int

	mu sync.Mutex
	// failed is the first error of the store of budgets or in writing the log. After it the recorder writes
	// nothing and returns no answers.
	failed error
}

// note makes sure that the store of budgets covers the last query, and writes its events to the log. If the
// store or the log has failed, now or before, note returns the first error.
func (r *recorder) note(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	if r.failed = r.store.cover(ctx, r.noted, r.session.Ledger().Charged()); r.failed != nil {
		return r.failed
	}
	return r.take()
}

// take writes the ledger's events that are not yet in the log. r.mu must be held.
func (r *recorder) take() error {
	events := r.session.Ledger().Since(r.noted)
	r.noted += len(events)
	return r.fail(r.log.Events(events))
}

// fail records err as the log's error if the log had none before and err is not nil. It returns the log's
// first error, or nil if there was none. r.mu must be held.
func (r *recorder) fail(err error) error {
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("output: %w", err)
	}
	return r.failed
}

// step writes the released numbers of a step to the log. If writing fails, the next query returns an error.
func (r *recorder) step(s Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		_ = r.fail(r.log.Step(s))
	}
}

// measured writes the released loss and gradient norm at the result to the log.
func (r *recorder) measured(m optimize.Measured) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Measured(m))
}

// begun writes the released base rate, and the plan of the fit that begins there, to the log.
func (r *recorder) begun(b Begun) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Begun(b))
}

// compared writes the released comparison of the result with the best constant to the log.
func (r *recorder) compared(c optimize.Compared) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Compared(c))
}

// refined writes the schema that the session was refined to, to the log.
func (r *recorder) refined(s *dataset.Schema) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Refined(s))
}

// found writes the effects that the first stage of a fit found to the log.
func (r *recorder) found(schema *dataset.Schema) error {
	e, _ := schema.Effects()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Found(e))
}

// finish writes the remaining events to the log and writes the log to stable storage. It does nothing if the
// log has failed before.
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

// answer covers and writes the events of the last query (note), then returns the query's answer a and its error
// err. If that fails, answer withholds a and returns err joined with note's error.
func answer[T any](ctx context.Context, r *recorder, a T, err error) (T, error) {
	if noted := r.note(ctx); noted != nil {
		return *new(T), errors.Join(err, noted)
	}
	return a, err
}

func (r *recorder) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a, err := r.session.Ask(ctx, q)
	return answer(ctx, r, a, err)
}

func (r *recorder) Select(ctx context.Context, s query.Selection) (int, error) {
	a, err := r.session.Select(ctx, s)
	return answer(ctx, r, a, err)
}

func (r *recorder) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	a, err := r.session.Stable(ctx, q)
	return answer(ctx, r, a, err)
}

// OpenPrefix opens a prefix sum in the session. Whenever a value is added to the sum, its charge is
// written to the log before the answer is returned.
func (r *recorder) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	sum, err := r.session.OpenPrefix(p)
	if err != nil {
		return nil, err
	}
	return &recordedSum{r, sum}, nil
}

// recordedSum is a prefix sum that writes the charge of each answer to the log before it returns
// the answer.
type recordedSum struct {
	r   *recorder
	sum query.PrefixSum
}

func (s *recordedSum) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	a, err := s.sum.Add(ctx, terms...)
	return answer(ctx, s.r, a, err)
}

func (r *recorder) All() query.Cohort { return r.session.All() }

func (r *recorder) Draw(size int) (query.Cohort, error) { return r.session.Draw(size) }

func (r *recorder) DrawEach(p float64) (query.Cohort, error) { return r.session.DrawEach(p) }

func (r *recorder) Sample() (query.Cohort, error) { return r.session.Sample() }
