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
// w and at some points of the ball, and returns the point of least norm in their hull.
// Its Norm is an upper bound whatever the points, up to the corners a gradient may
// meet; Lower and Gap are about the hull of these gradients alone.
//
// Points are chosen on the way (Zhang et al. 2020; Davis et al. 2022): each lies on
// w - s alpha g/||g||, g being the point of least norm so far and s uniform in [0, 1] by
// the seed. Where F falls by less than alpha ||g||/2 along that, the gradient there has a
// product with g of less than ||g||^2/2 in the mean, and the norm falls; where it falls
// by more, w is not stationary. Uniform points of a ball tell nothing in many dimensions:
// all but a part of them that is exponentially small lie where no margin moves.
//
// Of a generalised linear model whose loss is a loss.Kinked the gradient of the smoothed
// loss (SmoothedGradient) is such a mean of gradients, and exact.
func Goldstein(l loss.Loss, r loss.Regularizer, s Sample, w []float64, alpha float64, points int, seed uint64) (MinNormPoint, error) {
	if !(alpha >= 0) || math.IsInf(alpha, 0) {
		return MinNormPoint{}, fmt.Errorf("stationarity: Goldstein: radius = %v: must be finite and >= 0", alpha)
	}
	if points < 0 {
		return MinNormPoint{}, fmt.Errorf("stationarity: Goldstein: points = %d: must be >= 0", points)
	}
	random := rand.New(rand.NewPCG(seed, 0x601d))
	var gradients [][]float64
	var least MinNormPoint
	at := append([]float64(nil), w...)
	for range points + 1 {
		g, err := Gradient(l, r, s, at)
		if err != nil {
			return MinNormPoint{}, err
		}
		gradients = append(gradients, g)
		if least, err = MinNorm(gradients); err != nil || least.Norm == 0 {
			return least, err
		}
		far := alpha * random.Float64() / least.Norm
		for j, v := range least.Point {
			at[j] = w[j] - far*v
		}
	}
	return least, nil
}

// SmoothedGradient returns the gradient at w of the mean over the sample of the smoothed
// loss plus the regularizer, which is not smoothed. With loss.OverBall of radius r and no
// regularizer it is a mean of gradients within r of w, so that its norm bounds Goldstein's
// measure.
func SmoothedGradient(l loss.Kinked, by loss.Smoothing, r loss.Regularizer, s Sample, w []float64) []float64 {
	g, slope := make([]float64, len(w)), make([]float64, 1)
	for i, x := range s.Rows {
		var square float64
		for _, v := range x {
			square += float64(v) * float64(v)
		}
		l.SmoothedSlopes(slope, []float64{margin(w, x)}, s.Targets[i:i+1], []float64{math.Sqrt(square)}, by)
		for j, v := range x {
			g[j] += slope[0] * float64(v) / float64(len(s.Rows))
		}
	}
	if r != nil {
		r.AddGradient(g, w)
	}
	return g
}
