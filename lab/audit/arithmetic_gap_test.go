package audit_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit/testdata/naive"
	"github.com/stillpoint-dp/stillpoint/query"
)

// near lists the multiples of 2^-53 in (lo, hi] that are at most the given number of multiples away
// from v.
func near(v, lo, hi float64, steps int) (list []float64) {
	k := math.Round(v * 0x1p53)
	for i := -steps; i <= steps; i++ {
		if u := (k + float64(i)) * 0x1p-53; u > lo && u <= hi {
			list = append(list, u)
		}
	}
	return list
}

// laplaceCould reports whether naive.Laplace can answer y for the true value x, with scale 1. It computes
// the uniform number that gives this noise, and tries all multiples of 2^-53 near this number.
func laplaceCould(y, x float64) bool {
	if math.Abs(y) > 8 {
		return true // the answer is too coarse to decide
	}
	for _, u := range near(math.Exp(-math.Abs(y-x)), 0, 1, 40) {
		if z := math.Log(u); x+z == y || x-z == y {
			return true
		}
	}
	return false
}

// verdicts generates n answers, alternately for the true values 0 and 1. could is the attack: it
// reports which of the two values could have given an answer. verdicts returns the number of
// answers that only one value could have given. It fails the test if the attack calls the true
// value impossible.
func verdicts(t *testing.T, n int, could func(r *rand.Rand, truth float64) (zero, one bool)) (decided int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		truth := float64(i % 2)
		zero, one := could(r, truth)
		if truth == 0 && !zero || truth == 1 && !one {
			t.Fatalf("answer %d to %v: the attack calls the truth impossible", i, truth)
		}
		if zero != one {
			decided++
		}
	}
	return decided
}

// TestArithmeticLaplaceGaps is the attack of Mironov (2012). Laplace noise computed by inversion in
// floats leaves gaps: some answers are impossible for the true value 0, and others for 1. An answer
// that is impossible for one of the two values reveals the other with certainty. The test requires
// that the attack decides at least two in five answers of the naive mechanism.
func TestArithmeticLaplaceGaps(t *testing.T) {
	const n = 4000
	decided := verdicts(t, n, func(r *rand.Rand, truth float64) (zero, one bool) {
		y := naive.Laplace(r, truth, 1)
		return laplaceCould(y, 0), laplaceCould(y, 1)
	})
	t.Logf("%d of %d answers told which", decided, n)
	if decided < n*2/5 {
		t.Errorf("%d of %d answers told 0 from 1: want two fifths", decided, n)
	}
}

// zigguratSteps returns the 128 numbers by which the sampler behind NormFloat64 of math/rand
// multiplies an int32: every normal outside the tail is an int32 times one of them. They are
// recomputed from the 128 layers of equal area of Marsaglia and Tsang (2000).
func zigguratSteps() (steps [128]float64) {
	const rn, area = 3.442619855899, 9.91256303526217e-3
	d := rn
	steps[0] = float64(float32(area / math.Exp(-rn*rn/2) / 0x1p31))
	steps[127] = float64(float32(rn / 0x1p31))
	for i := 126; i > 0; i-- {
		d = math.Sqrt(-2 * math.Log(area/d+math.Exp(-d*d/2)))
		steps[i] = float64(float32(d / 0x1p31))
	}
	return steps
}

