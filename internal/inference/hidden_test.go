package inference

import (
	"math"
	"testing"
)

// TestHiddenByHand tests when a column is dropped: at an eigenvalue of 3 standard deviations, or 4 of a level; or where a
// curvature of .4 * 3/(3+1) = .3 is below half of the largest eigenvalue of its noise. With 8 columns and a reach of
// sqrt 5 the latter is sqrt(2*8) * 5 = 20 units.
func TestHiddenByHand(t *testing.T) {
	s := &Shape{Columns: make([]Column, 8), Ridge: 1, Last: math.Sqrt(5)}
	for _, c := range []struct {
		level       bool
		sigma, unit float64
		want        bool
	}{
		{false, .99, .001, false}, {false, 1, .001, true}, {true, .74, .001, false}, {true, .75, .001, true},
		{false, .5, .0299, false}, {false, .5, .0301, true}, {true, .5, .0299, false}, {true, .5, .0301, true},
	} {
		if got := hidden(3, s, Column{Level: c.level}, Bounds{MomentSigma: c.sigma, Unit: c.unit, Usual: .4}); got != c.want {
			t.Errorf("%+v: hidden %v", c, got)
		}
	}
}
