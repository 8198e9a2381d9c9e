package query

import (
	"math"
	"testing"
)

// TestRefusedTermsToTheLetter compares the errors of terms that break one rule each, with both numbers of a rule in their
// places, and takes terms at the ends of the ranges that the errors state.
func TestRefusedTermsToTheLetter(t *testing.T) {
	m := metricOf(t, 2, []float64{1, 0, 0, 1})
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		term Term
		want string // after the kind; "" if the term is good
	}{
		{CurvatureAlongAt(some, at(1, 2), at(1, 2, 3), -1, 1), "vector has 3 coordinates: must have as many as w, 2"},
		{ProductAt(some, at(1, 2, 3), at(1, 2), -1, 1), "vector has 2 coordinates: must have as many as w, 3"},
		{CurvatureAlongAt(some, at(1, 2), at(1, 2), .5, 1), "curvature interval = [0.5, 1]: must be finite with lo <= 0 <= hi, lo < hi"},
		{CurvatureAlongAt(some, at(1, 2), at(1, 2), -2, -1), "curvature interval = [-2, -1]: must be finite with lo <= 0 <= hi, lo < hi"},
		{CurvatureAlongAt(some, at(1, 2), at(1, 2), 0, 0), "curvature interval = [0, 0]: must be finite with lo <= 0 <= hi, lo < hi"},
		{CurvatureAlongAt(some, at(1, 2), at(1, 2), 0, inf), "curvature interval = [0, +Inf]: must be finite with lo <= 0 <= hi, lo < hi"},
		{CurvatureAlongAt(some, at(1, 2), at(1, 2), 0, 1), ""},
		{CurvatureAlongAt(some, at(1, 2), at(1, 2), -1, 0), ""},
		{ProductChangeAt(some, at(1, 2), at(1, 3), at(1, 1), -1, 1, 0), "Lipschitz constant of the Hessian = 0: must be > 0"},
		{ProductChangeAt(some, at(1, 2), at(1, 3), at(1, 1), -1, 1, nan), "Lipschitz constant of the Hessian = NaN: must be > 0"},
		{ProductChangeAt(some, at(1, 2), at(1, 3), at(1, 1), -1, 1, inf), ""},
		{WeightedGradientAt(some, at(1, 2), 1, 0x1p-20, m), ""},
		{WeightedGradientAt(some, at(1, 2), 1, 0x1p20, m), ""},
		{WeightedGradientAt(some, at(1, 2), 1, 0x1p-21, m), "reach = 4.76837158203125e-07: must be between 2^-20 and 2^20"},
		{WeightedGradientAt(some, at(1, 2), 1, 0x1p21, m), "reach = 2.097152e+06: must be between 2^-20 and 2^20"},
		{WeightedGradientAt(some, at(1, 2), 1, nan, m), "reach = NaN: must be between 2^-20 and 2^20"},
		{WeightedCurvatureAt(some, at(1, 2), 1, 0x1p21, m), "reach = 2.097152e+06: must be between 2^-20 and 2^20"},
		{WeightedMomentOf(some, 0x1p21, m), "reach = 2.097152e+06: must be between 2^-20 and 2^20"},
		{ScoreMomentAt(some, at(1, 2), 1, 0, m), "reach = 0: must be between 2^-20 and 2^20"},
		{WeightedGradientAt(some, at(1, 2), 0x1p-80, 1, m), ""},
		{WeightedGradientAt(some, at(1, 2), 0x1p80, 1, m), ""},
		{WeightedGradientAt(some, at(1, 2), 0x1p-81, 1, m), "limit of the scalar = 4.1359030627651384e-25: must be between 2^-80 and 2^80"},
		{WeightedGradientAt(some, at(1, 2), 0x1p81, 1, m), "limit of the scalar = 2.4178516392292583e+24: must be between 2^-80 and 2^80"},
		{ScoreMomentAt(some, at(1, 2), inf, 1, m), "limit of the scalar = +Inf: must be between 2^-80 and 2^80"},
		{GradientInMetric(some, at(1, 2), 1, 0x1p201, m), "slope = 3.2138760885179806e+60: must be between 2^-200 and 2^200"},
		{CurvatureAlongAt(some, at(1, nan), at(1, 2), -1, 1), "point: coordinate 1 = NaN: must be finite"},
		{CurvatureAlongAt(some, at(1, 2), at(inf, 2), -1, 1), "point: coordinate 0 = +Inf: must be finite"},
		{CurvatureAlongAt(Cohort{}, at(1, 2), at(1, 2), -1, 1), "cohort: must come from a session (All or Draw)"},
	} {
		got, want := "", c.want
		if _, err := New(1, c.term); err != nil {
			got = err.Error()
		}
		if want != "" {
			want = "query: " + c.term.Kind().String() + ": " + want
		}
		if got != want {
			t.Errorf("%q: must be %q", got, want)
		}
	}
}
