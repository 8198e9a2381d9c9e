package mechanism

import (
	"math"
	"testing"
)

func phi(x float64) float64      { return math.Erfc(-x/math.Sqrt2) / 2 }
func quantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// TestSelectionMuIsTheLeast tests SelectionMu against the definition. For every range of losses [t
// - epsilon, t], the trade-off function of mu-GDP must be nowhere above the trade-off function of
// that range. With a slightly smaller mu this must fail for t = epsilon/2.
func TestSelectionMuIsTheLeast(t *testing.T) {
	t.Parallel()
	for _, epsilon := range []float64{1e-6, .01, .3, 1, 2.5, 6, 16} {
		mu, err := SelectionMu(epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * quantile(1/(1+math.Exp(-epsilon/2))); !(math.Abs(mu/want-1) <= 1e-9) {
			t.Errorf("epsilon %v: mu = %v, want %v", epsilon, mu, want)
		}
		below := func(mu, s float64) bool { // of the range [s - epsilon, s]
			ok := true
			for i := -400; i <= 400; i++ {
				a := 1 / (1 + math.Exp(float64(i)/20))
				f := max(1-math.Exp(epsilon-s)*a, math.Exp(-s)*(1-a))
				ok = ok && phi(quantile(1-a)-mu) <= f*(1+1e-9)+1e-15
			}
			// The test at the kink of the trade-off function.
			a := -math.Expm1(-s) / (math.Exp(epsilon-s) - math.Exp(-s))
			return ok && phi(quantile(1-a)-mu) <= math.Exp(-s)*(1-a)*(1+1e-9*epsilon)+1e-14
		}
		for i := 1; i < 200; i++ {
			if s := epsilon * float64(i) / 200; !below(mu*(1+1e-9), s) {
				t.Errorf("epsilon %v: G_mu is not below the curve of losses up to %v", epsilon, s)
			}
		}
		if epsilon > 1e-3 && below(mu*(1-1e-4), epsilon/2) {
			t.Errorf("epsilon %v: a smaller mu would do", epsilon)
		}
	}
}

// TestHazardInequality tests the inequality of SelectionMu's proof numerically: r(z) - r(-z) is at
// least z, where r is the hazard rate of the standard normal.
func TestHazardInequality(t *testing.T) {
	r := func(z float64) float64 {
		return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / (math.Erfc(z/math.Sqrt2) / 2)
	}
	for z := .01; z < 12; z += .01 {
		if !(r(z)-r(-z) >= z) {
			t.Errorf("z = %v: %v", z, r(z)-r(-z))
		}
	}
}
