package inference_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// fitted returns a fit whose three coefficients are correlated. Its columns are the features 1, 0 and 3 of
// four features.
func fitted() *inference.Fit {
	return &inference.Fit{
		Level: .95, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns:    []inference.Column{{Feature: 1}, {Feature: 0}, {Feature: 3, Kept: true}},
		Dropped:    []int{2},
		Beta:       []float64{1, -2, .5},
		Covariance: []float64{.04, .03, -.01, .09, .02, .05}, // on and above the diagonal
		Sampling:   []float64{.02, .01, 0, .03, .01, .04},
		Metric:     []float64{2, 0, 0, .5, 0, 1},
	}
}

// entries returns the symmetric matrix whose entries on and above the diagonal are v.
func entries(v []float64) [3][3]float64 {
	return [3][3]float64{{v[0], v[1], v[2]}, {v[1], v[3], v[4]}, {v[2], v[4], v[5]}}
}

// quadratic returns c'Mc, term by term.
func quadratic(c [3]float64, m [3][3]float64) (sum float64) {
	for i := range c {
		for j := range c {
			sum += c[i] * m[i][j] * c[j]
		}
	}
	return sum
}

// TestContrastByHand tests estimate, error, interval and privacy share of random contrasts. They must agree
// with numbers that the test adds up term by term from the fit's covariances. A weight for the feature that
// was dropped, or for a reference level that others count as, makes the same contrast Absent, however small it is and on
// whichever side it stands.
func TestContrastByHand(t *testing.T) {
	f := fitted()
	covariance, sampling := entries(f.Covariance), entries(f.Sampling)
	r := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		w := []float64{r.NormFloat64(), r.NormFloat64(), 0, r.NormFloat64()}
		constant := r.NormFloat64()
		c := [3]float64{w[1], w[0], w[3]}
		want := constant + c[0] - 2*c[1] + .5*c[2]
		sd := math.Sqrt(quadratic(c, covariance))
		half := 1.959963984540054 * sd
		share := max(0, 1-math.Sqrt(max(quadratic(c, sampling), 0))/sd)
		v := f.Contrast(w, constant)
		for what, d := range map[string]float64{"estimate": v.Estimate - want, "error": v.Error - sd,
			"low": v.Low - want + half, "high": v.High - want - half, "privacy share": v.Privacy - share} {
			if !(math.Abs(d) < 1e-9) {
				t.Errorf("%v + %v: %s is off by %v: %+v", w, constant, what, d, v)
			}
		}
		if v.State != inference.Reported || v.Remainder != 0 {
			t.Errorf("%+v", v)
		}
		for _, dropped := range []float64{1, -1, -w[0], 1e-9} {
			w[2] = dropped
			merged := *f
			merged.Dropped, merged.Merged = nil, []int{2}
			if v := merged.Contrast(w, constant); v.State != inference.Absent {
				t.Errorf("weight %v for a reference level that others count as: %+v", dropped, v)
			}
			v := f.Contrast(w, constant)
			if v.State != inference.Absent || v.Low != 0 || v.High != 0 || v.Error != 0 {
				t.Errorf("weight %v for a dropped feature: %+v", dropped, v)
			}
		}
	}
}

