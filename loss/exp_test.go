package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestBlocks tests that a record's results do not depend on the number of records in the call, nor
// on whether the results overwrite margins or targets.
func TestBlocks(t *testing.T) {
	const n = 2*len(block{}) + 9
	rng := rand.New(rand.NewPCG(7, 8))
	for _, l := range []RankOne{Logistic(), Sigmoid(), Tanh(), poisson{clip: .3, least: 1}, poisson{clip: .3, least: .5},
		poisson{clip: .3, least: .5, grouped: true}} {
		z, y := make([]float64, n), make([]float64, n)
		for i := range z {
			z[i], y[i] = rng.NormFloat64()*3, float64(2*rng.IntN(2)-1)
		}
		for name, f := range map[string]func(dst, z,
			y []float64){"values": l.Values, "slopes": l.Slopes, "curvatures": l.Curvatures} {
			want := make([]float64, n)
			for i := range want {
				f(want[i:i+1], z[i:i+1], y[i:i+1])
			}
			dst, overZ, overY := make([]float64, n), append([]float64(nil), z...), append([]float64(nil), y...)
			f(dst, z, y)
			f(overZ, overZ, y)
			f(overY, z, overY)
			for i, v := range want {
				for _, got := range []float64{dst[i], overZ[i], overY[i]} {
					if math.Float64bits(got) != math.Float64bits(v) && !(got != got && v != v) {
						t.Fatalf("%s: %s: record %d of %d: %v, by itself %v", l.Name(), name, i, n, got, v)
					}
				}
			}
		}
	}
}

// TestBlocksOfClasses compares the value and the slopes of a softmax loss with their formulas, for more
// classes than a block of scratch memory holds.
func TestBlocksOfClasses(t *testing.T) {
	const k = len(block{}) + 40
	l := softmax{k}
	z := make([]float64, k)
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	sum := 0.0
	for _, v := range z {
		sum += math.Exp(v)
	}
	value, slopes := make([]float64, 1), make([]float64, k)
	l.Values(value, z, []float64{3})
	l.Slopes(slopes, z, []float64{3})
	if want := math.Log(sum) - z[3]; math.Abs(value[0]-want) > 1e-13 {
		t.Errorf("value %v, want %v", value[0], want)
	}
	for j, s := range slopes {
		want := math.Exp(z[j]) / sum
		if j == 3 {
			want--
		}
		if math.Abs(s-want) > 1e-15 {
			t.Errorf("slope %d: %v, want %v", j, s, want)
		}
	}
}
