package inference

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestNegativeMiddle: along an eigenvector of the released middle whose eigenvalue noise has made negative there is no
// sampling error, and the noise of the gradient alone.
func TestNegativeMiddle(t *testing.T) {
	r := Released{Records: 100, At: []float64{1, 2}, Gradient: []float64{.01, .02}, GradientSigma: .03, CurvatureSigma: 1e-9,
		Curvature: mat.NewSymDense(2, []float64{.5, 0, 0, .25}), Middle: mat.NewSymDense(2, []float64{.36, 0, 0, -.2})}
	e, err := Solve(r, .95)
	if err != nil || e.Method != Wald {
		t.Fatalf("%+v, %v", e, err)
	}
	for j, want := range []float64{.36 / 100 / .25, 0} {
		if got := e.Sampling.At(j, j); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("sampling variance %d: %v: must be %v", j, got, want)
		}
	}
	for j, want := range []float64{(.36/100 + .0009) / .25, .0009 / .0625} {
		if got := e.Covariance.At(j, j); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("variance %d: %v: must be %v", j, got, want)
		}
	}
}

// TestLimitsOfAbsorption: a dropped feature is named from a correlation of one half on, whatever its sign, and the largest
// counts. The correlation must be four deviations of the noise of an entry, sigma/sqrt 2.
func TestLimitsOfAbsorption(t *testing.T) {
	columns := []Column{{Feature: 0}, {Feature: 1}, {Feature: 3, Kept: true}}
	for _, c := range []struct {
		first, second, sigma float64 // the covariances of the dropped feature with two columns, of the variances .04 and .01
		by                   int     // -1 for none
	}{
		{.0098, .003, 1e-4, -1}, {.0102, .003, 1e-4, 0}, {-.0102, .003, 1e-4, 0}, {.012, -.0075, 1e-4, 1}, {-.0142, .007, 1e-4, 0},
		{.012, 0, .0041, 0}, {.012, 0, .0044, -1},
	} {
		m := mat.NewSymDense(4, []float64{.04, 0, c.first, 0, 0, .01, c.second, 0, c.first, c.second, .01, 0, 0, 0, 0, 1})
		got := Absorb(m, columns, []int{2}, c.sigma)
		if (len(got) == 0) != (c.by < 0) || len(got) == 1 && (got[0].By != c.by || got[0].Feature != 2) {
			t.Errorf("%+v: %+v", c, got)
			continue
		}
		if len(got) == 1 {
			v, a := c.first, .04
			if c.by == 1 {
				v, a = c.second, .01
			}
			r := v / math.Sqrt(a*.01)
			noise := c.sigma * math.Sqrt(1/(2*a*.01)+r*r/4*(1/(a*a)+1/(.01*.01)))
			if !(math.Abs(got[0].Correlation-r) <= 1e-9) || !(math.Abs(got[0].Noise-noise) <= 1e-9) {
				t.Errorf("%+v: %+v: must be %v with the noise %v", c, got, r, noise)
			}
		}
	}
}

// TestLimitsOfShapes: noise alone counts as half an effective column, and a column is dropped where the direction that noise
// hides is that of a lone intercept.
func TestLimitsOfShapes(t *testing.T) {
	b := Bounds{MomentSigma: .02, Usual: .5, Unit: 1e-9, Beta: 4}
	s, dropped, err := Shorten(mat.NewSymDense(1, []float64{-.01}), []Column{{Feature: 0, Kept: true}}, b)
	if err != nil || s.Effective != .5 || dropped != nil {
		t.Errorf("%+v, %v, %v: must be half a column", s, dropped, err)
	}
	columns := []Column{{Feature: 0}, {Feature: 1, Kept: true}}
	for v, want := range map[float64][]int{.05: {0}, .07: nil} { // three deviations of the noise are .06
		if _, dropped, err := Shorten(mat.NewSymDense(2, []float64{1, 1e-4, 1e-4, v}), columns, b); err != nil || !slices.Equal(dropped, want) {
			t.Errorf("an intercept of %v: dropped %v, %v: must be %v", v, dropped, err, want)
		}
	}
}

// TestLimitsOfRemainders: an interval is wider by its remainder from a quarter of its half-width on, and withheld above the
// whole half-width.
func TestLimitsOfRemainders(t *testing.T) {
	half := Quantile(.9) * .2
	for share, want := range map[float64]State{.24: Reported, .26: Reported, .99: Reported, 1.01: Withheld} {
		f := &Fit{Level: .9, Method: Wald, Columns: []Column{{Feature: 0}}, Beta: []float64{3}, Covariance: []float64{.04}, Sampling: []float64{.01},
			Metric: []float64{1}, Allowance: share * half, Records: 9, Reach: 1}
		got := f.Contrast([]float64{1}, 0)
		wide := 1.
		if share > .25 {
			wide = 1 + share
		}
		if got.State != want || (got.Remainder > 0) != (share > .25) {
			t.Errorf("%v: %+v", share, got)
		}
		if want == Reported && (!(math.Abs(got.High-3-wide*half) <= 1e-9) || !(math.Abs(got.Error-.2*wide) <= 1e-9) ||
			!(math.Abs(got.Privacy-(1-.5/wide)) <= 1e-9)) {
			t.Errorf("%v: %+v: must be %v times as wide", share, got, wide)
		}
	}
}
