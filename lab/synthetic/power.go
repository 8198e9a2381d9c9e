package synthetic

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// power is the loss h(||w - u||) + <0.4 x, w> of a row x, where u is a fixed unit vector. If corner is 0, h
// is the function h of [Quartic]. Otherwise h is the function h of [ThreeHalves] with e = corner. corner is
// 0 or a power of 4.
type power struct{ corner float64 }

// Quartic is a synthetic problem that satisfies the KL condition with kappa = 4/3 and gamma = 4^(-3/4).
// A record's loss does not use y. It is h(||w - u||) + <0.4 x, w> with
//
//	h(r) = r^4/4 for r <= 1, r - 3/4 beyond
//
// and u the unit vector of equal coordinates. Rows have mean zero, so h(||w - u||) is the mean loss. For r
// <= 1, h = h'^(4/3)/4, which is the KL condition.
//
//	h' = r^3 for r <= 1 and 1 beyond: with 0.4 the Lipschitz constant is 1.4
//	h'' = 3 r^2 in [0, 3] and 0, h'/r <= 1: curvature in [0, 3], with a jump at r = 1
//	inf h = 0 and h(||0 - u||) = 1/4, so InitialGap is 1/4 over tables of mean zero
func Quartic() loss.General { return power{} }

// ThreeHalves is the problem [Quartic] with the function
//
//	h(r) = (s^(3/2) - e^(3/2))/(3/2), s^2 = r^2 + e^2, e = 1/16, for r <= 1, linear beyond
//
// in place of h. It satisfies the KL condition with kappa = 3 for r >= e. No smooth loss has a kappa above
// 2 near its minimum, so h is rounded for r < e. For r >= e, h <= (2/3) s^(3/2) and h' = r s^(-1/2) >=
// s^(1/2)/sqrt(2). Therefore gamma^3 = (2/3) 2^(3/2).
//
//	h' <= 1: with 0.4 the Lipschitz constant is 1.4, up to 0.1%
//	h'/r = s^(-1/2) and h'' <= h'/r lie in [0, e^(-1/2)] = [0, 4], with a jump at r = 1
func ThreeHalves() loss.General { return power{corner: 1. / 16} }

// ThreeHalvesFine is ThreeHalves with the rounding e = 1/4096: the exponent kappa is 3 down to an
// excess risk of 2e-6, and the curvature is at most 64.
func ThreeHalvesFine() loss.General { return power{corner: 1. / 4096} }

const powerRow = 0.4

func (p power) Name() string {
	switch p.corner {
	case 0:
		return "quartic"
	case 1. / 16:
		return "three-halves"
	}
	return "three-halves-fine"
}

func (power) Target() loss.Target { return loss.Real }

func (p power) Constants() loss.Constants {
	c := loss.Constants{Lipschitz: 1 + powerRow, Curvature: loss.CurvatureInterval{Lo: 0, Hi: 3},
		HessianLipschitz: math.Inf(1), InitialGap: p.value(1), ZeroMean: true}
	if p.corner > 0 {
		c.Curvature.Hi = 1 / math.Sqrt(p.corner)
	}
	return c
}

// value returns h(r) for squares = r^2.
func (p power) value(squares float64) float64 {
	beyond := 0.0
	if squares > 1 {
		beyond = float64((math.Sqrt(squares) - 1) * p.slope(1))
		squares = 1
	}
	if p.corner == 0 {
		return float64(squares*squares)/4 + beyond
	}
	s := math.Sqrt(math.FMA(p.corner, p.corner, squares))
	return (float64(s*math.Sqrt(s))-float64(p.corner*math.Sqrt(p.corner)))/1.5 + beyond
}

// slope returns h'(r)/r for squares = r^2.
func (p power) slope(squares float64) float64 {
	if squares > 1 {
		return p.slope(1) / math.Sqrt(squares)
	}
	if p.corner == 0 {
		return squares
	}
	return 1 / math.Sqrt(math.Sqrt(math.FMA(p.corner, p.corner, squares)))
}

func (p power) Value(w []float64, x []float32, y float64) float64 {
	checkLengths(len(w), len(w), len(x))
	if y != y {
		return y
	}
	u := 1 / math.Sqrt(float64(len(w)))
	squares, linear := 0.0, 0.0
	for j, v := range w {
		squares = math.FMA(v-u, v-u, squares)
		linear = math.FMA(float64(powerRow*float64(x[j])), v, linear)
	}
	return p.value(squares) + linear
}

func (p power) Gradient(dst, w []float64, x []float32, y float64) {
	checkLengths(len(dst), len(w), len(x))
	u := 1 / math.Sqrt(float64(len(w)))
	squares := 0.0
	for _, v := range w {
		squares = math.FMA(v-u, v-u, squares)
	}
	slope := p.slope(squares)
	if y != y {
		slope = y
	}
	for j, v := range w {
		dst[j] = math.FMA(powerRow, float64(x[j]), float64(slope*(v-u)))
	}
}