// TestAllowanceOnTheMarginsScale tests how an interval depends on the allowance of a contrast c, which is the
// allowance on the scale of the margin times |P c|, with P the metric, as a share of the half-width. Up to WidenedAt
// nothing changes. Up to WithheldAt the interval, its standard error and the covariance are larger by the share. Above it
// the interval is withheld and states the share.
func TestAllowanceOnTheMarginsScale(t *testing.T) {
	f := fitted()
	for _, c := range []struct {
		w      []float64
		length float64 // |P c|
	}{{[]float64{0, 1, 0, 0}, 2}, {[]float64{3, 0, 0, 0}, 1.5}, {[]float64{0, 1, 0, -1}, math.Sqrt(5)}} {
		f.Allowance = 0
		plain := f.Contrast(c.w, 0)
		half := (plain.High - plain.Low) / 2
		at := func(share float64) inference.Interval {
			f.Allowance = share * half / c.length
			return f.Contrast(c.w, 0)
		}
		if v := at(.999 * inference.WidenedAt); v != plain {
			t.Errorf("%v: %+v below the limit", c.w, v)
		}
		for _, share := range []float64{1.001 * inference.WidenedAt, .999 * inference.WithheldAt} {
			v := at(share)
			for what, d := range map[string]float64{
				"low": v.Low - (plain.Estimate - (1+share)*half), "high": v.High - (plain.Estimate + (1+share)*half),
				"error": v.Error - (1+share)*plain.Error, "share": v.Remainder - share,
				"covariance": f.Covariances([][]float64{c.w})[0][0] - v.Error*v.Error,
				"sampling":   (1-v.Privacy)*v.Error - (1-plain.Privacy)*plain.Error,
			} {
				if v.State != inference.Reported || !(math.Abs(d) < 1e-9) {
					t.Errorf("%v at %v: %s is off by %v: %+v", c.w, share, what, d, v)
				}
			}
			if joint, err := f.Joint([][]float64{c.w}, []float64{0}); err != nil || joint.State != inference.Reported {
				t.Errorf("%v at %v: %v: joint region %+v of one interval", c.w, share, err, joint)
			}
			two, err := f.Joint([][]float64{c.w, {0, 1, 0, 2}}, []float64{0, 0})
			if err != nil || two.State != inference.Withheld || two.Zero != nil {
				t.Errorf("%v at %v: %v: joint region %+v of two intervals", c.w, share, err, two)
			}
		}
		v := at(3 * inference.WithheldAt)
		if v.State != inference.Withheld || !(math.Abs(v.Remainder-3*inference.WithheldAt) <= 1e-9) || v.Low != v.High {
			t.Errorf("%v: %+v: want withheld, with a remainder of %v", c.w, v, 3*inference.WithheldAt)
		}
		if joint, err := f.Joint([][]float64{c.w}, []float64{0}); err != nil || joint.State != inference.Withheld ||
			joint.Zero != nil {
			t.Errorf("%v: %v: joint region %+v of a withheld interval", c.w, err, joint)
		}
	}
}

// TestJointCovers draws estimates of two and of three contrasts whose truth is 0, with the fit's
// covariance. Their joint region must contain 0 with the fit's level as probability. The share of 4000
// draws differs from it by more than .0172, five standard deviations of the share, with probability below
// 1e-6. A region with the limit of fewer contrasts would contain 0 in .853 or .72 of the draws, and a
// region computed as if the contrasts were independent in .93 of the draws.
func TestJointCovers(t *testing.T) {
	f := fitted()
	v := entries(f.Covariance)
	var l [3][3]float64 // Cholesky: v = l l'
	for i := range 3 {
		for j := range i + 1 {
			sum := v[i][j]
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if l[i][j] = math.Sqrt(sum); i != j {
				l[i][j] = sum / l[j][j]
			}
		}
	}
	r := rand.New(rand.NewPCG(6, 6))
	for _, contrasts := range [][][]float64{
		{{1, -1, 0, 0}, {0, 1, 0, 2}},
		{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 2, 0, 1}},
	} {
		const draws = 4000
		holds := 0.
		for range draws {
			z := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			for i := range 3 {
				f.Beta[i] = l[i][0]*z[0] + l[i][1]*z[1] + l[i][2]*z[2]
			}
			joint, err := f.Joint(contrasts, make([]float64, len(contrasts)))
			if err != nil {
				t.Fatal(err)
			}
			if *joint.Zero {
				holds++
			}
		}
		if share := holds / draws; !(math.Abs(share-.95) <= .0172) {
			t.Errorf("joint regions of %d contrasts hold the truth in %.3f of the draws", len(contrasts), share)
		}
	}
}

