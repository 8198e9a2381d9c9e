package repromath

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSoftmaxesAreAlone tests that slopes and parts of values of several records have the bits of those of one, for numbers
// and ties, infinities and NaN among margins, and that they are those of the definition.
func TestSoftmaxesAreAlone(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		for range 400 {
			n, k := rng.IntN(30)+1, rng.IntN(12)+2
			z, class := make([]float64, n*k), make([]float64, n)
			for at := range z {
				switch z[at] = math.Ldexp(rng.NormFloat64(), rng.IntN(9)); rng.IntN(40) {
				case 0:
					z[at] = math.Inf(2*rng.IntN(2) - 1)
				case 1:
					z[at] = math.NaN()
				case 2, 3, 4:
					z[at] = z[max(at-n, 0)]
				}
			}
			for i := range class {
				class[i] = float64(rng.IntN(k))
			}
			slopes, gap, rest := append([]float64(nil), z...), make([]float64, n), make([]float64, n)
			Softmaxes(slopes, class)
			SoftmaxParts(gap, rest, z, class)
			for i := range n {
				own, least := make([]float64, k), [2][1]float64{}
				sum, ordinary := 0., true
				for j := range own {
					own[j] = z[j*n+i]
					sum += math.Exp(own[j])
					ordinary = ordinary && math.Abs(own[j]) < 300
				}
				value := math.Log(sum) - z[int(class[i])*n+i]
				SoftmaxParts(least[0][:], least[1][:], own, class[i:i+1])
				Softmaxes(own, class[i:i+1])
				for j, v := range own {
					if !alike(slopes[j*n+i], v) {
						t.Fatalf("class %d of record %d of %d: slope %v, by itself %v", j, i, n, slopes[j*n+i], v)
					}
					want := math.Exp(z[j*n+i]) / sum
					if j == int(class[i]) {
						want--
					}
					if ordinary && !(math.Abs(v-want) <= 1e-13) {
						t.Fatalf("class %d: slope %v, want %v", j, v, want)
					}
				}
				if !alike(rest[i], least[1][0]) || rest[i] == rest[i] && !alike(gap[i], least[0][0]) || !alike(rest[i], least[1][0]) {
					t.Fatalf("record %d of %d: %v and %v, by itself %v and %v", i, n, gap[i], rest[i], least[0][0], least[1][0])
				}
				if got := gap[i] + Log1p(rest[i]); ordinary && !(math.Abs(got-value) <= 1e-12*(1+math.Abs(value))) {
					t.Fatalf("record %d: value %v, want %v", i, got, value)
				}
			}
		}
	})
	for _, f := range []func(){func() { Softmaxes(make([]float64, 9), make([]float64, 2)) },
		func() { SoftmaxParts(make([]float64, 1), make([]float64, 2), make([]float64, 6), make([]float64, 2)) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("lengths that do not fit are taken")
				}
			}()
			f()
		}()
	}
}
