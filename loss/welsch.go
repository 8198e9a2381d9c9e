package loss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// Welsch is (c^2/2)(1 - e^(-t^2)) for t = (z - y)/c. It is about (z-y)^2/2 for small |t| and nearly constant for large
// |t|, the outliers (Dennis & Welsch 1978). y lies in [-1, 1], c between 1e-6 and 1e6. It is not convex.
//
// With u = t^2:
//
//	d/dz = c t e^-u, greatest at u = 1/2: c/sqrt(2e)
//	d2/dz2 = (1-2u)e^-u, from 1 at u = 0 down to -2 e^(-3/2) at u = 3/2
//	d3/dz3 = (4u-6) t e^-u / c, of greatest absolute value at u = (3-sqrt 6)/2:
//	2 sqrt(6u) e^-u / c (at the other extremum, u = (3+sqrt 6)/2, it is smaller)
//
// Values increase with |z-y| from 0. At z = 0, |z-y| is at most 1. InitialGap is
// therefore the value at |z-y| = 1.
func Welsch(c float64) (RankOne, error) {
	const sqrt6 = 2.449489742783178098197284074705891391965947480656670128
	l, u := welsch{c}, (3-sqrt6)/2
	return scaled(blockwise{
		shape: l, target: Real,
		constants: Constants{
			Lipschitz:        c / math.Sqrt(2*math.E),
			Curvature:        CurvatureInterval{-2 * repromath.Exp(-1.5), 1},
			HessianLipschitz: 2 * math.Sqrt(6*u) * repromath.Exp(-u) / c,
			InitialGap:       l.value(1 / c),
		},
	}, "welsch", "c", c)
}

type welsch struct{ c float64 }

// welschStop bounds |t|, where t is the residual divided by the scale c: t is clamped to [-welschStop,
// welschStop] before e^(-t^2) is computed. The exponential underflows to 0 long before |t| = 40, so the
// bound changes no result. It avoids the product of an infinite t and zero.
const welschStop = 40

func (l welsch) value(t float64) float64 {
	t = clamp(t, -welschStop, welschStop)
	return float64(l.c * l.c / 2 * repromath.OneMinusExp(float64(t*t)))
}

func (l welsch) block(dst, z, y []float64, of derivative) {
	if of == values {
		for i := range dst {
			dst[i] = l.value((z[i] - y[i]) / l.c)
		}
		return
	}
	var t, e block
	for i := range dst {
		t[i] = clamp((z[i]-y[i])/l.c, -welschStop, welschStop)
		e[i] = -float64(t[i] * t[i])
	}
	repromath.Exps(e[:len(dst)], e[:len(dst)])
	for i, t := range t[:len(dst)] {
		if dst[i] = float64(float64(l.c*t) * e[i]); of == curvatures {
			dst[i] = float64(math.FMA(-2, float64(t*t), 1) * e[i])
		}
	}
}
