package session

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Select returns the index of a candidate with a low score, drawn by the exponential mechanism with
// secret random bits. Its event is reserved in the ledger before anything is computed and is never
// given back. A session without noise returns the first candidate with the lowest score.
func (s *Session) Select(ctx context.Context, sel query.Selection) (int, error) {
	return through(ctx, s, func() (release[int], error) { return s.selection(sel) })
}

// selection describes the release of a selection's answer, before anything is computed.
func (s *Session) selection(sel query.Selection) (r release[int], err error) {
	questions := sel.Questions()
	if len(questions) == 0 {
		return r, errors.New("curator: selection: must be made by query.NewSelection")
	}
	if err := s.pointed(questions[0]); err != nil {
		return r, err
	}
	cohort := questions[0].Cohort()
	members, err := s.rowsOf(cohort)
	if err != nil {
		return r, err
	}
	// The candidates' questions offer the charge 1. On the grid for this charge, the sensitivity of a score
	// is at most 2^bits steps. All candidates have the same clip norm, hence the same grid.
	g, err := newGrid(questions[0], s.ledger.Budget().Relation(), s.mostRows())
	if err != nil {
		return r, err
	}
	score, err := scoring(g, questions...)
	if err != nil {
		return r, err
	}
	if score == nil {
		score = func(_ int, sum []int64) int64 { return sum[0] }
	}
	event, err := account.SelectionEvent(sel.Name(), cohort.ID(), sel.Epsilon())
	if err != nil {
		return r, err
	}
	return release[int]{
		asked: sel, members: members, grid: g, event: event, sums: questions, scale: g.scale, score: score,
		answer: func(scores []int64, n *noises) int { return n.draw(scores, sel.Epsilon(), g.bits) },
	}, nil
}

// draw returns an index i with probability exactly proportional to exp(-epsilon scores[i]/2^(bits+1)). In a
// session without noise it returns the first index with the lowest score.
func (n *noises) draw(scores []int64, epsilon float64, bits int) int {
	rates := newRates(scores, epsilon, bits+1)
	coins := n.coins()
	if coins == nil {
		return rates.first()
	}
	return rates.draw(&fair{source: coins})
}

// rates holds the exponents x_i >= 0 of the weights exp(-x_i), as binary fractions: x_i =
// excess[i]/2^point. The smallest x_i is 0.
type rates struct {
	excess []*big.Int
	point  uint
}

// newRates returns x_i = epsilon (score_i - least score)/2^bits. This is exact, because a float64
// is an integer of 53 bits times a power of two.
func newRates(scores []int64, epsilon float64, bits int) rates {
	fraction, exponent := math.Frexp(epsilon)
	mantissa := big.NewInt(int64(math.Ldexp(fraction, 53)))
	least := slices.Min(scores)
	r := rates{point: uint(53 - exponent + bits)}
	for _, s := range scores {
		x := new(big.Int).Sub(big.NewInt(s), big.NewInt(least))
		r.excess = append(r.excess, x.Mul(x, mantissa))
	}
	return r
}

// first returns the first index whose weight is 1: the first of the lowest scores.
func (r rates) first() int {
	return slices.IndexFunc(r.excess, func(x *big.Int) bool { return x.Sign() == 0 })
}

// draw proposes an index uniformly and accepts index i with probability exp(-x_i), for the exponents x_i >= 0 that r
// holds, until it accepts an index. draw therefore returns i with probability exp(-x_i)/sum_j exp(-x_j). One weight is
// 1, so on average draw makes at most as many proposals as there are indices.
func (r rates) draw(f *fair) int {
	for {
		i := int(f.below(uint64(len(r.excess))))
		if f.exp(r.excess[i], r.point) {
			return i
		}
	}
}

// fair supplies fair random bits. It uses each bit of its source once.
type fair struct {
	source interface{ Uint64() uint64 }
	word   uint64
	left   int
}

func (f *fair) bit() uint {
	if f.left == 0 {
		f.word, f.left = f.source.Uint64(), 64
	}
	b := uint(f.word & 1)
	f.word >>= 1
	f.left--
	return b
}

// below returns a uniform integer in [0, n), n > 0. It draws as many bits as n-1 has, again and again until
// they form an integer below n.
func (f *fair) below(n uint64) uint64 {
	for {
		var v uint64
		for range bits.Len64(n - 1) {
			v = v<<1 | uint64(f.bit())
		}
		if v < n {
			return v
		}
	}
}

// ratio returns true with probability n/2^point, 0 <= n <= 2^point. It compares n/2^point with a
// uniform number, bit by bit, until two bits differ.
func (f *fair) ratio(n *big.Int, point uint) bool {
	if n.Bit(int(point)) == 1 {
		return true
	}
	for i := int(point) - 1; i >= 0; i-- {
		if b := f.bit(); b != n.Bit(i) {
			return b < n.Bit(i)
		}
	}
	return false
}

// exp returns true with probability exp(-n/2^point), n >= 0, by algorithm 1 of Canonne, Kamath and Steinke
// (2020). It multiplies probabilities: one run with probability exp(-1) for every whole unit of n/2^point,
// and one run for the remainder. It returns false once a run fails.
func (f *fair) exp(n *big.Int, point uint) bool {
	one := new(big.Int).Lsh(big.NewInt(1), point)
	whole, rest := new(big.Int).QuoRem(n, one, new(big.Int))
	for ; whole.Sign() > 0; whole.Sub(whole, big.NewInt(1)) {
		if !f.run(one, point) {
			return false
		}
	}
	return f.run(rest, point)
}

// run returns true with probability exp(-g), for g = n/2^point in [0, 1]. It makes trials until one fails.
// Trial k, counted from 1, succeeds with probability g/k. The first k trials all succeed with probability
// g^k/k!. run returns true if the number of successes is even. This has the probability
//
//	1 - g + g^2/2! - ... = exp(-g).
func (f *fair) run(n *big.Int, point uint) bool {
	k := uint64(1)
	for f.ratio(n, point) && f.below(k) == 0 {
		k++
	}
	return k%2 == 1
}
