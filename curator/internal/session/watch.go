package session

import (
	"errors"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Exchange describes one release, including the exact answer. Audits of simulated sessions compare
// the exchanges of neighbouring tables.
type Exchange struct {
	// Asked is the query: a query.Question, a query.Selection or another value of package query.
	Asked any
	// Prefix is the prefix sum of which the query is an item. It is zero for other queries.
	Prefix query.Prefix
	// Members are the row numbers that took part. nil means all rows.
	Members []int32
	// Event is the event that was charged.
	Event account.Event
	// Scale is the number of grid steps in a unit of Event.Sensitivity.
	Scale float64
	// Bits gives the noise's standard deviation, 2^Bits steps. For a selection, 2^Bits steps are
	// the sensitivity of a score.
	Bits int
	// Exact is the sum of the residuals in grid steps, without noise. A residual is a record's contribution
	// less the public centre. For a pass of SGD, Exact is the average of the iterates less the start. It is
	// nil for a selection. Scores holds the numbers that are computed from a sum before noise is added: the
	// norm of the sum, or one score for each candidate. Scores is nil for other queries.
	Exact, Scores []int64
	// Noisy is the answer with its noise, before the public centre is added. It is nil for an item
	// of a prefix sum and for a selection.
	Noisy []int64
	// Released is the released value: a query.Release, or the index that a selection chose.
	Released any
}

// Watcher receives every exchange. The session releases the value that the Watcher returns, instead
// of Exchange.Released.
type Watcher func(Exchange) (any, error)

// exchange is the description of a release (Exchange) that is being filled in. In every session that
// protects records it is nil, and the methods of a nil exchange do nothing.
type exchange struct {
	Exchange
	watcher Watcher
}

func (s *Session) watch(asked any, prefix query.Prefix, members []int32, e account.Event, g grid) *exchange {
	if s.watcher == nil {
		return nil
	}
	e.Relation = s.ledger.Budget().Relation() // as in the ledger
	return &exchange{watcher: s.watcher, Exchange: Exchange{
		Asked: asked, Prefix: prefix, Members: slices.Clone(members), Event: e, Scale: g.scale, Bits: g.bits,
	}}
}

func (x *exchange) exact(sum, scores []int64) {
	if x != nil {
		x.Exact, x.Scores = slices.Clone(sum), slices.Clone(scores)
	}
}

func (x *exchange) noisy(v []int64) {
	if x != nil {
		x.Noisy = slices.Clone(v)
	}
}

// released returns the value to be released: the value that the session's watcher returns or, without a
// watcher, r. It returns an error if the watcher returns an error or a value of another type than r.
func released[R any](x *exchange, r R) (R, error) {
	if x == nil {
		return r, nil
	}
	x.Released = r
	instead, err := x.watcher(x.Exchange)
	if err != nil {
		return *new(R), err
	}
	v, ok := instead.(R)
	if !ok {
		return v, errUnlike
	}
	return v, nil
}

var errUnlike = errors.New("curator: watcher: returned an answer of another kind")
