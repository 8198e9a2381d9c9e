package mechanism

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/memo"
)

// GaussianDelta returns the least delta with which every mu-GDP mechanism is (epsilon, delta)-DP:
//
//	delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
//
// (Balle & Wang 2018, theorem 8; Dong, Roth & Su 2022, corollary 1). The Gaussian mechanism of sensitivity mu and noise
// of standard deviation 1 attains this delta. The computed result is rounded up: it exceeds the exact delta by at most
// 2^-79 of itself, and by at most 2^-73 if epsilon is below 2^-22 mu.
//
// mu and epsilon must be finite and >= 0; mu = 0 gives delta 0. The result is in [0, 1],
// nonincreasing in epsilon, nondecreasing in mu and positive for mu > 0. A delta below the range of
// float64 is returned as the least positive float64. A call takes about two microseconds. It uses
// correctly rounded operations only, so that every machine returns the same bits.
func GaussianDelta(mu, epsilon float64) (float64, error) {
	if err := gaussianNonNegative("mu", mu); err != nil {
		return 0, err
	}
	if err := gaussianNonNegative("epsilon", epsilon); err != nil {
		return 0, err
	}
	return gaussianDelta(mu, epsilon), nil
}

// GaussianEpsilon returns the least epsilon with which every mu-GDP mechanism is (epsilon, delta)-DP, rounded up. It is
// the least float64 >= 0 with GaussianDelta(mu, epsilon) <= delta. mu must be finite and >= 0, delta in (0, 1). It is
// an error if epsilon overflows. A call takes about a tenth of a millisecond.
func GaussianEpsilon(mu, delta float64) (float64, error) {
	if err := gaussianNonNegative("mu", mu); err != nil {
		return 0, err
	}
	if err := probabilityDelta(delta); err != nil {
		return 0, err
	}
	if gaussianDelta(mu, 0) <= delta {
		return 0, nil
	}
	return gaussianEpsilons.Of([2]float64{mu, delta}, func() (float64, error) {
		epsilon, ok := normalLeast(func(epsilon float64) bool {
			return gaussianDelta(mu, epsilon) <= delta
		})
		if !ok {
			return 0, fmt.Errorf("account: mu = %v: must be small enough for a finite epsilon at delta = %v", mu, delta)
		}
		return epsilon, nil
	})
}

// GaussianMu returns the greatest mu for which every mu-GDP mechanism is (epsilon, delta)-DP, rounded down. It is the
// greatest float64 with GaussianDelta(mu, epsilon) <= delta. epsilon must be finite and > 0, delta in (0, 1).
func GaussianMu(epsilon, delta float64) (float64, error) {
	if err := gaussianNonNegative("epsilon", epsilon); err != nil || epsilon == 0 {
		return 0, fmt.Errorf("account: epsilon = %v: must be finite and > 0", epsilon)
	}
	if err := probabilityDelta(delta); err != nil {
		return 0, err
	}
	return gaussianMus.Of([2]float64{epsilon, delta}, func() (float64, error) {
		return normalGreatest(func(mu float64) bool {
			return gaussianDelta(mu, epsilon) <= delta
		}), nil
	})
}

// gaussianEpsilons and gaussianMus keep results of GaussianEpsilon by mu and delta, and of GaussianMu by
// epsilon and delta: a budget, a cap and a certificate each convert the same ones.
var gaussianEpsilons, gaussianMus memo.Memo[[2]float64, float64]

// gaussianRestBound is the allowed relative error of a computed 1 - delta. The function gaussianDelta
// computes 1 - delta instead of delta if a = epsilon/mu - mu/2 is negative. The error bound derived
// at gaussianDelta is smaller, 2^-94.
const gaussianRestBound = 0x1p-88

// These limits are for a = epsilon/mu - mu/2. For a > gaussianFar, delta < phi(40) M(40) < 2^-1074, where phi is the
// standard normal density and M(x) = Phi(-x)/phi(x) the Mills ratio, so that delta need not be computed. For a <
// gaussianNear, 1 - delta < 2 Phi(-9) < 2^-61, so that delta rounds to 1.
const (
	gaussianFar  = 40
	gaussianNear = -9
)

