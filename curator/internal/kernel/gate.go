package kernel

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/noise"
	"github.com/stillpoint-dp/stillpoint/query"
)

// release describes one release. Whatever may be asked becomes one, and all of it
// is public: no record has been looked at.
type release[R any] struct {
	// asked is what was asked; prefix is that of which it is an item, if any.
	asked  any
	prefix query.Prefix
	// members are the rows that take part; nil for all.
	members []int32
	// grid is that of the answer, and event what it is charged.
	grid  grid
	event account.Event
	// reserved is called once the event is charged; nil for nothing.
	reserved func()
	// sums are taken over the members in steps of 1/scale. Where there are none,
	// walk is a pass over them.
	sums  []query.Question
	scale float64
	walk  *query.Pass
	// lift takes the only sum to the grid of the answer; nil leaves it as it is.
	lift func(sum []int64) []int64
	// score makes a number of the i-th sum; nil leaves the only sum as it is.
	score func(i int, sum []int64) int64
	// answer makes what is released of the scores, or of the sum, by noise.
	answer func(exact []int64, n *noises) R
}

// through is the gate: the one way from records to a release, whatever is asked.
// describe checks what was asked and says what it is; the event is reserved
// before anything is computed, and stays reserved whatever happens afterwards.
// Over budget nothing is computed.
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

// compute returns the exact integers of a release: those of its sum or pass, nil
// where there are several sums, and the scores made of them, if any.
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

// noises is the randomness of one release. The gate makes it.
type noises struct {
	session  *Session
	exchange *exchange
}

// add adds independent normals of standard deviation 2^bits, each rounded to the
// nearest integer: the sum is an integer, so this equals rounding
// sum + N(0, 4^bits), a post-processing of the Gaussian mechanism.
func (n *noises) add(sum []int64, bits int) {
	for j, z := range n.normals(len(sum), bits) {
		sum[j] += z
	}
	n.exchange.noisy(sum)
}

// normals returns independent normals of standard deviation 2^bits, each rounded
// to the nearest integer; zeros in a session without noise.
func (n *noises) normals(count, bits int) []int64 {
	z := make([]int64, count)
	if coins := n.coins(); coins != nil {
		noise.Normals(z, bits, coins, n.session.workers)
	}
	return z
}

// coins returns fresh coins; nil in a session without noise.
func (n *noises) coins() *coin.Secret {
	s := n.session
	if s.noiseless {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.coins.Fork()
}
