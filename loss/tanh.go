package loss

type tanh struct{}

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
func Tanh() RankOne { return tanh{} }

func (tanh) Name() string   { return "tanh" }
func (tanh) Target() Target { return Binary }

func (tanh) Constants() Constants {
	return Constants{
		Lipschitz:        1,
		Curvature:        CurvatureInterval{-4 / (3 * sqrt3), 4 / (3 * sqrt3)},
		HessianLipschitz: 2,
		InitialGap:       1,
	}
}

// Values computes 1 - tanh(m) as 2/(1 + e^(2m)). For large m the subtraction 1 - tanh(m) would lose digits.
func (tanh) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var exp block
	for len(dst) > 0 {
		e := exp.expMargins(2, z, y)
		for i, e := range e {
			dst[i] = 2 / (1 + e)
		}
		dst, z, y = dst[len(e):], z[len(e):], y[len(e):]
	}
}

// Slopes computes -y sech^2(m). 1 - t^2 = 4 s(1-s), where s is the logistic function of 2m.
func (tanh) Slopes(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var margin, exp block
	for len(dst) > 0 {
		m := margin.margins(2, z, y)
		for i, e := range exp.expOfSizes(m) {
			dst[i] = float64(-4 * y[i] * bell(e))
		}
		dst, z, y = dst[len(m):], z[len(m):], y[len(m):]
	}
}

func (tanh) Curvatures(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var margin, exp block
	for len(dst) > 0 {
		m := margin.margins(2, z, y)
		for i, e := range exp.expOfSizes(m) {
			dst[i] = float64(8 * bellSlope(m[i], e))
		}
		dst, z, y = dst[len(m):], z[len(m):], y[len(m):]
	}
}
