package mechanism

import "math"

// millsTerms is the number of nodes of the sum in mills. The sum is a trapezoidal rule of step 1/2. With this number of
// terms, the terms left out and the discretisation error are both smaller than the rounding error.
const millsTerms = 24

// millsNodes holds u_k^2 and millsWeights holds 2h phi(u_k), for the standard normal density phi, the
// nodes u_k = (2k+1)/4 and the step h = 1/2 of a trapezoidal rule.
var (
	millsNodes   [millsTerms]float64
	millsWeights [millsTerms]dd
)

func init() {
	for k := range millsTerms {
		u := float64(2*k+1) / 4
		millsNodes[k] = u * u
		v, e := ddExp(dd{-u * u / 2, 0})
		millsWeights[k] = v.scale(e).div(ddSqrt2Pi)
	}
}

// mills returns the Mills ratio of the standard normal,
//
//	M(x) = Phi(-x)/phi(x) = integral_0^inf exp(-x t - t^2/2) dt,   x >= 0,
//
// with absolute error at most 2^-95 M(x) + 2^-110.
//
// With U standard normal, M(x) = E[x/(x^2+U^2)], and the trapezoidal rule with step h and nodes
// (k+1/2)h converges exponentially (Hunter & Regan 1972). The Fourier transform of phi(u)
// x/(x^2+u^2) at w is exp(-w^2/2) (M(x-w) + M(x+w))/2, so by Poisson's summation formula
//
//	sum = M(x) + sum_{j>=1} (-1)^j exp(-w_j^2/2) (M(x-w_j) + M(x+w_j)),   w_j = 2 pi j/h.
//
// Where x < w_j, M(x-w_j) = sqrt(2 pi) exp((x-w_j)^2/2) - M(w_j-x). The exponentials add up to
//
//	C(x) = sqrt(2 pi) exp(x^2/2)/(1 + exp(2 pi x/h)),
//
// so that M(x) = sum + C(x) for x < w_1 and M(x) = sum for x >= w_1. For h = 1/2 the error of these
// formulas is at most 2.6 exp(-2 pi^2/h^2) < 2^-112. The nodes left out would add less than 2^-108
// of the sum.
func mills(x dd) dd {
	if x.hi > 0x1p60 { // x^2 M(x) = x + O(1/x); x^2 might overflow
		return dd{1, 0}.div(x)
	}
	q := x.mul(x)
	var sum dd
	for k := millsTerms - 1; k >= 0; k-- {
		sum = sum.add(millsWeights[k].div(q.add(dd{millsNodes[k], 0})))
	}
	sum = sum.mul(x)
	if x.hi >= dd4Pi.hi {
		return sum
	}
	g, i := ddExp(dd{-q.hi / 2, -q.lo / 2})
	w, j := ddExp(dd4Pi.mul(x))
	return sum.add(ddSqrt2Pi.div(g.scale(i).mul(dd{1, 0}.add(w.scale(j)))))
}

// normalBound is the relative error that normalCeil assumes for every double-double result. The
// error bounds derived in this package are smaller, at most 2^-81.
const normalBound = 0x1p-80

// normalCeil returns a float64 that is an upper bound on every number within the relative distance
// normalBound of v 2^k. v must be > 0.
func normalCeil(v dd, k int) float64 { return normalRoundUp(v.add(dd{v.hi * normalBound, 0}), k) }

// normalRoundUp returns the least float64 that is at least v 2^k, for v > 0.
func normalRoundUp(v dd, k int) float64 {
	x := v.hi
	if v.lo > 0 {
		x = math.Nextafter(x, math.Inf(1))
	}
	y := math.Ldexp(x, k)
	if math.Ldexp(y, -k) < x { // y is subnormal and was rounded down
		y = math.Nextafter(y, math.Inf(1))
	}
	return y
}

