package simulate

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Exchange is what passed in one release, the exact answer included: what an
// audit compares between neighbouring tables.
type Exchange struct {
	// Asked is the query.Question, query.Selection or other value of package
	// query that was asked.
	Asked any
	// Prefix is the prefix sum that a question is an item of; otherwise zero.
	Prefix query.Prefix
	// Members are the row numbers that took part; nil for all.
	Members []int32
	// Event is what was charged.
	Event account.Event
	// Scale is the number of grid steps in a unit of Event.Sensitivity, and the
	// noise's standard deviation is 2^Bits steps. For a selection 2^Bits is the
	// sensitivity of a score.
	Scale float64
	Bits  int
	// Exact is the sum of the residuals in grid steps, without noise; nil for a
	// selection. Scores are what is made of it before noise is added: a norm, or
	// one score for each candidate.
	Exact, Scores []int64
	// Noisy is the answer to a question with its noise, before the public centre
	// is added; nil for an item of a prefix sum and for a selection.
	Noisy []int64
	// Released is what came back: a query.Release, or the index that a selection
	// chose.
	Released any
}

// ErrDiverged reports that a replayed session was asked for another kind of
// answer than the recorded one, or for more answers.
var ErrDiverged = errors.New("simulate: replay: the questions are not those of the recording")

// Recording is a simulated session that remembers what passes.
type Recording struct {
	*Session
	mu        sync.Mutex
	exchanges []Exchange
	// frozen are the exchanges whose releases are repeated; nil in a session
	// that answers for itself.
	frozen []Exchange
}

// Record opens a simulated session that remembers every exchange.
func Record(c Config) (*Recording, error) {
	r := new(Recording)
	if err := r.open(c); err != nil {
		return nil, err
	}
	return r, nil
}

// Replay opens a simulated session that computes and charges as any other but
// releases what was released in the given exchanges, in their order. With the
// seed, the relation and the number of rows of the recorded session its cohorts
// and samples are the same rows. So between two replays on tables that differ in
// one row, the exact answers differ by that row's contribution to the very
// questions of the recording.
func Replay(c Config, exchanges []Exchange) (*Recording, error) {
	r := &Recording{frozen: append([]Exchange{}, exchanges...)}
	if err := r.open(c); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Recording) open(c Config) (err error) {
	r.Session, err = open(c, r.watch)
	return err
}

// Exchanges returns what passed so far, in order.
func (r *Recording) Exchanges() []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.exchanges)
}

func (r *Recording) watch(x kernel.Exchange) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen != nil {
		k := len(r.exchanges)
		if k >= len(r.frozen) {
			return nil, fmt.Errorf("%w: answer %d was not recorded", ErrDiverged, k)
		}
		if !alike(x.Released, r.frozen[k].Released) {
			return nil, fmt.Errorf("%w: answer %d is of another kind", ErrDiverged, k)
		}
		x.Released = r.frozen[k].Released
	}
	// An asker may write into what it is given.
	e := Exchange(x)
	e.Released = keep(x.Released)
	r.exchanges = append(r.exchanges, e)
	return keep(x.Released), nil
}

// alike reports whether two answers are of one type and, if vectors, of one
// length.
func alike(a, b any) bool {
	if x, ok := a.(query.Release); ok {
		y, ok := b.(query.Release)
		return ok && len(x.Mean) == len(y.Mean)
	}
	return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b)
}

func keep(released any) any {
	if r, ok := released.(query.Release); ok {
		r.Mean = slices.Clone(r.Mean)
		return r
	}
	return released
}
