package query

import (
	"math"
	"strings"
	"testing"
)

// TestSmoothingRules: terms that are computed from slopes of the loss accept a smoothing. Other terms
// refuse it with an error that names the kind, and radii out of range are refused.
func TestSmoothingRules(t *testing.T) {
	c := NewCohort(0, 10)
	w := []float64{1, 2}
	for _, k := range Kinds() {
		term := FormsOf(k, c, w, []float64{.5, -1}, -.5, 1, 2)[0].Terms[0]
		_, err := New(1, term.Smoothed(Smoothing{Radius: .1}))
		if k.Facts().Smooths != (err == nil) || err != nil && !strings.Contains(err.Error(), "not asked of smoothed losses") {
			t.Errorf("%v: %v", k, err)
		}
	}
	for _, s := range []Smoothing{{Radius: -1}, {Radius: math.NaN()}, {Radius: 1e-12}, {Radius: math.Inf(1)},
		{Radius: .1, By: 4}} {
		if _, err := New(1, GradientAt(c, w, 1).Smoothed(s)); err == nil || !strings.Contains(err.Error(), "smoothing") {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if got := GradientAt(c, w, 1).Smoothed(Smoothing{Radius: .1}).Smoothing(); got.Radius != .1 || !got.On() {
		t.Errorf("smoothing %+v", got)
	}
}