// gaussianDelta is [GaussianDelta] for finite mu, epsilon >= 0. With m = epsilon/mu, a = m - mu/2,
// b = m + mu/2 and the Mills ratio M, the identity e^epsilon phi(b) = phi(a) turns delta into
//
//	phi(a) (M(a) - M(b))         a >= 0
//	1 - phi(a) (M(-a) + M(b))    a < 0
//
// These formulas do not overflow, and they keep the relative precision of a very small delta. Relative errors: phi(a)
// has 2^-90, since a^2/2 <= 800 has an absolute error of 2^-100; M has 2^-95. For mu > 1/64 the difference M(a) - M(b)
// loses 12 bits, since it is at least K(a + 1/64)/64 with the K of gaussianMillsStep. Together the error is less than
// 2^-81. Where a < 0, a^2/2 <= 41 and 1 - delta has an error of 2^-94; delta is then at least 2^-8.
//
// The result is monotone. Moving an argument to the next float64 changes delta by at least 2^-79 of itself, or 1 -
// delta by 2^-77 of itself where a < 0 and mu > 2. This change is more than twice the error. To ensure this, an epsilon
// below 2^-22 mu is first rounded down to a multiple of about 2^-75 mu. This rounding can only raise delta.
func gaussianDelta(mu, epsilon float64) float64 {
	if mu == 0 {
		return 0
	}
	f, e := math.Frexp(mu)
	if grid := math.Ldexp(1, e-75); epsilon < math.Ldexp(1, e-22) && grid > 0 {
		epsilon = math.Floor(epsilon/grid) * grid
	}
	a := gaussianPoint(f, e, epsilon)
	switch {
	case a.hi > gaussianFar:
		return math.SmallestNonzeroFloat64
	case a.hi < gaussianNear:
		return 1
	}
	half := a.mul(a).scale(-1)
	phi, k := ddExp(half.neg())
	phi = phi.div(ddSqrt2Pi)
	if mu <= gaussianSmall {
		step := gaussianMillsStep(mu, gaussianQuotient(f, e, epsilon))
		return min(1, normalCeil(phi.mulFloat(f).mul(step), k+e))
	}
	b := a.add(dd{mu, 0})
	if a.hi < 0 {
		rest := phi.mul(mills(a.neg()).add(mills(b))).scale(k)
		rest = rest.sub(dd{rest.hi * gaussianRestBound, 0})
		return min(1, normalRoundUp(dd{1, 0}.sub(rest), 0))
	}
	return min(1, normalCeil(phi.mul(mills(a).sub(mills(b))), k))
}

// gaussianPoint returns a = epsilon/mu - mu/2 in double-double arithmetic. mu is given as f 2^e. For
// mu >= 2^-7 the function computes (2 epsilon - mu^2)/(2 mu), where the numerator is the sum of three
// float64. A cancellation between epsilon and mu^2/2 is then exact, and the relative error is at most
// 2^-101. For smaller mu the absolute error is at most 2^-102 epsilon/mu, which is small enough.
func gaussianPoint(f float64, e int, epsilon float64) dd {
	if e < -6 {
		m := gaussianQuotient(f, e, epsilon)
		if m.hi > gaussianFar+1 { // delta is then not computed; m may be infinite
			return m
		}
		return m.sub(dd{math.Ldexp(f, e-1), 0})
	}
	twice := math.Ldexp(epsilon, 1-2*e)
	if math.IsInf(twice, 0) {
		return dd{twice, 0}
	}
	return dd{twice, 0}.sub(ddProd(f, f)).div(dd{2 * f, 0}).scale(e)
}

// gaussianQuotient returns epsilon/mu in double-double arithmetic, for mu given as f 2^e.
func gaussianQuotient(f float64, e int, epsilon float64) dd {
	scaled := math.Ldexp(epsilon, -e)
	if scaled > 0x1p1000 { // the division might overflow
		return dd{scaled, 0}
	}
	return dd{scaled, 0}.div(dd{f, 0})
}

// gaussianSmall is the largest mu for which the error bound of gaussianMillsStep holds.
const gaussianSmall = 1.0 / 64

// gaussianMillsStep returns (M(m - mu/2) - M(m + mu/2))/mu, where M is the Mills ratio, for 0 <= m
// <= 41 and mu <= gaussianSmall. Let I_n = (-1)^n M^(n)(m) = integral_0^inf t^n exp(-m t - t^2/2)
// dt > 0. Taylor's series about m has positive terms only:
//
//	sum_{j = 0, 1, ...} (mu/2)^2j I_{2j+1}/(2j+1)!
//
// where I_0 = M(m), K = I_1 = 1 - m I_0 and I_{n+1} = n I_{n-1} - m I_n. The terms from 2j+1 = 13
// on are below 2^-100 of the first term. Each step of the recurrence multiplies the error of I_0 by
// m. Each step of the series multiplies the error by at most mu/2. The relative error of the sum is
// therefore at most the relative error of I_1, which is 2^-95 m M/K < 2^-84.
func gaussianMillsStep(mu float64, m dd) dd {
	const last = 11
	previous := mills(m)
	current := dd{1, 0}.sub(m.mul(previous))
	sum := current
	coefficient := dd{1, 0}
	quarter := ddProd(mu/2, mu/2)
	for n := 1; n < last; n++ {
		previous, current = current, previous.mulFloat(float64(n)).sub(m.mul(current))
		if n%2 == 0 {
			coefficient = coefficient.mul(quarter).div(dd{float64(n * (n + 1)), 0})
			sum = sum.add(coefficient.mul(current))
		}
	}
	return sum
}

func gaussianNonNegative(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 0) {
		return fmt.Errorf("account: %s = %v: must be finite and >= 0", name, x)
	}
	return nil
}

func probabilityDelta(delta float64) error {
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("account: delta = %v: must be > 0 and < 1", delta)
	}
	return nil
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

