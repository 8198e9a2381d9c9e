package session

import (
	"context"
	"errors"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/noise"
	"github.com/stillpoint-dp/stillpoint/query"
)

// release describes how one value is released, before it is computed. Every query is converted to a
// release. The content of a release is public, since no record has been read when it is made.
type release[R any] struct {
	// asked is the query.
	asked any
	// prefix is the prefix sum of which the query is an item. It is zero for other queries.
	prefix query.Prefix
	// members are the rows that take part. nil means all rows.
	members []int32
	// grid is the grid of the answer.
	grid grid
	// event is the event that is charged.
	event account.Event
	// reserved is called once the event is charged, unless reserved is nil.
	reserved func()
	// sums are the queries whose sums over the members are computed. If there are none, the field
	// walk is the pass of SGD that is made instead.
	sums []query.Question
	// scale is the number of grid steps in a unit of the sums or, without sums, of the average that walk
	// computes.
	scale float64
	// walk is a pass of SGD over the members. It is used only if there are no sums.
	walk *query.Pass
	// lift converts the release's only sum to the grid of the answer. A nil function leaves the sum
	// unchanged.
	lift func(sum []int64) []int64
	// score computes, from the sum with index i, a number that gets noise or is compared: a norm or a
	// candidate's score. If score is nil, the release's only sum itself gets the noise.
	score func(i int, sum []int64) int64
	// answer computes the released value from the exact integers: the scores or, without scores, the sum.
	// It adds noise to them or, for a selection, draws a candidate by them.
	answer func(exact []int64, n *noises) R
}

// through is the only way from records to a released value. The argument describe validates the
// query and describes its release. The event is reserved in the ledger before anything is computed,
// and is never given back. If the event would exceed the budget, nothing is computed.
func through[R any](ctx context.Context, s *Session, describe func() (release[R], error)) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	s.passage.RLock()
	defer s.passage.RUnlock()
	r, err := describe()
	if err != nil {
		return none, err
	}
	r.event.Simulated = s.simulated
	if err := s.permit.get(ctx, s.ledger.View()); err != nil {
		return none, err
	}
	if err := s.ledger.Reserve(r.event); err != nil {
		return none, err
	}
	if r.reserved != nil {
		r.reserved()
	}
	exact, scores, err := compute(ctx, s, r)
	if err != nil {
		return none, err
	}
	x := s.watch(r.asked, r.prefix, r.members, r.event, r.grid)
	x.exact(exact, scores)
	if scores != nil {
		exact = scores
	}
	n := &noises{session: s, exchange: x}
	return released(x, r.answer(exact, n))
}

// compute returns the exact integers of a release. exact is the release's only sum or the result of
// its pass, and nil if there are several sums. scores has one number for each sum if the release
// computes a score from each sum, and is nil otherwise.
func compute[R any](ctx context.Context, s *Session, r release[R]) (exact, scores []int64, err error) {
	if len(r.sums) == 0 {
		exact, err = s.engine().Average(ctx, *r.walk, r.scale, r.members)
		return exact, nil, err
	}
	for i, q := range r.sums {
		sum, err := s.engine().Sum(ctx, q, r.scale, s.present(r.members))
		if err != nil {
			return nil, nil, err
		}
		exact = sum.Residual
		if r.members == nil {
			for j := range exact {
				exact[j] *= s.repeat
			}
		}
		if r.lift != nil {
			exact = r.lift(exact)
		}
		if r.score != nil {
			scores = append(scores, r.score(i, exact))
		}
	}
	if len(r.sums) > 1 {
		exact = nil
	}
	return exact, scores, nil
}

// noises is the source of randomness of one release.
type noises struct {
	session  *Session
	exchange *exchange
}

// add adds independent normals of standard deviation 2^bits, each rounded to the nearest integer, to the
// numbers of sum. The sum is an integer, so the result equals sum + N(0, 4^bits) rounded to the nearest
// integer, a post-processing of the Gaussian mechanism.
func (n *noises) add(sum []int64, bits int) {
	for j, z := range n.normals(len(sum), bits) {
		sum[j] += z
	}
	n.exchange.noisy(sum)
}

// normals returns independent normals of standard deviation 2^bits, each rounded to the nearest
// integer. In a session without noise they are zeros.
func (n *noises) normals(count, bits int) []int64 {
	z := make([]int64, count)
	if coins := n.coins(); coins != nil {
		noise.Normals(z, bits, coins, n.session.workers)
	}
	return z
}

// coins returns a source of random bits that nobody else draws from. It returns nil in a session without
// noise.
func (n *noises) coins() *coin.Secret {
	s := n.session
	if s.noiseless {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.coins.Fork()
}

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
