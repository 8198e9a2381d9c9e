package session

import (
	"context"

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
