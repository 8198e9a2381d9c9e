// Package recordtest (not frozen) records simulated sessions and replays them with the same answers, for audits and
// tests.
package recordtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/query"
)

// ErrDiverged reports that a replayed session released more answers than were recorded, or an answer whose
// type or length differs from the recorded answer at the same place.
var ErrDiverged = errors.New("recordtest: replay: the questions are not those of the recording")

// Recording is a simulated session that stores its exchanges: each query, the released answer and the
// exact one.
type Recording struct {
	*simulate.Session
	mu        sync.Mutex
	exchanges []simulate.Exchange
	// frozen are the recorded exchanges whose released values a replay repeats. It is nil in a
	// session that releases its own answers.
	frozen []simulate.Exchange
}

// Record opens a simulated session that records every exchange.
func Record(c simulate.Config) (*Recording, error) {
	r := new(Recording)
	if err := r.open(c); err != nil {
		return nil, err
	}
	return r, nil
}

// Replay opens a simulated session that computes and charges like any other, but releases the answers of the given
// exchanges, in their order. If the seed, the relation and the number of rows are the same as in the recorded session,
// cohorts and samples have the same row numbers as there. Between two replays on tables that differ in one row, the
// exact answers then differ by that row's contribution to the recorded queries.
func Replay(c simulate.Config, exchanges []simulate.Exchange) (*Recording, error) {
	r := &Recording{frozen: copies(exchanges)}
	if err := r.open(c); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Recording) open(c simulate.Config) (err error) {
	r.Session, err = simulate.Watched(c, r.watch)
	return err
}

// Exchanges returns the exchanges so far, in order.
func (r *Recording) Exchanges() []simulate.Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return copies(r.exchanges)
}

// copies returns deep copies of exchanges.
func copies(list []simulate.Exchange) []simulate.Exchange {
	own := make([]simulate.Exchange, len(list))
	for i, e := range list {
		e.Members, e.Exact, e.Scores, e.Noisy = slices.Clone(e.Members), slices.Clone(e.Exact), slices.Clone(e.Scores),
			slices.Clone(e.Noisy)
		e.Released = keep(e.Released)
		own[i] = e
	}
	return own
}

func (r *Recording) watch(e simulate.Exchange) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen != nil {
		k := len(r.exchanges)
		if k >= len(r.frozen) {
			return nil, fmt.Errorf("%w: answer %d was not recorded", ErrDiverged, k)
		}
		if !alike(e.Released, r.frozen[k].Released) {
			return nil, fmt.Errorf("%w: answer %d is of another kind", ErrDiverged, k)
		}
		e.Released = r.frozen[k].Released
	}
	// copies, since the caller may write into an answer
	given := keep(e.Released)
	e.Released = keep(e.Released)
	r.exchanges = append(r.exchanges, e)
	return given, nil
}

// alike reports whether a recorded and a computed answer have the same type and, if they are vectors,
// the same length.
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
