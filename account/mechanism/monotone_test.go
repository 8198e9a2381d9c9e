package mechanism

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestClosedFormsBehave evaluates the closed forms on 1e5 random inputs (fewer without -long, and a
// twentieth for functions that search). Results must never be negative or NaN, deltas must be at
// most 1, and every result must be monotone in every argument.
func TestClosedFormsBehave(t *testing.T) {
	t.Parallel()
	n := trials(100_000)
	r := rand.New(rand.NewPCG(10, 5))
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + r.Float64()*math.Log(hi/lo)) }
	must := func(x float64, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if !(x >= 0) {
			t.Fatalf("got %v", x)
		}
		return x
	}
	for i := range n {
		mu, epsilon := log(1e-4, 50), log(1e-4, 100)
		up := 1 + log(1e-15, 1)
		delta := must(GaussianDelta(mu, epsilon))
		rho := must(RhoOfMu(mu))
		zcdp := must(ZCDPDelta(rho, epsilon))
		switch {
		case delta > 1 || zcdp > 1 || zcdp < delta:
			t.Fatalf("mu %v, epsilon %v: delta %v, by zCDP %v", mu, epsilon, delta, zcdp)
		case must(GaussianDelta(mu*up, epsilon)) < delta:
			t.Fatalf("mu %v, epsilon %v: delta falls with mu", mu, epsilon)
		case must(GaussianDelta(mu, epsilon*up)) > delta:
			t.Fatalf("mu %v, epsilon %v: delta grows with epsilon", mu, epsilon)
		}
		if i%20 != 0 {
			continue
		}
		given := math.Exp(-log(.7, 690))
		least := must(GaussianEpsilon(mu, given))
		if must(GaussianEpsilon(mu*up, given)) < least || must(GaussianEpsilon(mu, min(given*up, .9))) > least {
			t.Fatalf("mu %v, delta %v: epsilon is not monotone", mu, given)
		}
		if most := must(GaussianMu(epsilon, given)); must(GaussianMu(epsilon*up, given)) < most ||
			must(GaussianDelta(most, epsilon)) > given {
			t.Fatalf("epsilon %v, delta %v: mu %v is not monotone or permits too much", epsilon, given, most)
		}
	}
}
