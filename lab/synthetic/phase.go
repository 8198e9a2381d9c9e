package synthetic

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type phase struct{}

// Phase is the loss of phase retrieval: (z^2 - y)^2/4 for margins |z| <= 1, and linear for |z| > 1. It fits
// the squares of margins to targets. Measured targets are >= 0. The loss is nonconvex, has a saddle or a
// maximum at z = 0 for y > 0, and has the same value at w and -w.
//
//	slope z (z^2 - y) for |z| <= 1, and of size at most 1 - y beyond: over y in [-1, 1] the
//	Lipschitz constant is 2
//	curvature 3 z^2 - y in [-1, 4], and 0 beyond, with a jump at |z| = 1
//
// Values are at least 0 and y^2/4 at z = 0, so InitialGap is 1/4.
func Phase() loss.RankOne { return phase{} }

func (phase) Name() string        { return "phase" }
func (phase) Target() loss.Target { return loss.Real }

func (phase) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 2, Curvature: loss.CurvatureInterval{Lo: -1, Hi: 4}, HessianLipschitz: math.Inf(1),
		InitialGap: .25}
}

func (phase) Values(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		c := min(max(z[i], -1), 1)
		r := math.FMA(c, c, -y[i])
		v := float64(r*r) / 4
		if beyond := math.Abs(z[i] - c); beyond > 0 &&
			y[i] != 1 { // for y = 1 the loss is constant for |z| > 1, also at infinity
			v += float64(beyond * (1 - y[i]))
		}
		dst[i] = v
	}
}

func (phase) Slopes(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		c := min(max(z[i], -1), 1)
		dst[i] = float64(c * math.FMA(c, c, -y[i]))
	}
}

func (phase) Curvatures(dst, z, y []float64) {
	checkLengths(len(dst), len(z), len(y))
	for i := range dst {
		c := min(max(z[i], -1), 1)
		v := math.FMA(3*c, c, -y[i])
		if c != z[i] && v == v {
			v = 0
		}
		dst[i] = v
	}
}
