package account

import (
	"fmt"
	"math"
)

// RhoOfMu returns the zCDP parameter rho = mu^2/2 of the mu-GDP Gaussian mechanism (Bun & Steinke
// 2016, proposition 1.6), rounded up. mu must be finite and >= 0. It is an error if rho overflows.
func RhoOfMu(mu float64) (float64, error) {
	if err := gaussianNonNegative("mu", mu); err != nil {
		return 0, err
	}
	if mu == 0 {
		return 0, nil
	}
	f, e := math.Frexp(mu)
	rho := normalRoundUp(ddProd(f, f), 2*e-1)
	if math.IsInf(rho, 0) {
		return 0, fmt.Errorf("account: mu = %v: must be small enough for a finite rho = mu^2/2", mu)
	}
	return rho, nil
}

// MuOfRho returns the greatest float64 mu whose Gaussian mechanism is rho-zCDP: sqrt(2 rho),
// rounded down, so that a budget of rho is never exceeded. The result holds for the Gaussian
// mechanism only: rho-zCDP does not imply mu-GDP. rho must be finite and >= 0.
func MuOfRho(rho float64) (float64, error) {
	if err := gaussianNonNegative("rho", rho); err != nil {
		return 0, err
	}
	f, e := math.Frexp(rho)
	if e++; e%2 != 0 { // 2 rho = f 2^e with e even
		f, e = 2*f, e-1
	}
	root := math.Sqrt(f)
	if math.FMA(root, root, -f) > 0 {
		root = math.Nextafter(root, 0)
	}
	return math.Ldexp(root, e/2), nil
}

// ZCDPDelta returns a delta with which every rho-zCDP mechanism is (epsilon, delta)-DP, the best
// bound of Canonne, Kamath & Steinke (2020, section 2.3), rounded up:
//
//	delta = min over alpha > 1 of exp((alpha-1)(alpha rho - epsilon))/(alpha-1) (1 - 1/alpha)^alpha
//
// For a Gaussian mechanism [GaussianDelta] is smaller. rho and epsilon must be finite and >= 0. rho
// = 0 gives delta 0; otherwise the result is in (0, 1].
func ZCDPDelta(rho, epsilon float64) (float64, error) {
	if err := gaussianNonNegative("rho", rho); err != nil {
		return 0, err
	}
	if err := gaussianNonNegative("epsilon", epsilon); err != nil {
		return 0, err
	}
	return zcdpDelta(rho, epsilon), nil
}

// ZCDPEpsilon returns the least float64 epsilon with ZCDPDelta(rho, epsilon) <= delta: the bound of
// [ZCDPDelta] solved for epsilon and rounded up, 0 if epsilon = 0 is enough. rho must be finite and
// >= 0, delta in (0, 1). It is an error if epsilon overflows.
func ZCDPEpsilon(rho, delta float64) (float64, error) {
	if err := gaussianNonNegative("rho", rho); err != nil {
		return 0, err
	}
	if err := gaussianProbability("delta", delta); err != nil {
		return 0, err
	}
	if zcdpDelta(rho, 0) <= delta {
		return 0, nil
	}
	epsilon, ok := normalLeast(func(epsilon float64) bool {
		return zcdpDelta(rho, epsilon) <= delta
	})
	if !ok {
		return 0, fmt.Errorf("account: rho = %v: must be small enough for a finite epsilon at delta = %v", rho, delta)
	}
	return epsilon, nil
}

// zcdpDelta is [ZCDPDelta] for finite rho, epsilon >= 0. With t = alpha - 1,
//
//	ln delta = t ((1+t) rho - epsilon) - t ln(1+1/t) - ln(1+t)
//
// is convex in t. Every t gives a valid bound, so that t may be found in float64: its rounding
// error changes the minimum to second order only, by less than 2^-90. ln delta itself is computed
// in double-double, to 2^-85.
func zcdpDelta(rho, epsilon float64) float64 {
	if rho == 0 {
		return 0
	}
	order := zcdpOrder(rho, epsilon)
	if order*((1+order)*rho-epsilon) < -1000 {
		return math.SmallestNonzeroFloat64
	}
	t := dd{order, 0}
	drift := t.mul(dd{1, 0}.add(t).mulFloat(rho).sub(dd{epsilon, 0}))
	entropy := t.mul(ddLog1p(dd{1, 0}.div(t))).add(ddLog1p(t))
	ln := drift.sub(entropy)
	switch {
	case ln.hi < -760:
		return math.SmallestNonzeroFloat64
	case !(ln.hi < 0): // includes an intermediate overflow
		return 1
	}
	v, k := ddExp(ln)
	return min(1, normalCeil(v, k))
}

// zcdpOrder returns t = alpha - 1 at the minimum of zcdpDelta, the root of
//
//	2 t rho - (epsilon - rho) - ln(1+1/t)
//
// which increases in t. epsilon - rho is computed first, because it is exact where it cancels. A
// root exists, because 2t overflows in the end.
func zcdpOrder(rho, epsilon float64) float64 {
	gap := epsilon - rho
	t, _ := normalLeast(func(t float64) bool {
		return float64(2*t*rho)-gap-math.Log1p(1/t) >= 0
	})
	return t
}
