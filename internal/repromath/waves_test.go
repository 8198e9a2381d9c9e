package repromath

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWavesAreAlone compares the bits of Waves with its definition, wave by wave, for any number of waves and of effects
// up to some registers, and for any angles. What lies behind the result stays as it was.
func TestWavesAreAlone(t *testing.T) {
	everyKind(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		special := []float64{0, math.Copysign(0, -1), 5e-324, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1),
			math.NaN(), MostAngle, -MostAngle, math.Nextafter(MostAngle, 1e9), math.Pi / 2, -math.Pi}
		for pairs := 1; pairs < 110; pairs++ {
			columns, rows := 1+rng.IntN(6), 1+rng.IntN(4)
			by, effects, amplitude := make([]float64, pairs*columns), make([]float64, rows*columns), rng.Float64()
			for i := range by {
				by[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(24)-12)
				if rng.IntN(50) == 0 {
					by[i] = special[rng.IntN(len(special))]
				}
			}
			for i := range effects {
				effects[i] = rng.NormFloat64()
				if rng.IntN(3) == 0 {
					effects[i] = 1
				}
			}
			stride := 2*pairs + rng.IntN(5)
			dst := make([]float32, rows*stride+40)
			for i := range dst {
				dst[i] = 7
			}
			Waves(dst[:(rows-1)*stride+2*pairs], stride, pairs, by, effects, amplitude)
			for i, got := range dst {
				row, k := i/stride, i%stride/2
				want := float32(7) // between rows and behind the last one
				if row < rows && k < pairs {
					angle := 0.
					for j, e := range effects[row*columns:][:columns] {
						angle = math.FMA(by[j*pairs+k], e, angle)
					}
					if math.Abs(angle) > MostAngle {
						angle = math.Copysign(MostAngle, angle)
					}
					sin, cos := SinCos(angle)
					want = float32(amplitude * [2]float64{cos, sin}[i%stride%2])
				}
				if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
					t.Fatalf("number %d of row %d of %d pairs: %v, want %v", i%stride, row, pairs, got, want)
				}
			}
		}
	})
}

// BenchmarkWaves computes the features of effects of 16 rows with 20 columns.
func BenchmarkWaves(b *testing.B) {
	const pairs, columns, rows = 350, 20, 16
	by, effects, dst := make([]float64, pairs*columns), make([]float64, rows*columns), make([]float32, rows*2*pairs)
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range by {
		by[i] = rng.NormFloat64()
	}
	for i := range effects {
		effects[i] = rng.NormFloat64()
	}
	for b.Loop() {
		Waves(dst, 2*pairs, pairs, by, effects, .1)
	}
}
