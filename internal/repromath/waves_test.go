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
		for pairs := range 110 {
			columns := rng.IntN(6)
			by, effects, amplitude := make([]float64, pairs*columns), make([]float64, columns), rng.Float64()
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
			dst := make([]float32, 2*pairs+40)
			for i := range dst {
				dst[i] = 7
			}
			Waves(dst[:2*pairs:2*pairs], by, effects, amplitude)
			for k := range pairs {
				angle := 0.
				for j, e := range effects {
					angle = math.FMA(by[j*pairs+k], e, angle)
				}
				if math.Abs(angle) > MostAngle {
					angle = math.Copysign(MostAngle, angle)
				}
				sin, cos := SinCos(angle)
				for i, want := range []float32{float32(amplitude * cos), float32(amplitude * sin)} {
					got := dst[2*k+i]
					if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
						t.Fatalf("wave %d of %d, angle %v, number %d: %v, want %v", k, pairs, angle, i, got, want)
					}
				}
			}
			for _, v := range dst[2*pairs:] {
				if v != 7 {
					t.Fatalf("%d waves: written behind the result", pairs)
				}
			}
		}
	})
}

// BenchmarkWaves computes the features of effects of a row with 20 columns.
func BenchmarkWaves(b *testing.B) {
	const pairs, columns = 350, 20
	by, effects, dst := make([]float64, pairs*columns), make([]float64, columns), make([]float32, 2*pairs)
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range by {
		by[i] = rng.NormFloat64()
	}
	for i := range effects {
		effects[i] = rng.NormFloat64()
	}
	for b.Loop() {
		Waves(dst, by, effects, .1)
	}
}
