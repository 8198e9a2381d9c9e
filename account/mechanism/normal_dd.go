package mechanism

import "math"

// dd (double-double) is the unevaluated sum hi + lo of two float64 with |lo| <= ulp(hi)/2, which
// gives about 106 bits. Every operation below has relative error at most 2^-102 unless it overflows
// or underflows (Joldes, Muller & Popescu 2017: at most 15 units of 2^-106, for the division).
//
// A compiler may fuse a product into a sum. This would invalidate the error bounds and give
// different results on different machines. A product that is added to another number is therefore
// converted to float64 first, which forbids the fusion. Where the fusion is wanted, math.FMA is
// called.
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

// ddLog1p returns ln(1+s) for finite s > -1/2, with relative error at most 2^-96. It makes one step
// of third order from the float64 approximation y: ln(1+s) = y + z - z^2/2 + ..., where z = (1+s)
// e^-y - 1.
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
