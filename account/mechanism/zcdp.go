package mechanism

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// ZCDP returns a rho such that the events together are rho-zCDP, rounded up. The rho of one release is mu^2/2 for a
// Gaussian, epsilon^2/2 for pure DP and epsilon^2/8 for bounded range. The rho of the releases add (Bun & Steinke 2016;
// Cesar & Rogers 2021). It is an error for mechanisms without a useful finite rho, such as sampled Gaussians.
func ZCDP(ctx context.Context, events []Composed) (float64, error) {
	if _, err := gather(ctx, events, 1e-3); err != nil { // for its checks
		return 0, err
	}
	var sum float64
	for i, e := range events {
		var rho float64
		if g, ok := asGaussian(e.Mechanism); ok {
			mu := round.DivUp(g.sensitivity, g.multiplier)
			rho = round.MulUp(mu, mu) / 2
		} else if b, ok := e.Mechanism.(boundedMechanism); ok {
			rho = round.MulUp(b.epsilon, b.epsilon) / 2
			if b.rangeOnly {
				rho /= 4
			}
		} else if d, ok := e.Mechanism.(discreteGaussian); ok {
			rho = d.rho()
		} else {
			return 0, fmt.Errorf("account: event %d: %v: no zCDP bound", i, e.Mechanism)
		}
		sum = round.AddUp(sum, round.MulUp(float64(e.Count), rho))
	}
	if math.IsInf(sum, 1) {
		return 0, fmt.Errorf("account: rho: must be small enough for a float64")
	}
	return sum, nil
}

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

// ZCDPDelta returns a delta with which every rho-zCDP mechanism is (epsilon, delta)-DP, rounded up.
// It is the best bound of Canonne, Kamath & Steinke (2020, section 2.3):
//
//	delta = min over alpha > 1 of exp((alpha-1)(alpha rho - epsilon))/(alpha-1) (1 - 1/alpha)^alpha
//
// For a Gaussian mechanism [GaussianDelta] is smaller. rho and epsilon must be finite and >= 0. rho
// = 0 gives delta 0; otherwise the result is in (0, 1].
func ZCDPDelta(rho, epsilon float64) (float64, error) {
	if err := cmp.Or(gaussianNonNegative("rho", rho), gaussianNonNegative("epsilon", epsilon)); err != nil {
		return 0, err
	}
	return zcdpDelta(rho, epsilon), nil
}

// ZCDPEpsilon returns the least float64 epsilon >= 0 with ZCDPDelta(rho, epsilon) <= delta: the
// bound of [ZCDPDelta] solved for epsilon and rounded up. rho must be finite and >= 0, and delta
// must be in (0, 1). It is an error if epsilon overflows.
func ZCDPEpsilon(rho, delta float64) (float64, error) {
	if err := cmp.Or(gaussianNonNegative("rho", rho), probabilityDelta(delta)); err != nil {
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

// zcdpDelta computes [ZCDPDelta] for finite rho, epsilon >= 0. With t = alpha - 1,
//
//	ln delta = t ((1+t) rho - epsilon) - t ln(1+1/t) - ln(1+t)
//
// is convex in t. The function minimises ln delta over t. Every t > 0 gives a valid bound, so t is
// found in float64. The rounding error of t changes ln delta to second order only, by less than
// 2^-90. ln delta itself is computed in double-double arithmetic, with error at most 2^-85.
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

// zcdpOrder returns the t = alpha - 1 at which zcdpDelta has its minimum. It returns the root of the
// derivative of ln delta,
//
//	2 t rho - (epsilon - rho) - ln(1+1/t)
//
// which increases in t. epsilon - rho is computed first, because this difference is exact if it
// cancels. A root exists: the expression is negative for small t, and 2t overflows for large t.
func zcdpOrder(rho, epsilon float64) float64 {
	gap := epsilon - rho
	t, _ := normalLeast(func(t float64) bool {
		return float64(2*t*rho)-gap-math.Log1p(1/t) >= 0
	})
	return t
}
