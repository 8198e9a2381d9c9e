package audit_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/audit"
)

// bigBelow returns P(Bin(n, p) <= k), the probability of at most k successes in n trials, summed
// with 200 bits.
func bigBelow(k, n int, p float64) float64 {
	at := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	odds := at(p)
	odds.Quo(odds, new(big.Float).SetPrec(200).Sub(at(1), at(p)))
	term, sum, total := at(1), at(0), at(0) // in units of (1-p)^n
	for j := range n + 1 {
		if j <= k {
			sum.Add(sum, term)
		}
		total.Add(total, term)
		term.Mul(term, odds).Mul(term, at(float64(n-j))).Quo(term, at(float64(j+1)))
	}
	f, _ := sum.Quo(sum, total).Float64()
	return f
}

// TestIntervalsAgainstBinomialSums tests the bounds on rates by an exact sum: if the rate is equal to the
// bound, the probability of the observed outcome or a more extreme one must be at most the allowed failure
// probability, and only slightly less. The test fails if the beta function's arguments are shifted by one
// or the bound is rounded to the wrong side.
func TestIntervalsAgainstBinomialSums(t *testing.T) {
	for _, n := range []int{1, 2, 10, 137, 3000} {
		for _, k := range []int{0, 1, n / 100, n / 3, n / 2, n - 1} {
			for _, failure := range []float64{.5, .025, 5e-7, 1e-12} {
				if k < 0 || k >= n {
					continue
				}
				hi, err := audit.UpperRate(k, n, failure)
				if err != nil {
					t.Fatal(err)
				}
				// The bound is a float64: near 1 its distance from 1 is coarse.
				coarse := float64(n-k) * 0x1p-51 / (1 - hi)
				if got := bigBelow(k, n, hi); got > failure || got < failure*(1-1e-4-coarse) {
					t.Errorf("%d of %d, failure %v: P(at most so many) = %v at the bound %v", k, n, failure, got, hi)
				}
				lo, err := audit.LowerRate(n-k, n, failure)
				if err != nil {
					t.Fatal(err)
				}
				if lo != 1-hi {
					t.Errorf("%d of %d: lower bound %v: want %v by symmetry", n-k, n, lo, 1-hi)
				}
			}
		}
	}
}

// TestIntervalsCover sums, over all outcomes, the probability that a bound on a rate is on the wrong side
// of the rate. At every rate this probability must be at most the allowed failure probability.
func TestIntervalsCover(t *testing.T) {
	const n, failure = 60, .05
	var bound [n + 1]float64
	for k := range bound {
		var err error
		if bound[k], err = audit.UpperRate(k, n, failure); err != nil {
			t.Fatal(err)
		}
	}
	for p := .002; p < 1; p += .002 {
		var missed float64
		for k, b := range bound {
			if b < p {
				missed += binomial(k, n, p)
			}
		}
		if missed > failure {
			t.Errorf("rate %v: the bound is below with probability %v", p, missed)
		}
	}
}

// binomial returns P(Bin(n, p) = k), computed by multiplication, as a check of other formulas.
func binomial(k, n int, p float64) float64 {
	f := 1.0
	for j := range k {
		f *= p * float64(n-j) / float64(j+1)
	}
	return f * math.Pow(1-p, float64(n-k))
}

func TestIntervalRefusals(t *testing.T) {
	for _, c := range []struct {
		k, n    int
		failure float64
	}{{0, 0, .1}, {-1, 3, .1}, {4, 3, .1}, {1, 3, 0}, {1, 3, 1}, {1, 3, math.NaN()}} {
		if _, err := audit.UpperRate(c.k, c.n, c.failure); err == nil {
			t.Errorf("UpperRate(%d, %d, %v): want an error", c.k, c.n, c.failure)
		}
		if _, err := audit.LowerRate(c.k, c.n, c.failure); err == nil {
			t.Errorf("LowerRate(%d, %d, %v): want an error", c.k, c.n, c.failure)
		}
	}
}
