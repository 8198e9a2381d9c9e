package naive

import (
	"math"
	"math/rand/v2"
)

// Ziggurat adds NormFloat64, a normal computed by the ziggurat method, times sigma to x. The fault:
// the sampler almost always returns a 32-bit integer times one of 128 constants. For a given x
// there are few possible answers, and for another x there are other answers.
func Ziggurat(r *rand.Rand, x, sigma float64) float64 { return x + float64(sigma*r.NormFloat64()) }

// BoxMuller adds a pair of normals, made by the method of Box and Muller (1958), to a pair of
// coordinates. The fault: a pair is computed from two multiples of 2^-53, which can be recovered
// from it, so that most floats are impossible answers for a given x.
func BoxMuller(r *rand.Rand, x [2]float64, sigma float64) [2]float64 {
	radius := sigma * math.Sqrt(-2*math.Log(1-r.Float64()))
	sin, cos := math.Sincos(2 * math.Pi * r.Float64())
	return [2]float64{x[0] + float64(radius*cos), x[1] + float64(radius*sin)}
}

// Polar adds a pair of normals, made by the polar method of Marsaglia and Bray (1964), to a pair of
// coordinates. It has the fault of BoxMuller: from a pair one can recover the uniforms behind it,
// so that most floats are impossible answers for a given x.
func Polar(r *rand.Rand, x [2]float64, sigma float64) [2]float64 {
	for {
		u, v := 2*r.Float64()-1, 2*r.Float64()-1
		s := float64(u*u) + float64(v*v)
		if s >= 1 || s == 0 {
			continue
		}
		factor := sigma * math.Sqrt(-2*math.Log(s)/s)
		return [2]float64{x[0] + float64(factor*u), x[1] + float64(factor*v)}
	}
}

// Calibrated returns the standard deviation of the Gaussian noise that the mean of n numbers in
// [-clip, clip] needs under replace-one, for a charge given as mu^2 of Gaussian DP.
func Calibrated(n int, clip, charge float64) (sigma float64) {
	return 2 * clip / float64(n) / math.Sqrt(charge)
}

// Halved releases the mean with half of the needed noise. The fault: it takes the norm of one
// contribution for the sensitivity, which holds if a record is removed and not if it is replaced.
func Halved(r *rand.Rand, x []float64, clip, charge float64) float64 {
	var sum float64
	for _, v := range x {
		sum += min(max(v, -clip), clip)
	}
	return sum/float64(len(x)) + float64(Calibrated(len(x), clip, charge)/2*r.NormFloat64())
}
