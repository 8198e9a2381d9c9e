package mechanism

import (
	"math"
	"math/big"
	"sync"
	"testing"
)

// The references below use arbitrary precision and share nothing with the code under test. With 192
// bits their relative error is below 2^-100 after every cancellation.
const bigPrec = 192

const (
	bigPiDigits  = "3.14159265358979323846264338327950288419716939937510582097494459230781640629"
	bigLn2Digits = "0.69314718055994530941723212145817656807550013436025525412068000949339362197"
)

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

func bigDigits(s string) *big.Float {
	x, _, err := big.ParseFloat(s, 10, bigPrec, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return x
}

func bigNew() *big.Float                { return new(big.Float).SetPrec(bigPrec) }
func bigAdd(x, y *big.Float) *big.Float { return bigNew().Add(x, y) }
func bigSub(x, y *big.Float) *big.Float { return bigNew().Sub(x, y) }
func bigMul(x, y *big.Float) *big.Float { return bigNew().Mul(x, y) }
func bigQuo(x, y *big.Float) *big.Float { return bigNew().Quo(x, y) }

// bigScale returns x 2^k.
func bigScale(x *big.Float, k int) *big.Float { return bigNew().SetMantExp(x, k) }

func bigOf(x dd) *big.Float { return bigAdd(bigFloat(x.hi), bigFloat(x.lo)) }

// bigText writes x as a hexadecimal fraction and a power of two. A decimal would take minutes at
// the exponents here.
func bigText(x *big.Float) string { return x.Text('p', 20) }

// bigRelative returns |got/want - 1|.
func bigRelative(got, want *big.Float) float64 {
	if want.Sign() == 0 {
		if got.Sign() == 0 {
			return 0
		}
		return math.Inf(1)
	}
	r, _ := bigQuo(bigSub(got, want), want).Float64()
	return math.Abs(r)
}

var (
	bigLn2          = bigDigits(bigLn2Digits)
	bigRootTwoPi    = bigNew().Sqrt(bigScale(bigDigits(bigPiDigits), 1))
	bigInvRootTwoPi = bigQuo(bigFloat(1), bigRootTwoPi)
)

// bigExp returns e^x: the Taylor series at x, reduced to r and divided by 2^12, is squared 12 times.
func bigExp(x *big.Float) *big.Float {
	f, _ := x.Float64()
	n := math.Round(f / math.Ln2)
	r := bigScale(bigSub(x, bigMul(bigFloat(n), bigLn2)), -12)
	sum, term := bigFloat(1), bigFloat(1)
	for i := 1; term.Sign() != 0 && term.MantExp(nil) > -bigPrec-8; i++ {
		term.Mul(term, r)
		term.Quo(term, bigFloat(float64(i)))
		sum.Add(sum, term)
	}
	for range 12 {
		sum.Mul(sum, sum)
	}
	return bigScale(sum, int(n))
}

// bigLog computes the logarithm by a third-order Newton iteration on bigExp.
func bigLog(x *big.Float) *big.Float {
	m := bigNew()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := bigFloat(math.Log(f))
	for range 3 {
		z := bigSub(bigMul(m, bigExp(bigNew().Neg(y))), bigFloat(1))
		y = bigAdd(y, bigSub(z, bigScale(bigMul(z, z), -1)))
	}
	return bigAdd(y, bigMul(bigFloat(float64(e)), bigLn2))
}

// bigNode is a node of the double exponential rule on (0, inf): w = exp(u - exp(-u)), its weight
// dw/du, and exp(-w).
type bigNode struct{ w, weight, decay *big.Float }

const (
	bigFirstU = -4.875
	bigLastU  = 4.625
	bigLevels = 7
	bigFirstH = 1.0 / 16
)

// bigNodes holds the nodes of step 1/16, and after them, for each halving of the step, the nodes
// that it adds.
var bigNodes = sync.OnceValue(func() (levels [bigLevels][]bigNode) {
	h := bigFirstH
	for level := range levels {
		step, first := h, bigFirstU
		if level > 0 {
			step, first = 2*h, bigFirstU+h
		}
		for u := first; u <= bigLastU; u += step {
			inner := bigExp(bigFloat(-u))
			w := bigExp(bigSub(bigFloat(u), inner))
			weight := bigMul(w, bigAdd(bigFloat(1), inner))
			levels[level] = append(levels[level], bigNode{w, weight, bigExp(bigNew().Neg(w))})
		}
		h /= 2
	}
	return levels
})

// bigIntegral integrates exp(exponent) * factor over w in (0, inf). It halves the step until two
// sums agree to 2^-90. rough computes exponent in float64. A node whose term is, according to
// rough, less than 2^-130 of the largest term is left out.
func bigIntegral(t testing.TB, rough func(n bigNode) float64, exponent, factor func(n bigNode) *big.Float) *big.Float {
	t.Helper()
	most := math.Inf(-1)
	for _, n := range bigNodes()[0] {
		most = max(most, rough(n))
	}
	sum, last := bigNew(), bigNew()
	h := bigFirstH
	for level, nodes := range bigNodes() {
		for _, n := range nodes {
			if rough(n) > most-90 {
				sum.Add(sum, bigMul(bigMul(n.weight, factor(n)), bigExp(exponent(n))))
			}
		}
		value := bigMul(sum, bigFloat(h))
		if level > 0 && bigRelative(last, value) < 0x1p-90 {
			return value
		}
		last, h = value, h/2
	}
	t.Fatalf("the reference quadrature did not converge: %s", bigText(last))
	return nil
}

// bigDelta returns the delta of the mu-GDP Gaussian mechanism at epsilon, delta = integral_0^mu
// phi(epsilon/s - s/2) ds, with s = mu exp(-w).
func bigDelta(t testing.TB, mu, epsilon float64) *big.Float {
	t.Helper()
	if mu == 0 {
		return bigNew()
	}
	m, half := bigQuo(bigFloat(epsilon), bigFloat(mu)), bigScale(bigFloat(mu), -1)
	mFloat, _ := m.Float64()
	integral := bigIntegral(t,
		func(n bigNode) float64 {
			d, _ := n.decay.Float64()
			if d == 0 {
				return math.Inf(-1)
			}
			x := mFloat/d - mu*d/2
			return -x * x / 2
		},
		func(n bigNode) *big.Float {
			x := bigSub(bigQuo(m, n.decay), bigMul(half, n.decay))
			return bigScale(bigNew().Neg(bigMul(x, x)), -1)
		},
		func(n bigNode) *big.Float { return n.decay })
	return bigMul(bigMul(integral, bigFloat(mu)), bigInvRootTwoPi)
}

// bigMills returns the Mills ratio M(x) = integral_0^inf exp(-x t - t^2/2) dt.
func bigMills(t testing.TB, x *big.Float) *big.Float {
	t.Helper()
	xFloat, _ := x.Float64()
	return bigIntegral(t,
		func(n bigNode) float64 { w, _ := n.w.Float64(); return -w * (xFloat + w/2) },
		func(n bigNode) *big.Float {
			return bigNew().Neg(bigMul(n.w, bigAdd(x, bigScale(n.w, -1))))
		},
		func(bigNode) *big.Float { return bigFloat(1) })
}
