package kernel

import (
	"errors"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Exchange is what passed in one release, the exact answer included. Audits of
// simulated sessions compare the exchanges of neighbouring tables.
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

// Watcher is shown every exchange; what it returns is released in place of
// Exchange.Released.
type Watcher func(Exchange) (any, error)

// exchange is an Exchange in the making. It is nil, and its methods do nothing,
// in every session that protects somebody.
type exchange struct {
	Exchange
	watcher Watcher
}

func (s *Session) watch(asked any, prefix query.Prefix, members []int32, e account.Event, g grid) *exchange {
	if s.watcher == nil {
		return nil
	}
	e.Relation = s.ledger.Budget().Relation() // as the ledger has it
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

// released returns what is to be released: r, unless a watcher says otherwise.
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
