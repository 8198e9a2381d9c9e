package loss

type sigmoid struct{}

// Sigmoid is 1/(1 + e^m) in the margin m = y z, y in {-1, +1}: the predicted
// probability of the class that is not the true one, a smooth count of errors. It
// is not convex.
//
// With s the value and p = s(1-s) in (0, 1/4]:
//
//	d/dm = -p, of size at most 1/4 (m = 0)
//	d2/dm2 = p(1-2s), of size at most 1/(6 sqrt 3) (p = 1/6), either sign
//	d3/dm3 = -p(1-6p), of size at most 1/8 (p = 1/4; the other extremum, p =
//	1/12, gives 1/24)
//
// Values lie above 0 and are 1/2 at z = 0, so InitialGap is 1/2.
func Sigmoid() RankOne { return sigmoid{} }

func (sigmoid) Name() string   { return "sigmoid" }
func (sigmoid) Target() Target { return Binary }

func (sigmoid) Constants() Constants {
	return Constants{
		Lipschitz:        1.0 / 4,
		Curvature:        CurvatureInterval{-1 / (6 * sqrt3), 1 / (6 * sqrt3)},
		HessianLipschitz: 1.0 / 8,
		InitialGap:       1.0 / 2,
	}
}

func (sigmoid) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var exp block
	for len(dst) > 0 {
		e := exp.expMargins(1, z, y)
		for i, e := range e {
			dst[i] = 1 / (1 + e)
		}
		dst, z, y = dst[len(e):], z[len(e):], y[len(e):]
	}
}

func (sigmoid) Slopes(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var margin, exp block
	for len(dst) > 0 {
		m := margin.margins(1, z, y)
		for i, e := range exp.expOfSizes(m) {
			dst[i] = float64(-y[i] * bell(e))
		}
		dst, z, y = dst[len(m):], z[len(m):], y[len(m):]
	}
}

func (sigmoid) Curvatures(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var margin, exp block
	for len(dst) > 0 {
		m := margin.margins(1, z, y)
		for i, e := range exp.expOfSizes(m) {
			dst[i] = bellSlope(m[i], e)
		}
		dst, z, y = dst[len(m):], z[len(m):], y[len(m):]
	}
}
