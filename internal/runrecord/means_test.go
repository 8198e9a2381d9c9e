package runrecord

import (
	"math"
	"slices"
	"testing"
)

// TestMeansOfFeatures tests the means that a run released: the mean row if there is one, otherwise the last column of the
// second moment, and none for another number of features or a text that is no matrix.
func TestMeansOfFeatures(t *testing.T) {
	matrix := []float64{.5, .25, .125, .25, .75, .375, .125, .375, 1}
	about0 := func() *Moment { return NewMoment(slices.Clone(matrix), 3, 1e-6, .01) }
	centred, spoilt, none := about0(), about0(), (*Moment)(nil)
	centred.Mean = []float64{.1, .2, .3}
	spoilt.Rows[1] = "x"
	for name, c := range map[string]struct {
		m        *Moment
		features int
		want     []float64
	}{
		"about 0": {about0(), 3, []float64{.125, .375, 1}}, "about a mean": {centred, 3, []float64{.1, .2, .3}},
		"two features": {about0(), 2, nil}, "four features": {about0(), 4, nil}, "no matrix": {spoilt, 3, nil}, "none": {none, 3, nil},
	} {
		got := c.m.Means(c.features)
		if (got == nil) != (c.want == nil) || !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
			t.Errorf("%s: %v: must be %v", name, got, c.want)
		}
	}
}

// TestLevelHasFiveDigits tests the released mean curvature that a record keeps, and its noise.
func TestLevelHasFiveDigits(t *testing.T) {
	if l := (Trace{}).WithLevel(.123456789, .00987654321); l.Level != .12346 || l.LevelSigma != .0098765 {
		t.Errorf("%v, %v", l.Level, l.LevelSigma)
	}
}
