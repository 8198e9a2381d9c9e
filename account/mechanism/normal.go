package mechanism

import "math"

// millsTerms is the number of nodes of the sum in mills. The sum is a trapezoidal rule of step 1/2.
// With this number of terms, the terms left out and the discretisation error are both smaller than
// the rounding error.
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
func normalCeil(v dd, k int) float64 {
	return normalRoundUp(v.add(dd{v.hi * normalBound, 0}), k)
}

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

// normalLeast returns the least x in (0, MaxFloat64] for which ok(x) is true. ok must be monotone:
// false below some x and true from that x on. The second result is false if ok(MaxFloat64) is
// false, which means that there is no such x. normalLeast bisects on the bit patterns of x, read as
// integers: they have the same order as the numbers. It calls ok at most 64 times. ok is true at
// the returned x even if ok is not monotone.
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
	lo, hi := uint64(0), math.Float64bits(math.Inf(1))
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; ok(math.Float64frombits(mid)) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Float64frombits(lo)
}
