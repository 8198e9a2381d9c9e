package simulate

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Exchange is what passed in one release, the exact answer included: what an
// audit compares between neighbouring tables. Its fields are Asked, Prefix,
// Members, Event, Scale, Bits, Exact, Scores, Noisy and Released.
type Exchange = kernel.Exchange

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
	r := &Recording{frozen: copies(exchanges)}
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
	return copies(r.exchanges)
}

// copies are exchanges of their own, all slices included.
func copies(list []Exchange) []Exchange {
	own := make([]Exchange, len(list))
	for i, e := range list {
		e.Members, e.Exact, e.Scores, e.Noisy = slices.Clone(e.Members), slices.Clone(e.Exact), slices.Clone(e.Scores), slices.Clone(e.Noisy)
		e.Released = keep(e.Released)
		own[i] = e
	}
	return own
}

func (r *Recording) watch(e Exchange) (any, error) {
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
	// An asker may write into what it is given.
	given := keep(e.Released)
	e.Released = keep(e.Released)
	r.exchanges = append(r.exchanges, e)
	return given, nil
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
