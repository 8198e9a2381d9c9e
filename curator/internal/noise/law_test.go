package noise

import (
	"math"
	"math/big"
	"sync"
)

// This file computes the exact distribution of round(2^k N), to more than 200 bits.

const prec = 320

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

// bigExp returns exp(-y), 0 <= y <= 200, as the reciprocal of sum y^j/j!.
func bigExp(y *big.Float) *big.Float {
	sum, term := newBig(1), newBig(1)
	for j := 1.0; j < 2000; j++ {
		term.Mul(term, y)
		term.Quo(term, newBig(j))
		sum.Add(sum, term)
	}
	return sum.Quo(newBig(1), sum)
}

// bigArea returns the integral of exp(-s^2/2) from 0 to t >= 0, as exp(-t^2/2) sum
// t^(2j+1)/(1*3*...*(2j+1)). All terms are positive.
func bigArea(t *big.Float) *big.Float {
	square := newBig(0).Mul(t, t)
	term := newBig(0).Copy(t)
	sum := newBig(0).Copy(t)
	for j := 1.0; j < 1500; j++ {
		term.Mul(term, square)
		term.Quo(term, newBig(2*j+1))
		sum.Add(sum, term)
	}
	return sum.Mul(sum, bigExp(square.Quo(square, newBig(2))))
}

// halfArea is the integral of exp(-s^2/2) from 0 to infinity, sqrt(pi/2). It is computed up to 20,
// and the rest is less than exp(-200) < 2^-288.
var halfArea = sync.OnceValue(func() *big.Float { return bigArea(newBig(20)) })

// bigCDF returns P(N < t) for a standard normal N.
func bigCDF(t float64) *big.Float {
	p := bigArea(newBig(math.Abs(t)))
	p.Quo(p, halfArea())
	if t < 0 {
		p.Neg(p)
	}
	p.Add(p, newBig(1))
	return p.Quo(p, newBig(2))
}

// edges returns P(round(2^k N) <= m), for a standard normal N, for m = -reach, ..., reach-1.
func edges(k, reach int) []*big.Float {
	c := make([]*big.Float, 0, 2*reach)
	for m := -reach; m < reach; m++ {
		c = append(c, bigCDF(math.Ldexp(float64(2*m+1), -k-1)))
	}
	return c
}

// masses returns P(round(2^k N) = m), for a standard normal N, for m = -reach, ..., reach. The two
// ends include the tails.
func masses(k, reach int) []float64 {
	c := append(edges(k, reach), newBig(1))
	p := make([]float64, len(c))
	last := newBig(0)
	for i := range c {
		p[i], _ = newBig(0).Sub(c[i], last).Float64()
		last = c[i]
	}
	return p
}

// truncated returns the distribution of 2^k N rounded toward zero, in the form of masses. The
// package documentation says why this rounding is wrong.
func truncated(k, reach int) []float64 {
	p := make([]float64, 2*reach+1)
	for m := 1; m <= reach; m++ {
		lo, hi := bigCDF(math.Ldexp(float64(m), -k)), newBig(1)
		if m < reach {
			hi = bigCDF(math.Ldexp(float64(m+1), -k))
		}
		p[reach+m], _ = hi.Sub(hi, lo).Float64()
		p[reach-m] = p[reach+m]
	}
	p[reach], _ = bigCDF(math.Ldexp(1, -k)).Float64()
	p[reach] = 2*p[reach] - 1
	return p
}
