package synthetic

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
)

type huberBias struct{}

// HuberBias is a synthetic problem whose minimiser estimates the mean of the rows. A record's loss does not
// use y. It is <w, x>/2 + H(||w||)/2 with H(r) = r^2 for r <= 1/2 and H(r) = r - 1/4 for r > 1/2. In one
// dimension, with rows -1 and +1 drawn from a slightly biased coin, it is the instance of a lower bound:
// from n records no algorithm, private or not, finds a point where the population gradient is of smaller
// order than 1/sqrt(n) (Arora et al. 2023, Theorem 7, with Lipschitz constant and smoothness 1).
//
//	gradient x/2 + w, with w scaled down to length 1/2: the Lipschitz constant is 1
//	Hessian I for ||w|| < 1/2; beyond, I/(2||w||) and 0 along w: curvature in [0, 1], with
//	a jump at ||w|| = 1/2, so there is no bound on the third derivative
//
// The loss f is 0 at w = 0, and its least value -||x||^2/8 is at w = -x/2. InitialGap is therefore 1/8.
func HuberBias() loss.General { return huberBias{} }

func (huberBias) Name() string        { return "huber-bias" }
func (huberBias) Target() loss.Target { return loss.Real }

func (huberBias) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Hi: 1}, HessianLipschitz: math.Inf(1),
		InitialGap: .125}
}

func (huberBias) Value(w []float64, x []float32, y float64) float64 {
	checkLengths(len(w), len(w), len(x))
	if y != y {
		return y
	}
	r, dot := 0.0, 0.0
	for j, v := range w {
		r = math.Hypot(r, v)
		dot += v * float64(x[j])
	}
	return dot/2 + testloss.Huber(r, .5)
}

func (huberBias) Gradient(dst, w []float64, x []float32, y float64) {
	checkLengths(len(dst), len(w), len(x))
	squares := 0.0
	for j, v := range w {
		dst[j] = v
		squares = math.FMA(v, v, squares)
	}
	testloss.Shrink(dst, squares, .5, y)
	for j := range dst {
		dst[j] += float64(x[j]) / 2
	}
}