// TestJointByHand tests the numbers of a joint region: the estimates with their constants, the covariance
// of each pair of contrasts, and the limit, the quantile of the chi-square distribution with one degree of
// freedom for each contrast.
func TestJointByHand(t *testing.T) {
	f := fitted()
	contrasts := [][]float64{{1, -1, 0, 0}, {0, 1, 0, 2}}
	joint, err := f.Joint(contrasts, []float64{7, -1})
	if err != nil || joint.State != inference.Reported {
		t.Fatal(err, joint)
	}
	// Chi-square of 2 degrees is exponential: its .95 quantile is -2 log .05.
	if !(math.Abs(joint.Limit+2*math.Log(.05)) <= 1e-9) || !(math.Abs(2*mathext.GammaIncRegInv(1, .95)-joint.Limit) <= 1e-9) {
		t.Errorf("limit %v", joint.Limit)
	}
	if !(math.Abs(joint.Estimate[0]-(7-3)) <= 1e-12) || !(math.Abs(joint.Estimate[1]-(-1+2)) <= 1e-12) {
		t.Errorf("estimates %v: want 4 and 1", joint.Estimate)
	}
	v := entries(f.Covariance)
	c := [][3]float64{{-1, 1, 0}, {1, 0, 2}}
	for i := range c {
		for j := range c {
			both := [3]float64{c[i][0] + c[j][0], c[i][1] + c[j][1], c[i][2] + c[j][2]}
			want := (quadratic(both, v) - quadratic(c[i], v) - quadratic(c[j], v)) / 2
			if !(math.Abs(joint.Covariance[i][j]-want) <= 1e-12) {
				t.Errorf("covariance %d, %d is %v: want %v", i, j, joint.Covariance[i][j], want)
			}
		}
	}
	if *joint.Zero {
		t.Error("the region holds 0, which is 10 deviations away")
	}
	for what, given := range map[string]func() (inference.Joint, error){
		"no contrasts":      func() (inference.Joint, error) { return f.Joint(nil, nil) },
		"too few constants": func() (inference.Joint, error) { return f.Joint(contrasts, []float64{0}) },
	} {
		if _, err := given(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if twice, err := f.Joint([][]float64{{1, 0, 0, 0}, {2, 0, 0, 0}}, []float64{0, 0}); err != nil ||
		twice.State != inference.Dependent {
		t.Errorf("%v: %+v: want dependent", err, twice)
	}
	// There is no joint region if one of the contrasts is outside the formula.
	for _, outside := range [][]float64{{0, 0, 1, 0}, {0, 1, -1, 0}} {
		if joint, err := f.Joint([][]float64{{1, 0, 0, 0}, outside}, []float64{0, 0}); err != nil ||
			joint.State != inference.Absent {
			t.Errorf("%v: %+v: want not in the formula", err, joint)
		}
	}
}

// TestLeastDirection tests the field LeastDirection for a curvature that is smallest along the second axis
// in the coordinates of the metric. The direction must be the second column of the metric, scaled so that
// its second entry is 1 or -1.
func TestLeastDirection(t *testing.T) {
	s, dropped, err := inference.Shorten(momentOf([]float64{.4, .3, .3}), categoryColumns(3), usualBounds)
	if err != nil {
		t.Fatal(err)
	}
	k := len(s.Columns)
	of := inference.Released{Records: 2e4, At: make([]float64, k), Gradient: make([]float64, k), GradientSigma: .002,
		CurvatureSigma: .002, Curvature: noiseOf(rand.New(rand.NewPCG(1, 1)), k, 0), Middle: noiseOf(rand.New(rand.NewPCG(1, 1)), k, 0)}
	for j := range k {
		of.Curvature.SetSym(j, j, .2)
		of.Middle.SetSym(j, j, .15)
	}
	of.Curvature.SetSym(1, 1, .05)
	e, err := inference.Solve(of, .95)
	if err != nil {
		t.Fatal(err)
	}
	f, err := inference.NewFit(s, dropped, e, of, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(math.Abs(f.LeastDirection[1])-1) <= 1e-12) {
		t.Errorf("direction %v: want the second column", f.LeastDirection)
	}
	for i, v := range f.LeastDirection {
		if want := s.Metric.At(i, 1) / s.Metric.At(1, 1) * f.LeastDirection[1]; !(math.Abs(v-want) <= 1e-12) {
			t.Errorf("entry %d of the direction is %v: want %v", i, v, want)
		}
	}
	f.LeastDirection = f.LeastDirection[1:]
	if f.Check(6) == nil {
		t.Error("a direction of other columns is taken")
	}
}
