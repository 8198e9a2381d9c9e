package testloss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type huberMean struct{}

// HuberMean is a synthetic problem whose minimiser is the mean of the rows. A record's loss does not use y. It is the
// Huber function of r = ||w - x||: r^2/2 for r <= 1 and r - 1/2 for r > 1. With rows of norm at most 1/4 it is the
// instance of a lower bound: no private algorithm has a gradient norm of smaller order than sqrt(d log(1/delta))/(n
// epsilon) on it (Arora et al. 2023, Theorem 2, with Lipschitz constant, smoothness and bound on the initial gap 1).
//
//	gradient w - x, scaled down to length 1: the Lipschitz constant is 1
//	Hessian I for r < 1; beyond, I/r and 0 along w - x: curvature in [0, 1], with a
//	jump at r = 1, so there is no bound on the third derivative
//
// The loss is at least 0, and at w = 0 it is ||x||^2/2. InitialGap is therefore 1/2.
func HuberMean() loss.General { return huberMean{} }

func (huberMean) Name() string        { return "huber-mean" }
func (huberMean) Target() loss.Target { return loss.Real }

func (huberMean) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Hi: 1}, HessianLipschitz: math.Inf(1),
		InitialGap: .5}
}

func (huberMean) Value(w []float64, x []float32, y float64) float64 {
	checkLengths(len(w), len(w), len(x))
	if y != y {
		return y
	}
	r := 0.0
	for j, v := range w {
		r = math.Hypot(r, v-float64(x[j]))
	}
	return Huber(r, 1)
}

func (huberMean) Gradient(dst, w []float64, x []float32, y float64) {
	checkLengths(len(dst), len(w), len(x))
	squares := 0.0
	for j, v := range w {
		dst[j] = v - float64(x[j])
		squares = math.FMA(dst[j], dst[j], squares)
	}
	Shrink(dst, squares, 1, y)
}

// Huber returns the Huber function of r >= 0: r^2/2 for r <= most, and for r > most the tangent line at r =
// most.
func Huber(r, most float64) float64 {
	q := min(r, most)
	return float64(q * (r - float64(q/2)))
}

// Shrink scales the gradient v down to length most if v is longer than most. squares must be the sum of
// squares of v. If the target y is NaN, all of v becomes NaN.
func Shrink(v []float64, squares, most, y float64) {
	scale := 1.0
	if squares > most*most {
		scale = most / math.Sqrt(squares)
	}
	if y != y {
		scale = y
	}
	for j := range v {
		v[j] = float64(scale * v[j])
	}
}
