package stationarity

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// Goldstein bounds how far 0 is from the Goldstein subdifferential of radius
// alpha at w (Goldstein 1977): the convex hull of gradients in the ball around w.
// It takes the gradient of the mean loss over the sample plus the regularizer at
// w and at some points of the ball, uniform by the seed, and returns the point of
// least norm in their hull. Its Norm is an upper bound whatever the points, up to
// the corners a gradient may meet; Lower and Gap are about the sampled hull
// alone.
func Goldstein(l loss.Loss, r loss.Regularizer, s Sample, w []float64, alpha float64, points int, seed uint64) (MinNormPoint, error) {
	if !(alpha >= 0) || math.IsInf(alpha, 0) {
		return MinNormPoint{}, fmt.Errorf("stationarity: Goldstein: radius = %v: must be finite and >= 0", alpha)
	}
	if points < 0 {
		return MinNormPoint{}, fmt.Errorf("stationarity: Goldstein: points = %d: must be >= 0", points)
	}
	random := rand.New(rand.NewPCG(seed, 0x601d))
	var gradients [][]float64
	at := append([]float64(nil), w...)
	for range points + 1 {
		g, err := Gradient(l, r, s, at)
		if err != nil {
			return MinNormPoint{}, err
		}
		gradients = append(gradients, g)
		inBall(at, w, alpha, random)
	}
	return MinNorm(gradients)
}

// inBall sets x to a uniform point of the ball.
func inBall(x, centre []float64, radius float64, r *rand.Rand) {
	for j := range x {
		x[j] = r.NormFloat64()
	}
	scale := radius * math.Pow(r.Float64(), 1/float64(len(x))) / Norm(x)
	for j := range x {
		x[j] = centre[j] + scale*x[j]
	}
}
