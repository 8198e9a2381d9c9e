package mechanism

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// renyiSlack bounds the relative rounding error of a computed Renyi divergence.
const renyiSlack = 1e-11

// responseRenyi returns the Renyi divergence of order a of randomized response with epsilon e,
// ln(cosh((a-1/2) e)/cosh(e/2))/(a-1).
func responseRenyi(order, epsilon float64) float64 {
	x, y := order*epsilon/2, (order-1)*epsilon/2
	var v float64
	if x > 300 { // ln(2 sinh x sinh y / cosh(e/2)) without overflow
		v = x + y - epsilon/2 + math.Log1p(math.Exp(-2*(x+y))) - math.Log1p(math.Exp(-epsilon))
	} else {
		v = math.Log1p(2 * math.Sinh(x) * math.Sinh(y) / math.Cosh(epsilon/2))
	}
	return min(epsilon, v/(order-1)*(1+renyiSlack))
}

// laplaceRenyi returns the Renyi divergence of order a of the Laplace mechanism with epsilon e, ln((a e^((a-1)e) +
// (a-1) e^(-a e))/(2a-1))/(a-1) (Mironov 2017, proposition 6). The argument of the logarithm, minus 1, is a power
// series in e without a linear term. For small a e it is computed from this series.
func laplaceRenyi(order, epsilon float64) float64 {
	a, e := order, epsilon
	var v float64
	switch {
	case a*e < 1e-2:
		// v is the argument of the logarithm minus 1: a(a-1) times the sum over n >= 2 of ((a-1)^(n-1) +
		// (-1)^n a^(n-1)) e^n/(n! (2a-1)).
		power, low, high, term := e, 1.0, 1.0, 0.0
		for n := 2; n <= 10; n++ {
			power *= e / float64(n)
			low, high = low*(a-1), high*-a
			term += (low - high) * power / (2*a - 1)
		}
		v = math.Log1p(a * (a - 1) * term)
	case (a-1)*e > 300:
		v = (a-1)*e + math.Log(a/(2*a-1)) + math.Log1p((a-1)/a*math.Exp(-(2*a-1)*e))
	default:
		v = math.Log1p((a*math.Expm1((a-1)*e) + (a-1)*math.Expm1(-a*e)) / (2*a - 1))
	}
	return min(epsilon, v/(order-1)*(1+renyiSlack))
}

// boundedRangeRenyi returns the largest Renyi divergence of order a among pairs of two atoms at
// losses t and t - e, where e is epsilon. With y = exp(t) and A = (exp(e) - exp(-(a-1)e))/(exp(e) -
// 1), the divergence ln(y^(a-1) A/a)/(a-1) is largest at y = ((a-1)/a) (exp(a e) - 1)/(exp((a-1)e)
// - 1). The divergence is at most a e^2/8.
func boundedRangeRenyi(order, epsilon float64) float64 {
	a, e := order, epsilon
	bound := round.MulUp(round.MulUp(e, e), a/8)
	if a*e < 1e-2 {
		return bound
	}
	logY := math.Log1p(-1/a) + e + math.Log(math.Expm1(-a*e)/math.Expm1(-(a-1)*e))
	logA := math.Log(math.Expm1(-a*e) / math.Expm1(-e))
	v := logY + (logA-math.Log(a))/(a-1)
	return min(e, bound, v+0x1p-46*(1+1/(a-1)))
}
