package audit_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/audit"
)

func pValue(t testing.TB, g audit.Guesses, epsilon, delta float64) float64 {
	t.Helper()
	p, err := g.PValue(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func accuracy(epsilon float64) float64 { return 1 / (1 + math.Exp(-epsilon)) }

// tail returns P(Bin(n, p) >= v), the probability of at least v successes in n trials; v may be
// negative.
func tail(v, n int, p float64) (sum float64) {
	for k := max(v, 0); k <= n; k++ {
		sum += binomial(k, n, p)
	}
	return sum
}

// TestCanaryPValueFromTheTheorem compares PValue with the main theorem of Steinke, Nasr and
// Jagielski (2023), computed as printed: from binomial tails and with the maximum over all i.
func TestCanaryPValueFromTheTheorem(t *testing.T) {
	for _, m := range []int{1, 5, 40, 110} {
		for _, r := range []int{0, 1, m / 2, m} {
			for v := 0; v <= r; v += 1 + r/20 {
				for _, epsilon := range []float64{0, .3, 2} {
					for _, delta := range []float64{0, 1e-5, .01} {
						q := accuracy(epsilon)
						var most float64
						for i := 1; i <= m; i++ {
							most = max(most, (tail(v-i, r, q)-tail(v, r, q))/float64(i))
						}
						want := min(1, tail(v, r, q)+2*float64(m)*delta*most)
						got := pValue(t, audit.Guesses{Canaries: m, Made: r, Correct: v}, epsilon, delta)
						if math.Abs(got-want) > 1e-10*want+1e-13 {
							t.Errorf("m %d, r %d, v %d, epsilon %v, delta %v: %v, want %v", m, r, v, epsilon, delta, got, want)
						}
					}
				}
			}
		}
	}
}

// TestCanaryPValueHolds tries mechanisms that are known to be (epsilon, delta)-DP, whose distribution of
// right guesses can be computed exactly. Each of m bits is released by epsilon-DP randomized response. In
// addition, with probability m delta/i, a random set of i bits is released unchanged, so that a given bit
// is revealed with probability delta. PValue must be at least the true probability of at least as many
// right guesses. The test fails if the theorem's delta term is left out. For delta = 0 PValue must be equal
// to this probability.
func TestCanaryPValueHolds(t *testing.T) {
	const m = 12
	beaten := false
	for _, epsilon := range []float64{0, .5, 1.5} {
		q := accuracy(epsilon)
		for _, delta := range []float64{0, 1e-3, .02} {
			for i := 1; i <= m; i++ {
				p := min(1, m*delta/float64(i))
				for v := range m + 1 {
					law := (1-p)*tail(v, m, q) + p*tail(v-i, m-i, q)
					bound := pValue(t, audit.Guesses{Canaries: m, Made: m, Correct: v}, epsilon, delta)
					if law > bound*(1+1e-12) {
						t.Errorf("epsilon %v, delta %v, %d bits told: P(at least %d right) = %v, bound %v", epsilon, delta, i, v, law,
							bound)
					}
					if delta == 0 && law < bound*(1-1e-12) {
						t.Errorf("epsilon %v: P(at least %d right) = %v, bound %v: want equality", epsilon, v, law, bound)
					}
					beaten = beaten || law > 1.5*tail(v, m, q)
				}
			}
		}
	}
	if !beaten {
		t.Error("delta never mattered: the test shows nothing")
	}
}

// TestCanaryLowerBoundHolds computes the exact probability that LowerEpsilon exceeds the true
// epsilon of randomized response. It must be at most 1 - confidence, and not zero.
func TestCanaryLowerBoundHolds(t *testing.T) {
	const confidence = .95
	for _, m := range []int{1, 20, 150} {
		for _, epsilon := range []float64{.01, .4, 1, 3} {
			q := accuracy(epsilon)
			var exceeds, mean float64
			for v := range m + 1 {
				g := audit.Guesses{Canaries: m, Made: m, Correct: v}
				lower, err := g.LowerEpsilon(0, confidence)
				if err != nil {
					t.Fatal(err)
				}
				p := binomial(v, m, q)
				mean += p * lower
				if lower > epsilon {
					exceeds += p
				}
			}
			if exceeds > 1-confidence {
				t.Errorf("%d bits, epsilon %v: the bound exceeds it with probability %v", m, epsilon, exceeds)
			}
			if m == 150 && epsilon == 3 && mean < 2 {
				t.Errorf("150 bits, epsilon 3: mean bound %v: want at least 2", mean)
			}
		}
	}
}

// TestCanaryDeltaWeakens tests that a larger delta, or more canaries with the same guesses, never
// raises the lower bound on epsilon.
func TestCanaryDeltaWeakens(t *testing.T) {
	last := math.Inf(1)
	for _, delta := range []float64{0, 1e-7, 1e-5, 1e-3, .1} {
		for _, m := range []int{100, 1000} {
			e, err := audit.Guesses{Canaries: m, Made: 100, Correct: 95}.LowerEpsilon(delta, .95)
			if err != nil {
				t.Fatal(err)
			}
			if delta == 0 || m == 100 {
				if e > last {
					t.Errorf("delta %v: bound %v: above %v of a smaller one", delta, e, last)
				}
				last = e
			} else if e > last {
				t.Errorf("delta %v, %d canaries: bound %v: above %v of fewer", delta, m, e, last)
			}
		}
	}
}

// ExampleGuess guesses the three highest and the three lowest scores of ten canaries.
func ExampleGuess() {
	coins := []bool{true, true, false, true, false, false, true, false, false, true}
	scores := []float64{9, 7, -3, 1, 5, -8, 2, -6, 0, 3}
	g, err := audit.Guess(scores, coins, 3, 3)
	if err != nil {
		panic(err)
	}
	e, err := g.LowerEpsilon(0, .8)
	fmt.Printf("%+v: epsilon is at least %.2f: %v\n", g, e, err)
	// Output: {Canaries:10 Made:6 Correct:5}: epsilon is at least 0.31: <nil>
}

func TestCanaryRefusals(t *testing.T) {
	for _, g := range []audit.Guesses{{}, {3, 4, 1}, {3, 2, 3}, {3, -1, 0}, {3, 2, -1}} {
		if _, err := g.PValue(1, 0); err == nil {
			t.Errorf("%+v: want an error", g)
		}
		if _, err := g.LowerEpsilon(0, .9); err == nil {
			t.Errorf("%+v: LowerEpsilon: want an error", g)
		}
	}
	g := audit.Guesses{Canaries: 3, Made: 2, Correct: 2}
	for _, bad := range []float64{-1, 2, math.NaN()} {
		if _, err := g.PValue(1, bad); err == nil {
			t.Errorf("delta %v: want an error", bad)
		}
		if _, err := g.LowerEpsilon(0, bad); err == nil {
			t.Errorf("confidence %v: want an error", bad)
		}
	}
	for _, bad := range []float64{-1, math.NaN()} {
		if _, err := g.PValue(bad, 0); err == nil {
			t.Errorf("epsilon %v: want an error", bad)
		}
	}
	if _, err := audit.Guess([]float64{1}, nil, 0, 1); err == nil {
		t.Error("a score without a coin: want an error")
	}
	if _, err := audit.Guess([]float64{1, 2}, []bool{true, false}, 2, 1); err == nil {
		t.Error("more guesses than canaries: want an error")
	}
	if _, err := audit.Guess([]float64{math.NaN(), 2}, []bool{true, false}, 1, 1); err == nil {
		t.Error("NaN: want an error")
	}
}
