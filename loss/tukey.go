package loss

import "math"

// Tukey is the biweight loss. For t = (z - y)/c and u = t^2, it is (c^2/6)(1 - (1-u)^3) for |t| <= 1. It is
// the constant c^2/6 for |t| > 1, where records have no influence (Beaton & Tukey 1974). y lies in [-1, 1],
// and c between 1e-6 and 1e6. The loss is not convex.
//
// For |t| <= 1:
//
//	d/dz = c t(1-u)^2, greatest at u = 1/5: 16 c/(25 sqrt 5)
//	d2/dz2 = (1-u)(1-5u), from 1 at u = 0 down to -4/5 at u = 3/5. It is 0 at u = 1,
//	and therefore continuous
//	d3/dz3 = (20u-12) t / c, of size 8/c at t = 1 (the extremum inside, u = 1/5,
//	gives 8/(sqrt 5 c)). It jumps to 0 at |t| = 1, and 8/c is a Lipschitz constant of d2/dz2
//
// Values do not decrease with |z-y|, from 0. At z = 0, |z-y| is at most 1. InitialGap is therefore the value
// at |z-y| = 1.
func Tukey(c float64) (RankOne, error) {
	l := tukey{c}
	return scaled(blockwise{
		shape: l, target: Real,
		constants: Constants{
			Lipschitz:        16 * c / (25 * sqrt5),
			Curvature:        CurvatureInterval{-4.0 / 5, 1},
			HessianLipschitz: 8 / c,
			InitialGap:       l.value(1 / c),
		},
	}, "tukey", "c", c)
}

type tukey struct{ c float64 }

// value returns the loss at t, computed as (c^2/6) u(3 - 3u + u^2) with u = t^2. This form has no
// cancellation near t = 0.
func (l tukey) value(t float64) float64 {
	t = clamp(t, -1, 1)
	u := float64(t * t)
	return float64(l.c * l.c / 6 * (u * math.FMA(u, u, math.FMA(-3, u, 3))))
}

func (l tukey) block(dst, z, y []float64, of derivative) {
	for i := range dst {
		t := clamp((z[i]-y[i])/l.c, -1, 1)
		v := math.FMA(-t, t, 1)
		switch of {
		case values:
			dst[i] = l.value(t)
		case slopes:
			dst[i] = float64(float64(float64(l.c*t)*v) * v)
		case curvatures: // 1-5u = 5v - 4 with v = 1-u
			dst[i] = float64(math.FMA(5, v, -4) * v)
		}
	}
}
