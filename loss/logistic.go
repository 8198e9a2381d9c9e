package loss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// Logistic is the log loss log(1 + e^(-m)) of the margin m = y z, y in {-1, +1}.
//
// With s = 1/(1 + e^m), the predicted probability of the class that is not the true one:
//
//	d/dm = -s, of size at most 1 (m -> -inf)
//	d2/dm2 = s(1-s) in [0, 1/4] (s -> 0; s = 1/2)
//	|d3/dm3| = s(1-s)|1-2s|, greatest where s(1-s) = 1/6, |1-2s| = 1/sqrt 3:
//	1/(6 sqrt 3)
//
// Values lie above 0 and are ln 2 at z = 0, so InitialGap is ln 2.
func Logistic() RankOne {
	return blockwise{
		shape: logistic{}, name: "logistic", target: Binary,
		constants: Constants{
			Lipschitz:        1,
			Curvature:        CurvatureInterval{0, 1.0 / 4},
			HessianLipschitz: 1 / (6 * sqrt3),
			InitialGap:       math.Ln2,
		},
	}
}

type logistic struct{}

// block computes slopes as -y/(1 + e^m). Where e^m underflows to 0 or overflows to +Inf, the result is -y or 0, its
// limit.
func (logistic) block(dst, z, y []float64, of derivative) {
	var margin, exp block
	switch m := margin.margins(1, z, y); of {
	case values:
		e := exp.expOfSizes(m)
		repromath.CommonLog1ps(e, e)
		for i, log := range e {
			dst[i] = max(-m[i], 0) + log
		}
	case slopes:
		repromath.Exps(m, m)
		for i, e := range m {
			dst[i] = -y[i] / (1 + e)
		}
	case curvatures:
		for i, e := range exp.expOfSizes(m) {
			dst[i] = bell(e)
		}
	}
}

const sqrt3 = 1.732050807568877293527446341505872366942805253810380628

// bell returns s(1-s) = e/(1+e)^2 for e = e^-|m|: the second derivative of the logistic loss in its margin m, where s =
// 1/(1+e^m). It is even in m, at most 1/4, and free of cancellation for large and small m.
func bell(e float64) float64 {
	d := 1 + e
	return e / float64(d*d)
}

// bellSlope returns s(1-s)(1-2s) for s = 1/(1+e^m): minus the derivative in m of s(1-s) (see bell). e must
// be e^-|m|. The result is e(1-e)/(1+e)^3 with the sign of m.
func bellSlope(m, e float64) float64 {
	d := 1 + e
	return math.Copysign(float64(e*(1-e))/float64(float64(d*d)*d), m)
}

// IsLogistic reports whether a loss is Logistic.
func IsLogistic(l Loss) bool { return shaped[logistic](l) }
