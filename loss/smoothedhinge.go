package loss

import "math"

// SmoothedHinge is the hinge max(0, 1-m) in the margin m = y z, y in {-1, +1}, with its corner rounded over the given
// width h below m = 1 (Rennie & Srebro 2005 for h = 1):
//
//	0                for a <= 0, where a = 1-m
//	a^2/(2h)         for 0 <= a <= h
//	a - h/2          for a >= h
//
// h must be between 1e-6 and 1e6. d/dm is -(a/h clamped to [0, 1]), of absolute value at most 1. d2/dm2 is 1/h for 0 <
// a < h and 0 for a < 0 and a > h, with jumps, so there is no bound on the third derivative. The least value is 0, and
// a = 1 at z = 0, so InitialGap is the value at a = 1.
func SmoothedHinge(width float64) (RankOne, error) {
	l := smoothedHinge{width}
	return scaled(blockwise{
		shape: l, target: Binary,
		constants: Constants{
			Lipschitz:        1,
			Curvature:        CurvatureInterval{0, 1 / width},
			HessianLipschitz: math.Inf(1),
			InitialGap:       l.value(1),
		},
	}, "smoothed-hinge", "width", width)
}

type smoothedHinge struct{ width float64 }

// value returns the loss at a = 1 - m for the margin m, q(a - hq/2) with the width h and q = a/h
// clamped to [0, 1].
func (l smoothedHinge) value(a float64) float64 {
	a = max(a, 0)
	q := min(a/l.width, 1)
	return float64(q * (a - float64(l.width*q/2)))
}

func (l smoothedHinge) block(dst, z, y []float64, of derivative) {
	for i := range dst {
		a := 1 - float64(y[i]*z[i])
		switch q := a / l.width; {
		case of == values:
			dst[i] = l.value(a)
		case of == slopes:
			dst[i] = float64(-y[i] * clamp(q, 0, 1))
		case q >= 0 && q <= 1:
			dst[i] = 1 / l.width
		case q != q:
			dst[i] = q
		default:
			dst[i] = 0
		}
	}
}
