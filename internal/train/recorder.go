package train

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
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

// write writes released numbers, or what follows from them, to the log.
func (r *recorder) write(l Line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fail(r.log.Write(l))
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

// Storage stores a fit so that it survives the process. Package runfolder implements it with a folder. Fit
// calls the methods from one goroutine, in this order: Look, Claim, Intend, Begin, Reserve, Settle, Forget,
// Release. It calls Settle only for a run that has no model; for other runs it calls Log.Publish instead. It
// calls Intend and Forget only if a store of budgets is used. If a method returns an error, the fit ends.
// Nothing is charged to the folder's ledger before Reserve.
type Storage interface {
	// Look returns an error if the fit cannot be stored in this place. Fit calls Look before it makes a plan
	// and before it opens a store. It may have counted the table's records before.
	Look() error
	// Claim locks the place where the fit is stored, so that no other fit uses it until Release is called.
	// After Claim, Number and Folder return their values for this fit. table is the string under which
	// ledgers sum the table's fits (Config.Identity).
	Claim(ctx context.Context, table string) error
	Release()
	// Number returns the fit's number among the fits stored in the same ledger, from 1.
	Number() int
	// Folder returns the folder from which stillpoint recover can recover the fit; "" if the fit is not
	// stored in a folder.
	Folder() string
	// Intend writes a note that names the run and its dataset in the store of budgets. Fit calls it before it
	// asks the store to reserve the run's budget. Forget removes the note. Fit calls it when the store knows
	// how much of the reservation the run used.
	Intend(store, dataset, run string) error
	Forget() error
	// Begin reserves disk space for the run's files and opens its log.
	Begin(Header, Released) (Log, error)
	// Reserve writes the reservation of the whole budget to stable storage. Fit calls it before the first
	// release. Settle adds how the run ended: the sum of its charges, in units of mu^2, and whether it made
	// all its steps. The reservation stays.
	Reserve(Entry) error
	Settle(charged float64, complete bool) error
	// Charged wraps err, the error that ended a fit whose whole budget stays charged.
	Charged(err error) error
}

// Line is what a log stores of released numbers, or of what follows from them. Exactly one of its members is set.
type Line struct {
	// Found has the effects that the first stage of a fit found. Later steps are about rows with features of them.
	Found *dataset.Effects `json:"effects,omitempty"`
	// Begun has the released base rate and the plan of the fit that begins there, before the first step.
	Begun    *Begun             `json:"begun,omitempty"`
	Measured *optimize.Measured `json:"measured,omitempty"`
	Compared *optimize.Compared `json:"compared,omitempty"`
	// Refined is the schema that takes the place of the head's, before the first step.
	Refined *dataset.Schema `json:"refined,omitempty"`
}

// Log stores a run's events (its charges) and its released numbers. Fit calls Events after each query, before the
// algorithm gets the answer. If Events returns an error, the algorithm does not get the answer and the run ends. Fit
// calls Step after each step.
type Log interface {
	Events([]account.Event) error
	Step(Step) error
	Write(Line) error
	// Sync puts everything that the log has stored on stable storage.
	Sync() error
	// Publish stores the run's model and its certificate, and notes beside the reservation that the run has
	// ended. model is nil if the run has no model.
	Publish(model []byte, c *certificate.Certificate) error
	// Discard removes the empty files that were reserved for the model and the certificate, after a run that
	// has no model. The events that the log has stored remain.
	Discard()
	Close()
}

// unstored is the Storage and the Log of a fit that is not stored. Everything is in the values that Fit
// returns.
type unstored struct{}

func (unstored) Look() error                                    { return nil }
func (unstored) Claim(context.Context, string) error            { return nil }
func (unstored) Release()                                       {}
func (unstored) Number() int                                    { return 1 }
func (unstored) Folder() string                                 { return "" }
func (unstored) Intend(_, _, _ string) error                    { return nil }
func (unstored) Forget() error                                  { return nil }
func (unstored) Begin(h Header, r Released) (Log, error)        { return unstored{}, h.possible(r) }
func (unstored) Reserve(Entry) error                            { return nil }
func (unstored) Settle(float64, bool) error                     { return nil }
func (unstored) Charged(err error) error                        { return &ChargedError{Err: err} }
func (unstored) Events([]account.Event) error                   { return nil }
func (unstored) Step(Step) error                                { return nil }
func (unstored) Write(Line) error                               { return nil }
func (unstored) Sync() error                                    { return nil }
func (unstored) Publish([]byte, *certificate.Certificate) error { return nil }
func (unstored) Discard()                                       {}
func (unstored) Close()                                         {}

// Entry is a line of a folder's ledger: the reservation of one fit.
type Entry = ledgerfile.Entry

// ChargedError is an error that occurred after the budget was reserved.
type ChargedError = account.ChargedError
