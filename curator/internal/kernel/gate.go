package kernel

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/noise"
	"github.com/stillpoint-dp/stillpoint/query"
)

// release describes one release. Every query is described by one. All of its content is public: no
// record was read.
type release[R any] struct {
	// asked is the query.
	asked any
	// prefix is the prefix sum of which the query is an item, if any.
	prefix query.Prefix
	// members are the rows that take part, nil for all.
	members []int32
	// grid is the grid of the answer.
	grid grid
	// event is the event that is charged.
	event account.Event
	// reserved is called once the event is charged, unless it is nil.
	reserved func()
	// sums are computed over the members. If there are none, the release is of walk.
	sums []query.Question
	// scale is the number of grid steps in a unit of the sums, or of walk.
	scale float64
	// walk is a pass over the members.
	walk *query.Pass
	// lift converts the only sum to the grid of the answer. nil leaves the sum unchanged.
	lift func(sum []int64) []int64
	// score computes a number from the i-th sum. nil leaves the only sum unchanged.
	score func(i int, sum []int64) int64
	// answer adds noise to the scores, or to the sum, and returns the released value.
	answer func(exact []int64, n *noises) R
}

// through is the only way from records to a release. describe validates the query and describes its
// release. The event is reserved in the ledger before anything is computed, and is never given
// back. Over budget nothing is computed.
func through[R any](ctx context.Context, s *Session, describe func() (release[R], error)) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
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

// compute returns the exact integers of a release: its sum or its pass as exact, nil if there are
// several sums, and the scores computed from the sums, if any.
func compute[R any](ctx context.Context, s *Session, r release[R]) (exact, scores []int64, err error) {
	if len(r.sums) == 0 {
		exact, err = s.engine.Average(ctx, *r.walk, r.scale, r.members)
		return exact, nil, err
	}
	for i, q := range r.sums {
		sum, err := s.engine.Sum(ctx, q, r.scale, s.present(r.members))
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

// add adds independent normals of standard deviation 2^bits, each rounded to the nearest integer.
// The sum is an integer, so that this equals rounding sum + N(0, 4^bits), a post-processing of the
// Gaussian mechanism.
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

// coins returns a fresh source of random bits, nil in a session without noise.
func (n *noises) coins() *coin.Secret {
	s := n.session
	if s.noiseless {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.coins.Fork()
}
