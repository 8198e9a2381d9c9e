package synthetic

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
)

type expTail struct{}

// ExpTail is a synthetic problem that satisfies the KL condition with kappa = 1: its excess risk is at most
// proportional to its gradient norm. A record's loss does not use y. It is F(w) + <0.4 x, w> with
//
//	F(w) = g(w_1) + (w_2^2 + ... + w_d^2)/2
//	g(v) = e^-v for v >= 0, 1 - v + v^2/2 below
//
// Rows have mean zero, so F is the mean loss. Where w_1 >= 0 and the other coordinates have length b <= 2,
// F = a + b^2/2 <= a + b <= sqrt(2) ||grad F||, with a = g = |g'|. Therefore gamma is sqrt(2).
//
//	g' = -e^-v, and v - 1 below: continuous
//	g'' = e^-v in (0, 1], and 1 below: continuous; with the 1 of the other coordinates,
//	curvature is in [0, 1]
//	|g'''| = e^-v <= 1, and 0 below
//
// The quadratic part has no Lipschitz constant. Gradients longer than 1.5 are therefore scaled down to
// length 1.5. At the start, 0, a gradient is at most 1.4 long. F(0) = 1 and inf F = 0, so InitialGap is 1
// for tables of mean zero.
func ExpTail() loss.General { return expTail{} }

const (
	expTailRow = 0.4
	expTailL0  = 1.5
)

// fading returns e^-v for v >= 0 to 13 digits, with the same bits on every machine. It squares the
// Taylor series at v/1024 ten times.
func fading(v float64) float64 {
	x := -min(v, 700) / 1024
	p := 1.0
	for k := 8; k > 0; k-- {
		p = math.FMA(float64(x/float64(k)), p, 1)
	}
	for range 10 {
		p = float64(p * p)
	}
	return p
}

func (expTail) Name() string        { return "exp-tail" }
func (expTail) Target() loss.Target { return loss.Real }

func (expTail) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz: expTailL0, Curvature: loss.CurvatureInterval{Lo: 0, Hi: 1}, HessianLipschitz: 1,
		InitialGap: 1, Clipped: true, ZeroMean: true,
	}
}

func (expTail) Value(w []float64, x []float32, y float64) float64 {
	checkLengths(len(w), len(w), len(x))
	if y != y {
		return y
	}
	f := 0.0
	if len(w) > 0 {
		if v := w[0]; v >= 0 {
			f = fading(v)
		} else {
			f = 1 - v + float64(float64(v/2)*v)
		}
	}
	for j, v := range w {
		if j > 0 {
			f = math.FMA(v/2, v, f)
		}
		f = math.FMA(float64(expTailRow*float64(x[j])), v, f)
	}
	return f
}

func (expTail) Gradient(dst, w []float64, x []float32, y float64) {
	checkLengths(len(dst), len(w), len(x))
	copy(dst, w)
	if len(dst) > 0 {
		if v := w[0]; v >= 0 {
			dst[0] = -fading(v)
		} else {
			dst[0] = v - 1
		}
	}
	squares := 0.0
	for j := range dst {
		dst[j] = math.FMA(expTailRow, float64(x[j]), dst[j])
		squares = math.FMA(dst[j], dst[j], squares)
	}
	testloss.Shrink(dst, squares, expTailL0, y)
}
