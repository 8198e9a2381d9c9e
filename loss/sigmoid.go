package loss

import "github.com/stillpoint-dp/stillpoint/internal/repromath"

// Sigmoid is 1/(1 + e^m) in the margin m = y z, y in {-1, +1}: the predicted probability of the class that is not the
// true one, a smooth count of errors. It is not convex.
//
// With s the value and p = s(1-s) in (0, 1/4]:
//
//	d/dm = -p, of size at most 1/4 (m = 0)
//	d2/dm2 = p(1-2s), of size at most 1/(6 sqrt 3) (p = 1/6), either sign
//	d3/dm3 = -p(1-6p), of size at most 1/8 (p = 1/4; the other extremum, p =
//	1/12, gives 1/24)
//
// Values lie above 0 and are 1/2 at z = 0, so InitialGap is 1/2.
func Sigmoid() RankOne { return sigmoid{1}.named("sigmoid") }

// Tanh is 1 - tanh(m) in the margin m = y z, y in {-1, +1}: twice the sigmoid
// loss at 2m. It is not convex.
//
// With t = tanh(m):
//
//	d/dm = -(1-t^2), of size at most 1 (m = 0)
//	d2/dm2 = 2t(1-t^2), of size at most 4/(3 sqrt 3) (t = 1/sqrt 3), either sign
//	d3/dm3 = 2(1-t^2)(1-3t^2), of size at most 2 (t = 0; the other extremum,
//	t^2 = 2/3, gives 2/3)
//
// Values lie above 0 and are 1 at z = 0, so InitialGap is 1.
func Tanh() RankOne { return sigmoid{2}.named("tanh") }

// sigmoid is by / (1 + e^(by m)) in the margin m = y z.
type sigmoid struct {
	by float64 // a power of two, so that products with its powers are exact
}

func (s sigmoid) named(name string) RankOne {
	square, cube := s.by*s.by, s.by*s.by*s.by
	return blockwise{
		shape: s, name: name, target: Binary,
		constants: Constants{
			Lipschitz:        square / 4,
			Curvature:        CurvatureInterval{-cube * (1 / (6 * sqrt3)), cube * (1 / (6 * sqrt3))},
			HessianLipschitz: square * square / 8,
			InitialGap:       s.by / 2,
		},
	}
}

// block computes 1 - tanh(m) as 2/(1 + e^(2m)). For large m the subtraction 1 - tanh(m) would lose digits. Slopes of tanh
// are -y sech^2(m). 1 - t^2 = 4 s(1-s), where s is the logistic function of 2m.
func (s sigmoid) block(dst, z, y []float64, of derivative) {
	var margin, exp block
	switch m := margin.margins(s.by, z, y); of {
	case values:
		repromath.Exps(m, m)
		for i, e := range m {
			dst[i] = s.by / (1 + e)
		}
	case slopes:
		for i, e := range exp.expOfSizes(m) {
			dst[i] = float64(-s.by * s.by * y[i] * bell(e))
		}
	case curvatures:
		for i, e := range exp.expOfSizes(m) {
			dst[i] = float64(s.by * s.by * s.by * bellSlope(m[i], e))
		}
	}
}
