package audit_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit/testdata/naive"
	"github.com/stillpoint-dp/stillpoint/query"
)

// chiSquare returns the value that a chi-square variable with the given degrees of freedom exceeds
// with probability 1e-6.
func chiSquare(degrees int) float64 {
	return distuv.ChiSquared{K: float64(degrees)}.Quantile(1 - 1e-6)
}

// lattice compares n draws of a noise generator with the distribution of 8 times a standard normal, rounded
// to the nearest integer. It returns the chi-square statistic, with seven degrees of freedom. Its eight
// cells are the integers -3 to 3, and all other integers together.
func lattice(n int, draw func(r *rand.Rand, bits int) int64) (square float64) {
	const bits, reach = 3, 3
	r := rand.New(rand.NewPCG(5, 5))
	var counts [2*reach + 2]float64
	for range n {
		if k := draw(r, bits); k >= -reach && k <= reach {
			counts[k+reach]++
		} else {
			counts[2*reach+1]++
		}
	}
	below := func(k float64) float64 { return math.Erfc(-math.Ldexp(k, -bits)/math.Sqrt2) / 2 }
	rest := 1.0
	for k := -reach; k <= reach+1; k++ {
		p := rest
		if k <= reach {
			p = below(float64(k)+.5) - below(float64(k)-.5)
			rest -= p
		}
		e := p * float64(n)
		square += (counts[k+reach] - e) * (counts[k+reach] - e) / e
	}
	return square
}

// TestArithmeticTruncation tests the rounding of noise to the lattice. If noise is truncated
// instead of rounded to nearest, 0 has twice the right mass, so the exact answer is twice as likely
// as the answers next to it. (Canonne, Kamath and Steinke 2020 avoid this by sampling on the
// lattice.) A chi-square test that fails by chance with probability 1e-6 detects the truncation in
// 20,000 draws.
//
// On a session's lattice 0 has a mass of at most 2^-21, too little to measure. For a session, the test
// compares two roundings of the same noise: the random bits that determine a normal to 2^-32 also determine
// it to 2^-20. The coarse answer (2^-20) must be the fine answer (2^-32) rounded to nearest, upwards as
// often as downwards. With truncation, the coarse answer would never have the larger absolute value.
func TestArithmeticTruncation(t *testing.T) {
	const draws = 20000
	truncated, rounded := lattice(draws, naive.Truncated), lattice(draws, naive.Rounded)
	t.Logf("chi-square %.0f truncated, %.1f rounded", truncated, rounded)
	if truncated < chiSquare(7) {
		t.Errorf("truncated: chi-square %v: want above %v", truncated, chiSquare(7))
	}
	if rounded > chiSquare(7) {
		t.Errorf("rounded: chi-square %v: want at most %v", rounded, chiSquare(7))
	}

	const d = 4096
	noise := func(charge float64) query.Release {
		s, err := simulate.Open(simulate.Config{
			Rows: [][]float32{make([]float32, d)}, Targets: []float64{0}, Loss: linear{},
			Budget: auditBudget(t, 1e6, account.AddOrRemove), Declared: 1, Seed: 6, Workers: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(charge, query.GradientAt(s.All(), make([]float64, d), 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Ask(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// A sum of 2^31 records must fit in 2^61 steps of the grid. If the noise is a thousandth of the clip norm
	// or less, only the coarsest grid allows this.
	fine, coarse := steps(noise(1), 32), steps(noise(1e6), 20)
	larger := 0
	for j := range coarse {
		k := math.Round(coarse[j])
		if math.Abs(coarse[j]-k) > 0x1p-10 {
			t.Fatalf("coordinate %d of the coarse answer is %v: the test wants 2^20 steps a sigma", j, coarse[j])
		}
		whole := math.Ldexp(fine[j], -12)
		if math.Abs(k-whole) > .5+0x1p-10 {
			t.Fatalf("coordinate %d: %v rounded to %v", j, whole, k)
		}
		if math.Abs(k) > math.Abs(whole) {
			larger++
		}
	}
	// Bin(4096, 1/2) is outside 2048 +- 160, five standard deviations, with probability below 1e-6.
	if larger < d/2-160 || larger > d/2+160 {
		t.Errorf("%d of %d coordinates are rounded away from 0: want about half", larger, d)
	}
}
