package mechanism

import (
	"cmp"
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
	if err := cmp.Or(gaussianNonNegative("mu", mu), gaussianNonNegative("epsilon", epsilon)); err != nil {
		return 0, err
	}
	return gaussianDelta(mu, epsilon), nil
}

// GaussianEpsilon returns the least epsilon with which every mu-GDP mechanism is (epsilon, delta)-DP, rounded up. It is
// the least float64 >= 0 with GaussianDelta(mu, epsilon) <= delta. mu must be finite and >= 0, delta in (0, 1). It is
// an error if epsilon overflows. A call takes about a tenth of a millisecond.
func GaussianEpsilon(mu, delta float64) (float64, error) {
	if err := cmp.Or(gaussianNonNegative("mu", mu), probabilityDelta(delta)); err != nil {
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
