package synthetic

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type cosine struct{}

// Cosine is the loss 1 - cos(r) of the residual r = z - y for |r| <= pi, and 2 beyond.
//
// If some weights w* have all residuals 0, the mean F of the loss over records is quasar-convex about w* as long as all |r|
// are at most 2: <grad F(w), w - w*> is the mean of r sin r, and r sin r >= 1.28 (1 - cos r), since r cot(r/2) falls from 2
// at 0 to 2 cot(1) at 2 and to 0 at pi.
//
//	slope sin r in [-1, 1], and 0 beyond: continuous
//	curvature cos r in [-1, 1], and 0 beyond, with a jump at |r| = pi
//
// Values are at least 0. At z = 0 they are at most 1 - cos 1 for y in [-1, 1], so InitialGap is .46.
func Cosine() loss.RankOne { return cosine{} }

func (cosine) Name() string        { return "cosine" }
func (cosine) Target() loss.Target { return loss.Real }

func (cosine) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Lo: -1, Hi: 1}, HessianLipschitz: math.Inf(1),
		InitialGap: .46}
}

// turn returns the sine and the cosine of x for |x| <= 2, with the same bits on every machine, by Taylor series.
func turn(x float64) (sin, cos float64) {
	square := float64(x * x)
	sin, cos = 1, 1
	for k := 24; k > 0; k -= 2 {
		sin = math.FMA(-float64(square/float64(k*(k+1))), sin, 1)
		cos = math.FMA(-float64(square/float64(k*(k-1))), cos, 1)
	}
	return float64(x * sin), cos
}

func (cosine) Values(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		half, _ := turn(min(max(z[i]-y[i], -math.Pi), math.Pi) / 2)
		dst[i] = 2 * float64(half*half)
	}
}

func (cosine) Slopes(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		sin, cos := turn(min(max(z[i]-y[i], -math.Pi), math.Pi) / 2)
		dst[i] = 2 * float64(sin*cos)
	}
}

func (cosine) Curvatures(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		r := z[i] - y[i]
		sin, _ := turn(min(max(r, -math.Pi), math.Pi) / 2)
		dst[i] = math.FMA(-2*sin, sin, 1)
		if math.Abs(r) > math.Pi {
			dst[i] = 0
		}
	}
}
