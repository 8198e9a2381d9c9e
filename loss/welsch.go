package loss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

type welsch struct{ c float64 }

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
	return scaledBy(welsch{c}, "welsch", "c", c)
}

func (l welsch) Name() string { return format("welsch", l.c) }
func (welsch) Target() Target { return Real }

func (l welsch) Constants() Constants {
	const sqrt6 = 2.449489742783178098197284074705891391965947480656670128
	u := (3 - sqrt6) / 2
	return Constants{
		Lipschitz:        l.c / math.Sqrt(2*math.E),
		Curvature:        CurvatureInterval{-2 * repromath.Exp(-1.5), 1},
		HessianLipschitz: 2 * math.Sqrt(6*u) * repromath.Exp(-u) / l.c,
		InitialGap:       l.value(1 / l.c),
	}
}

// welschStop bounds |t|, where t is the residual divided by the scale c: t is clamped to [-welschStop,
// welschStop] before e^(-t^2) is computed. The exponential underflows to 0 long before |t| = 40, so the
// bound changes no result. It avoids the product of an infinite t and zero.
const welschStop = 40

func (l welsch) value(t float64) float64 {
	t = clamp(t, -welschStop, welschStop)
	return float64(l.c * l.c / 2 * repromath.OneMinusExp(float64(t*t)))
}

func (l welsch) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		dst[i] = l.value((z[i] - y[i]) / l.c)
	}
}

// bells computes t and e^-t^2 for the first records of a block, and returns their number.
func (l welsch) bells(t, e *block, z, y []float64) int {
	n := len(t.take(len(z)))
	for i := range n {
		t[i] = clamp((z[i]-y[i])/l.c, -welschStop, welschStop)
		e[i] = -float64(t[i] * t[i])
	}
	repromath.Exps(e[:n], e[:n])
	return n
}

func (l welsch) Slopes(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var t, e block
	for len(dst) > 0 {
		n := l.bells(&t, &e, z, y)
		for i, t := range t[:n] {
			dst[i] = float64(float64(l.c*t) * e[i])
		}
		dst, z, y = dst[n:], z[n:], y[n:]
	}
}

func (l welsch) Curvatures(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var t, e block
	for len(dst) > 0 {
		n := l.bells(&t, &e, z, y)
		for i, t := range t[:n] {
			dst[i] = float64(math.FMA(-2, float64(t*t), 1) * e[i])
		}
		dst, z, y = dst[n:], z[n:], y[n:]
	}
}
