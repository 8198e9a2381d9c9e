package testloss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type slowTail struct{}

// SlowTail is a synthetic problem whose gradient falls slowly along the first coordinate, so that
// methods need many steps. A record's loss does not use y. It is F(w) + <0.4 x, w> with
//
//	F(w) = g(w_1) + (w_2^2 + ... + w_d^2)/2
//	g(v) = (1 + v/c)^(-1/2) for v >= 0, 1 - v/(2c) + v^2/2 below; c = sqrt(3)/2
//
// Rows have mean zero, so F is the mean loss. The gradient of F is part of each record's gradient, and is
// clipped with it.
//
//	g'(v) = -(1 + v/c)^(-3/2)/(2c), and v - 1/(2c) below: continuous
//	g''(v) = 3/(4c^2) (1 + v/c)^(-5/2), from 1 at v = 0 (the choice of c) to 0,
//	and 1 below: continuous; with the 1 of the other coordinates, curvature is in [0, 1]
//	|g'''(v)| = 15/(8c^3) (1 + v/c)^(-7/2), greatest at v = 0: 5/sqrt 3
//
// The quadratic part has no Lipschitz constant. Gradients longer than 1 are therefore scaled down to length
// 1. At points with w_1 >= 0 and zeros in the other coordinates, where good iterates stay, the largest
// length of a gradient is 1/(2c) + 0.4 = 0.978, and no gradient is scaled down. F(0) = 1 and inf F = 0, so
// InitialGap is 1 for tables of mean zero.
func SlowTail() loss.General { return slowTail{} }

const (
	sqrt3       = 1.732050807568877293527446341505872366942805253810380628
	slowTailC   = sqrt3 / 2
	slowTailRow = 0.4
	slowTailL0  = 1
)

func (slowTail) Name() string        { return "slow-tail" }
func (slowTail) Target() loss.Target { return loss.Real }

func (slowTail) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:        slowTailL0,
		Curvature:        loss.CurvatureInterval{Hi: 1},
		HessianLipschitz: 5 / sqrt3,
		InitialGap:       1,
		Clipped:          true,
		ZeroMean:         true,
	}
}

func (slowTail) Value(w []float64, x []float32, y float64) float64 {
	checkLengths(len(w), len(w), len(x))
	if y != y {
		return y
	}
	f := 0.0
	if len(w) > 0 {
		if v := w[0]; v >= 0 {
			f = 1 / math.Sqrt(1+v/slowTailC)
		} else {
			f = 1 - v/(2*slowTailC) + v*v/2
		}
	}
	for j, v := range w {
		if j > 0 {
			f += v * v / 2
		}
		f += slowTailRow * float64(x[j]) * v
	}
	return f
}

func (slowTail) Gradient(dst, w []float64, x []float32, y float64) {
	checkLengths(len(dst), len(w), len(x))
	copy(dst, w)
	if len(dst) > 0 {
		if v := w[0]; v >= 0 {
			q := 1 + v/slowTailC
			dst[0] = -1 / (2 * slowTailC) / float64(q*math.Sqrt(q))
		} else {
			dst[0] = v - 1/(2*slowTailC)
		}
	}
	squares := 0.0
	for j := range dst {
		dst[j] = math.FMA(slowTailRow, float64(x[j]), dst[j])
		squares = math.FMA(dst[j], dst[j], squares)
	}
	scale := 1.0
	if squares > slowTailL0*slowTailL0 {
		scale = slowTailL0 / math.Sqrt(squares)
	}
	if y != y {
		scale = y
	}
	for j := range dst {
		dst[j] = float64(scale * dst[j])
	}
}