// muOfRho returns the greatest float64 mu for which the mu-GDP Gaussian mechanism is rho-zCDP. This
// is sqrt(2 rho), rounded down, so that a budget of rho is never exceeded. The result holds for the
// Gaussian mechanism only: rho-zCDP does not imply mu-GDP. rho must be finite and >= 0.
func muOfRho(rho float64) (float64, error) {
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

// ZCDPDelta returns a delta with which every rho-zCDP mechanism is (epsilon, delta)-DP, rounded up.
// It is the best bound of Canonne, Kamath & Steinke (2020, section 2.3):
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

// ZCDPEpsilon returns the least float64 epsilon >= 0 with ZCDPDelta(rho, epsilon) <= delta: the
// bound of [ZCDPDelta] solved for epsilon and rounded up. rho must be finite and >= 0, and delta
// must be in (0, 1). It is an error if epsilon overflows.
func ZCDPEpsilon(rho, delta float64) (float64, error) {
	if err := gaussianNonNegative("rho", rho); err != nil {
		return 0, err
	}
	if err := probabilityDelta(delta); err != nil {
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

// selectionLeast and selectionMost are the least and the greatest Epsilon of a selection. Between
// these limits, the two probabilities that SelectionMu compares are far from the ends of the range
// of float64, and their rounding errors are far smaller than the difference that decides.
const selectionLeast, selectionMost = 0x1p-40, 16

// SelectionMu returns the least mu for which every mechanism of epsilon-bounded range is mu-GDP,
// rounded up. epsilon must be in [2^-40, 16].
//
//	mu = 2 Phi^-1(1/(1 + e^(-epsilon/2))),  about sqrt(pi/8) epsilon = 0.627 epsilon.
//
// On every pair of neighbouring tables, a mu-GDP mechanism is a post-processing of the Gaussian mechanism (Blackwell's
// theorem; Dong, Roth & Su 2022). Selections therefore compose with Gaussian releases under one filter.
//
// Proof. Between two neighbouring tables the loss log P/Q lies in [t - epsilon, t] for some t in
// [0, epsilon], so the trade-off function of P and Q is at least
//
//	f_t(a) = max(1 - e^(epsilon-t) a, e^(-t) (1 - a)).
//
// These are two segments from (0, 1) and (1, 0) that meet at a kink (a_t, b_t). G_mu, the trade-off
// function of mu-GDP, is convex and has the same ends, so on either segment it is below the chord.
// Hence G_mu <= f_t everywhere if and only if G_mu(a_t) <= b_t, that is mu >= Phi^-1(1-a_t) -
// Phi^-1(b_t). The odds of 1-a_t exceed the odds of b_t by a factor e^epsilon for every t. With
// g(x) = Phi^-1(1/(1+e^-x)) the bound is g(x+epsilon) - g(x) for some x. The odd function g is
// concave for x > 0, as shown below, so g' is even and decreases in |x|, and the difference is
// largest at x = -epsilon/2, where it is 2 g(epsilon/2).
//
// Concavity: with z = g(x) > 0, log g' = log p(1-p) + z^2/2 + constant for p = Phi(z), so g is concave if z Phi(z)
// Phi(-z) <= phi(z) (Phi(z) - Phi(-z)). Divided by Phi(z) Phi(-z) this is D(z) = r(z) - r(-z) - z >= 0 for the hazard r
// = phi/Phi(-.), whose derivative r' = r (r - z) increases strictly (Sampford 1953). D(0) = 0, D'(0) = 4/pi - 1 > 0,
// and D > 0 for large z, where r(z) - z ~ 1/z. Where D = 0, r(z) - z = r(-z) gives r'(z) = r(z) r(-z) = r'(-z), so D' =
// 2 r'(-z) - 1, which decreases in z. D therefore cannot cross zero downwards at one z and upwards at a later one, and
// is never negative. QED
func SelectionMu(epsilon float64) (float64, error) {
	if !(epsilon >= selectionLeast && epsilon <= selectionMost) {
		return 0, fmt.Errorf("account: selection: epsilon = %v: must be between 2^-40 and %v", epsilon,
			float64(selectionMost))
	}
	// The condition on mu is 2 Phi(mu/2) - 1 >= 2/(1 + e^(-epsilon/2)) - 1 = (e^y - 1)/(e^y + 1),
	// where y = epsilon/2. The left side is the delta of mu-GDP at epsilon = 0. gaussianDelta(mu,
	// 0) computes it and exceeds the exact value by less than 2^-51 of itself.
	y := dd{epsilon / 2, 0}
	var m dd
	if y.hi <= .25 {
		m = ddExpm1Small(y)
	} else {
		v, k := ddExp(y)
		m = v.scale(k).sub(dd{1, 0})
	}
	want := normalCeil(m.div(m.add(dd{2, 0})), 0)
	return selectionMus.Of(epsilon, func() (float64, error) {
		mu, _ := normalLeast(func(mu float64) bool {
			return float64(gaussianDelta(mu, 0)*(1-0x1p-50)) >= want
		})
		return mu, nil
	})
}

// selectionMus keeps results of SelectionMu by epsilon.
var selectionMus memo.Memo[float64, float64]