// normalLeast returns the least x in (0, MaxFloat64] for which ok(x) is true. ok must be monotone: false below some x
// and true from that x on. The second result is false if ok(MaxFloat64) is false, which means that there is no such x.
// normalLeast bisects on the bit patterns of x, read as integers: they have the same order as the numbers. It calls ok
// at most 64 times. ok is true at the returned x even if ok is not monotone.
func normalLeast(ok func(float64) bool) (float64, bool) {
	lo, hi := uint64(0), math.Float64bits(math.MaxFloat64)
	if !ok(math.MaxFloat64) {
		return 0, false
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; ok(math.Float64frombits(mid)) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return math.Float64frombits(hi), true
}

// normalGreatest returns the greatest x in [0, MaxFloat64] for which ok(x) is true. ok must be
// monotone: true up to some x and false above it. ok(0) must be true; it is not called.
func normalGreatest(ok func(float64) bool) float64 {
	above, found := normalLeast(func(x float64) bool { return !ok(x) })
	if !found {
		return math.MaxFloat64
	}
	return math.Nextafter(above, 0)
}

// dd (double-double) is the unevaluated sum hi + lo of two float64 with |lo| <= ulp(hi)/2, which
// gives about 106 bits. Every operation below has relative error at most 2^-102 unless it overflows
// or underflows (Joldes, Muller & Popescu 2017: at most 15 units of 2^-106, for the division).
//
// A compiler may fuse a product into a sum. This would invalidate the error bounds and give different results on
// different machines. A product that is added to another number is therefore converted to float64 first, which forbids
// the fusion. Where the fusion is wanted, math.FMA is called.
type dd struct{ hi, lo float64 }

// Each constant is split at compile time: hi is the nearest float64, and lo is the remainder. Package
// math gives the constants with 60 digits.
var (
	ddLn2     = dd{0x1.62e42fefa39efp-1, math.Ln2 - 0x1.62e42fefa39efp-1}
	dd4Pi     = dd{0x1.921fb54442d18p+3, 4*math.Pi - 0x1.921fb54442d18p+3}
	ddSqrt2Pi = dd{0x1.40d931ff62706p+1, math.SqrtPi*math.Sqrt2 - 0x1.40d931ff62706p+1}
)

// ddFastSum returns a + b exactly. It needs |a| >= |b| or a = 0.
func ddFastSum(a, b float64) dd {
	s := a + b
	return dd{s, b - (s - a)}
}

// ddSum returns a + b exactly (Knuth's TwoSum).
func ddSum(a, b float64) dd {
	s := a + b
	t := s - a
	return dd{s, (a - (s - t)) + (b - t)}
}

// ddProd returns a * b exactly, unless the low part underflows.
func ddProd(a, b float64) dd {
	p := float64(a * b)
	return dd{p, math.FMA(a, b, -p)}
}

func (x dd) neg() dd { return dd{-x.hi, -x.lo} }

func (x dd) add(y dd) dd {
	s, t := ddSum(x.hi, y.hi), ddSum(x.lo, y.lo)
	v := ddFastSum(s.hi, s.lo+t.hi)
	return ddFastSum(v.hi, t.lo+v.lo)
}

func (x dd) sub(y dd) dd { return x.add(y.neg()) }

func (x dd) mul(y dd) dd {
	p := ddProd(x.hi, y.hi)
	cross := math.FMA(x.lo, y.hi, float64(x.lo*y.lo))
	return ddFastSum(p.hi, p.lo+math.FMA(x.hi, y.lo, cross))
}

func (x dd) mulFloat(y float64) dd {
	p := ddProd(x.hi, y)
	return ddFastSum(p.hi, math.FMA(x.lo, y, p.lo))
}

func (x dd) div(y dd) dd {
	q := x.hi / y.hi
	r := x.sub(y.mulFloat(q))
	return ddFastSum(q, r.hi/y.hi)
}

// scale returns x * 2^k. The result is exact unless it overflows or underflows.
func (x dd) scale(k int) dd { return dd{math.Ldexp(x.hi, k), math.Ldexp(x.lo, k)} }

// ddTerms is the degree of the Taylor polynomial of e^s - 1 in ddExpm1Small. It suffices for |s| <=
// ln2/128. The first term left out, s^12/12!, is below 2^-111 s.
const ddTerms = 11

var ddInverseFactorial = func() (c [ddTerms + 1]dd) {
	factorial := 1.0
	for n := 1; n <= ddTerms; n++ {
		factorial *= float64(n)
		c[n] = dd{1, 0}.div(dd{factorial, 0})
	}
	return c
}()

// ddExpm1Small returns e^r - 1 for |r| <= 0.35 with relative error at most 2^-98. It evaluates a
// Taylor polynomial p at s = r/64 and then applies e^2s - 1 = 2p + p^2 six times.
func ddExpm1Small(r dd) dd {
	const halvings = 6
	s := r.scale(-halvings)
	p := ddInverseFactorial[ddTerms]
	for n := ddTerms - 1; n >= 1; n-- {
		p = p.mul(s).add(ddInverseFactorial[n])
	}
	p = p.mul(s)
	for range halvings {
		p = dd{2 * p.hi, 2 * p.lo}.add(p.mul(p))
	}
	return p
}

// ddExp returns v and k with e^y = v 2^k and v in [0.7, 1.42], for
// |y| <= 2^20. The relative error is at most 2^-98 + |y| 2^-103.
func ddExp(y dd) (v dd, k int) {
	n := math.RoundToEven(y.hi / math.Ln2)
	p := ddExpm1Small(y.sub(ddLn2.mulFloat(n)))
	return dd{1, 0}.add(p), int(n)
}

// ddLog1p returns ln(1+s) for finite s > -1/2, with relative error at most 2^-96. It makes one step of third order from
// the float64 approximation y: ln(1+s) = y + z - z^2/2 + ..., where z = (1+s) e^-y - 1.
func ddLog1p(s dd) dd {
	if s.hi > 0.25 || s.hi < -0.25 {
		x := dd{1, 0}.add(s)
		y := math.Log(x.hi)
		v, k := ddExp(dd{-y, 0})
		_, e := math.Frexp(x.hi)
		z := x.scale(-e).mul(v).scale(k + e).sub(dd{1, 0})
		return dd{y, 0}.add(z.sub(dd{float64(z.hi*z.hi) / 2, 0}))
	}
	y := math.Log1p(s.hi)
	m := ddExpm1Small(dd{y, 0})
	z := s.sub(m).div(dd{1, 0}.add(m))
	return dd{y, 0}.add(z.sub(dd{float64(z.hi*z.hi) / 2, 0}))
}
