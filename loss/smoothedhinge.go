package loss

import "math"

type smoothedHinge struct{ width float64 }

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
	return scaledBy(smoothedHinge{width}, "smoothed-hinge", "width", width)
}

func (l smoothedHinge) Name() string { return format("smoothed-hinge", l.width) }
func (smoothedHinge) Target() Target { return Binary }

func (l smoothedHinge) Constants() Constants {
	return Constants{
		Lipschitz:        1,
		Curvature:        CurvatureInterval{0, 1 / l.width},
		HessianLipschitz: math.Inf(1),
		InitialGap:       l.value(1),
	}
}

// value returns the loss at a = 1 - m for the margin m, q(a - hq/2) with the width h and q = a/h
// clamped to [0, 1].
func (l smoothedHinge) value(a float64) float64 {
	a = max(a, 0)
	q := min(a/l.width, 1)
	return float64(q * (a - float64(l.width*q/2)))
}

func (l smoothedHinge) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		dst[i] = l.value(1 - float64(y[i]*z[i]))
	}
}

func (l smoothedHinge) Slopes(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		dst[i] = float64(-y[i] * clamp((1-float64(y[i]*z[i]))/l.width, 0, 1))
	}
}

func (l smoothedHinge) Curvatures(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		switch q := (1 - float64(y[i]*z[i])) / l.width; {
		case q >= 0 && q <= 1:
			dst[i] = 1 / l.width
		case q != q:
			dst[i] = q
		default:
			dst[i] = 0
		}
	}
}