// TestArithmeticNormalGaps is the attack of Jin, McMurtry, Rubinstein and Ohrimenko (2022) on
// samplers of normals in floats. It inverts the sampler to find the uniforms behind an answer. If
// no uniforms give the answer for the true value 0, the true value was 1.
func TestArithmeticNormalGaps(t *testing.T) {
	steps := zigguratSteps()
	ziggurat := func(y, x float64) bool {
		if math.Abs(y-x) > 3.4 {
			return true // the sampler computes the tail in another way
		}
		for _, s := range steps {
			j := math.Round((y - x) / s)
			for _, j := range []float64{j - 1, j, j + 1} {
				if x+float64(j*s) == y {
					return true
				}
			}
		}
		return false
	}
	boxMuller := func(y [2]float64, x float64) bool {
		a, b := y[0]-x, y[1]-x
		if a*a+b*b < .1 || a*a+b*b > 30 {
			return true // more uniforms than these would have to be tried
		}
		turn := math.Atan2(b, a) / (2 * math.Pi)
		if turn < 0 {
			turn++
		}
		for _, u := range near(math.Exp(-(a*a+b*b)/2), 0, 1, 8) {
			radius := math.Sqrt(-2 * math.Log(u))
			for _, v := range near(turn, -1, 1, 8) {
				sin, cos := math.Sincos(2 * math.Pi * v)
				if x+float64(radius*cos) == y[0] && x+float64(radius*sin) == y[1] {
					return true
				}
			}
		}
		return false
	}
	polar := func(y [2]float64, x float64) bool {
		a, b := y[0]-x, y[1]-x
		square := a*a + b*b
		if square < .1 || square > 30 {
			return true
		}
		shrink := math.Sqrt(math.Exp(-square/2) / square)
		for _, p := range near((a*shrink+1)/2, -1, 1, 8) {
			for _, q := range near((b*shrink+1)/2, -1, 1, 8) {
				u, v := 2*p-1, 2*q-1
				s := float64(u*u) + float64(v*v)
				factor := math.Sqrt(-2 * math.Log(s) / s)
				if x+float64(factor*u) == y[0] && x+float64(factor*v) == y[1] {
					return true
				}
			}
		}
		return false
	}
	for name, c := range map[string]struct {
		n     int
		share float64
		could func(r *rand.Rand, truth float64) (zero, one bool)
	}{
		"ziggurat": {2000, .99, func(r *rand.Rand, truth float64) (zero, one bool) {
			y := naive.Ziggurat(r, truth, 1)
			return ziggurat(y, 0), ziggurat(y, 1)
		}},
		"Box-Muller": {1000, .8, func(r *rand.Rand, truth float64) (zero, one bool) {
			y := naive.BoxMuller(r, [2]float64{truth, truth}, 1)
			return boxMuller(y, 0), boxMuller(y, 1)
		}},
		"polar": {1000, .8, func(r *rand.Rand, truth float64) (zero, one bool) {
			y := naive.Polar(r, [2]float64{truth, truth}, 1)
			return polar(y, 0), polar(y, 1)
		}},
	} {
		decided := verdicts(t, c.n, c.could)
		t.Logf("%s: %d of %d answers told which", name, decided, c.n)
		if float64(decided) < c.share*float64(c.n) {
			t.Errorf("%s: %d of %d answers told 0 from 1: want %v of them", name, decided, c.n, c.share)
		}
	}
}

// steps returns the coordinates of a released answer as multiples of the grid step, for noise whose
// standard deviation is 2^bits steps. The error of the division is below 2^-10 for results below
// 2^41.
func steps(r query.Release, bits int) []float64 {
	v := make([]float64, len(r.Mean))
	for j, m := range r.Mean {
		v[j] = math.Ldexp(m/r.Sigma, bits)
	}
	return v
}

// TestArithmeticNoGaps tests that the attacks of the other tests have no target in a session. All
// answers must lie on one lattice, with a step of 2^-32 of the noise's standard deviation, whatever
// the records. On either table every residue of the lattice must occur with the right frequency, so
// that every answer is possible for both tables. A chi-square test on the residues modulo 64 tests
// that they are uniform; it fails by chance with probability 1e-6 on each table.
func TestArithmeticNoGaps(t *testing.T) {
	const d, bits = 20000, 32
	b := auditBudget(t, 1, account.ReplaceOne)
	for _, target := range []float64{1, -1, .3, 1e-300} {
		row := make([]float32, d)
		for j := range row {
			row[j] = float32(math.Sqrt(.5 / d))
		}
		s, err := simulate.Open(simulate.Config{Rows: [][]float32{row}, Targets: []float64{target}, Loss: linear{}, Budget: b,
			Seed: 4, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(b.Charge(), query.GradientAt(s.All(), make([]float64, d), 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Ask(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		var residues [64]float64
		for j, v := range steps(r, bits) {
			k := math.Round(v)
			if math.Abs(v-k) > 0x1p-10 {
				t.Fatalf("target %v: coordinate %d lies %v steps beside the lattice", target, j, v-k)
			}
			residues[int64(k)&63]++
		}
		var square float64
		for _, n := range residues {
			square += (n - d/64.) * (n - d/64.) / (d / 64.)
		}
		if square > chiSquare(63) {
			t.Errorf("target %v: residues modulo 64: chi-square %v: want at most %v", target, square, chiSquare(63))
		}
	}
}
