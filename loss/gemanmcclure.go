package loss

import "math"

// GemanMcClure is (c^2/2) u/(1+u) for u = t^2 and t = (z - y)/c. It is about (z-y)^2/2 for small |t| and nearly
// constant for large |t|, the outliers. Its tails are heavier than the tails of Welsch (Geman & McClure 1985). y lies
// in [-1, 1], c between 1e-6 and 1e6. It is not convex.
//
//	d/dz = c t/(1+u)^2, greatest at u = 1/3: 3 sqrt(3) c/16
//	d2/dz2 = (1-3u)/(1+u)^3, from 1 at u = 0 down to -1/4 at u = 1
//	d3/dz3 = 12 t(u-1)/(1+u)^4 / c, extremal where 5u^2 - 10u + 1 = 0, greatest
//	at u = 1 - 2/sqrt 5
//
// Values increase with |z-y| from 0. At z = 0, |z-y| is at most 1. InitialGap is
// therefore the value at |z-y| = 1.
func GemanMcClure(c float64) (RankOne, error) {
	const u = 1 - 2/sqrt5
	l := gemanMcClure{c}
	return scaled(blockwise{
		shape: l, target: Real,
		constants: Constants{
			Lipschitz:        3 * sqrt3 / 16 * c,
			Curvature:        CurvatureInterval{-1.0 / 4, 1},
			HessianLipschitz: 12 * math.Sqrt(u) * (1 - u) / ((1 + u) * (1 + u) * (1 + u) * (1 + u)) / c,
			InitialGap:       l.value(1 / c),
		},
	}, "geman-mcclure", "c", c)
}

const sqrt5 = 2.236067977499789696409173668731276235440618359611525724

type gemanMcClure struct{ c float64 }

// gemanMcClureStop bounds |t|, where t is the residual divided by the scale c: t is clamped to
// [-gemanMcClureStop, gemanMcClureStop]. The bound is so small that t^2 is finite, and so large that value,
// slope and curvature have reached their limits.
const gemanMcClureStop = 1e150

func (l gemanMcClure) value(t float64) float64 {
	return float64(l.c * l.c / 2 * (float64(t*t) / math.FMA(t, t, 1)))
}

func (l gemanMcClure) block(dst, z, y []float64, of derivative) {
	for i := range dst {
		t := clamp((z[i]-y[i])/l.c, -gemanMcClureStop, gemanMcClureStop)
		v := 1 / math.FMA(t, t, 1)
		switch of {
		case values:
			dst[i] = l.value(t)
		case slopes:
			dst[i] = float64(float64(float64(l.c*t)*v) * v)
		case curvatures: // (1-3u)v = 4v - 3, because u v = 1 - v
			dst[i] = float64(float64(math.FMA(4, v, -3)*v) * v)
		}
	}
}
