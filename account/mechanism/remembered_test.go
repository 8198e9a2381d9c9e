package mechanism

import (
	"math"
	"testing"
)

// TestRememberedAreWhatIsComputed converts budgets of which each shares an argument with others, twice. Each result
// must be the extreme number that satisfies the condition of which it is the solution: the number itself satisfies it,
// and the next one does not.
func TestRememberedAreWhatIsComputed(t *testing.T) {
	extreme := func(what string, inside, outside bool) {
		t.Helper()
		if !inside || outside {
			t.Errorf("%s: satisfies its condition: %v, and the next number: %v", what, inside, outside)
		}
	}
	for range 2 {
		for _, x := range []float64{.5, 1.5, 4} {
			for _, delta := range []float64{1e-4, 1e-6, 1e-9} {
				mu, err := GaussianMu(x, delta)
				if err != nil {
					t.Fatal(err)
				}
				extreme("GaussianMu", gaussianDelta(mu, x) <= delta, gaussianDelta(math.Nextafter(mu, 9), x) <= delta)
				epsilon, err := GaussianEpsilon(x, delta)
				if err != nil {
					t.Fatal(err)
				}
				extreme("GaussianEpsilon", gaussianDelta(x, epsilon) <= delta,
					gaussianDelta(x, math.Nextafter(epsilon, 0)) <= delta)
			}
			mu, err := SelectionMu(x)
			if err != nil {
				t.Fatal(err)
			}
			if want := math.Sqrt(math.Pi/8) * x; !(math.Abs(mu/want-1) <= .1) {
				t.Errorf("SelectionMu(%v) = %v: want about %v", x, mu, want)
			}
		}
	}
}
