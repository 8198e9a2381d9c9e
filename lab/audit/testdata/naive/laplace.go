package naive

import (
	"math"
	"math/rand/v2"
)

// Laplace adds Laplace noise by inversion. The fault: the logarithms of the multiples of 2^-53
// leave out most floats near 0. If x and the noise nearly cancel, the low bits of the answer
// reveal the precision of x.
func Laplace(r *rand.Rand, x, scale float64) float64 {
	noise := float64(scale * math.Log(1-r.Float64()))
	if r.Uint64()&1 == 0 {
		noise = -noise
	}
	return x + noise
}
