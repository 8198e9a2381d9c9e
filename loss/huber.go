package loss

import "math"

type huber struct{ delta float64 }

// Huber is r^2/2 for |r| <= delta and delta(|r| - delta/2) for |r| > delta, where r =
// z - y is the residual (Huber 1964). y lies in [-1, 1], delta between 1e-6 and 1e6.
//
//	d/dr = r clamped to [-delta, delta]
//	d2/dr2 = 1 for |r| <= delta and 0 beyond: in [0, 1], with jumps, so there is
//	no bound on the third derivative
//
// Values increase with |r| from 0 at r = 0. At z = 0, |r| is at most 1. InitialGap is
// therefore the value at r = 1.
func Huber(delta float64) (RankOne, error) {
	return scaledBy(huber{delta}, "huber", "delta", delta)
}

// IsHuber reports whether l is a [Huber] loss.
func IsHuber(l Loss) bool {
	_, ok := l.(huber)
	return ok
}

func (h huber) Name() string { return format("huber", h.delta) }
func (huber) Target() Target { return Real }

func (h huber) Constants() Constants {
	return Constants{
		Lipschitz:        h.delta,
		Curvature:        CurvatureInterval{0, 1},
		HessianLipschitz: math.Inf(1),
		InitialGap:       h.value(1),
	}
}

// value returns the loss of the residual r, q(|r| - q/2) with q = min(|r|, delta).
func (h huber) value(r float64) float64 {
	a := math.Abs(r)
	q := min(a, h.delta)
	return float64(q * (a - float64(q/2)))
}

func (h huber) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		dst[i] = h.value(z[i] - y[i])
	}
}

func (h huber) Slopes(dst, z, y []float64)     { clampedSlopes(dst, z, y, h.delta) }
func (h huber) Curvatures(dst, z, y []float64) { clampedCurvatures(dst, z, y, h.delta) }

// clampedSlopes sets dst to the slopes of the Huber loss with delta = c: the residuals z - y, clamped
// to [-c, c].
func clampedSlopes(dst, z, y []float64, c float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		dst[i] = clamp(z[i]-y[i], -c, c)
	}
}

// clampedCurvatures sets dst to the second derivatives of the Huber loss with delta = c: to 1 where
// |z - y| <= c, to 0 where |z - y| > c, and to NaN where z - y is NaN.
func clampedCurvatures(dst, z, y []float64, c float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		switch r := z[i] - y[i]; {
		case math.Abs(r) <= c:
			dst[i] = 1
		case r != r:
			dst[i] = r
		default:
			dst[i] = 0
		}
	}
}
