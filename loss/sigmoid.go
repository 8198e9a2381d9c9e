package loss

// sigmoid is by / (1 + e^(by m)) in the margin m = y z.
type sigmoid struct {
	name string
	by   float64 // a power of two, so that products with its powers are exact
}

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
func Sigmoid() RankOne { return sigmoid{"sigmoid", 1} }

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
func Tanh() RankOne { return sigmoid{"tanh", 2} }

func (s sigmoid) Name() string { return s.name }
func (sigmoid) Target() Target { return Binary }

func (s sigmoid) Constants() Constants {
	square, cube := s.by*s.by, s.by*s.by*s.by
	return Constants{
		Lipschitz:        square / 4,
		Curvature:        CurvatureInterval{-cube * (1 / (6 * sqrt3)), cube * (1 / (6 * sqrt3))},
		HessianLipschitz: square * square / 8,
		InitialGap:       s.by / 2,
	}
}

// Values computes 1 - tanh(m) as 2/(1 + e^(2m)). For large m the subtraction 1 - tanh(m) would lose digits.
func (s sigmoid) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var exp block
	for len(dst) > 0 {
		e := exp.expMargins(s.by, z, y)
		for i, e := range e {
			dst[i] = s.by / (1 + e)
		}
		dst, z, y = dst[len(e):], z[len(e):], y[len(e):]
	}
}

// Slopes computes -y sech^2(m) for tanh. 1 - t^2 = 4 s(1-s), where s is the logistic function of 2m.
func (s sigmoid) Slopes(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var margin, exp block
	factor := -s.by * s.by
	for len(dst) > 0 {
		m := margin.margins(s.by, z, y)
		for i, e := range exp.expOfSizes(m) {
			dst[i] = float64(factor * y[i] * bell(e))
		}
		dst, z, y = dst[len(m):], z[len(m):], y[len(m):]
	}
}

func (s sigmoid) Curvatures(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	var margin, exp block
	factor := s.by * s.by * s.by
	for len(dst) > 0 {
		m := margin.margins(s.by, z, y)
		for i, e := range exp.expOfSizes(m) {
			dst[i] = float64(factor * bellSlope(m[i], e))
		}
		dst, z, y = dst[len(m):], z[len(m):], y[len(m):]
	}
}
