package report

import (
	"math"
	"testing"
)

// TestEndsOfAxes tests the ends of axes against the rules: a margin of a twentieth of the range, or of 6% of a range of
// logarithms; zero where it is nearer than three tenths of the far end; half the value, or a factor of 2, around one value.
func TestEndsOfAxes(t *testing.T) {
	for _, c := range []struct {
		axis            Axis
		lo, hi          float64
		wantLo, wantHi  float64
		inside, outside float64
	}{
		{Axis{}, 40, 100, 37, 103, 37, 36.9},
		{Axis{}, 34, 100, 30.7, 103.3, 103.3, 103.4},
		{Axis{}, 33, 100, 0, 103.35, 0, -.1}, // 29.65 is below 30
		{Axis{}, -100, -40, -103, -37, -37, -36.9},
		{Axis{}, -100, -34, -103.3, -30.7, -103.3, -103.4},
		{Axis{}, -100, -33, -103.35, 0, 0, .1},
		{Axis{}, -10, 100, -15.5, 105.5, -15.5, -15.6},
		{Axis{}, 0, 100, 0, 105, 0, -.1},
		{Axis{}, 8, 8, 4, 12, 4, 3.9},
		{Axis{}, .2, .2, 0, .7, 0, -.01}, // the margin is a half at least
		{Axis{}, 0, 0, 0, .5, .5, .51},
		{Axis{Min: 2, Max: 7}, 1, 100, 2, 7, 7, 7.1},
		{Axis{Min: 7, Max: 7}, 40, 100, 37, 103, 103, 104},
		{Axis{Log: true}, 1, 100, math.Pow(100, -.06), math.Pow(100, 1.06), 1, .7},
		{Axis{Log: true}, 5, 5, 2.5, 10, 2.5, 2.4},
		{Axis{Log: true}, 1, math.Exp(.34), math.Exp(-.0204), math.Exp(.3604), 1, .97}, // 6% of .34 is above .02
		{Axis{Log: true}, 1, math.Exp(.33), .5, 2 * math.Exp(.33), .5, .49},
	} {
		s := newScale(c.axis, c.lo, c.hi, 10, 210)
		if !(math.Abs(s.lo-c.wantLo) <= 1e-9) || !(math.Abs(s.hi-c.wantHi) <= 1e-9) || s.from != 10 || s.to != 210 || s.log != c.axis.Log {
			t.Errorf("%v to %v on %+v: the axis is %+v: must be from %v to %v", c.lo, c.hi, c.axis, s, c.wantLo, c.wantHi)
		}
		if !s.holds(c.inside) || s.holds(c.outside) {
			t.Errorf("%+v holds %v: %v, %v: %v", s, c.inside, s.holds(c.inside), c.outside, s.holds(c.outside))
		}
		if a, b := s.at(s.lo), s.at(s.hi); !(math.Abs(a-10) <= 1e-9) || !(math.Abs(b-210) <= 1e-9) {
			t.Errorf("%+v has its ends at %v and %v", s, a, b)
		}
		middle := (s.lo + s.hi) / 2
		if s.log {
			middle = math.Sqrt(s.lo * s.hi)
		}
		if got := s.at(middle); !(math.Abs(got-110) <= 1e-9) {
			t.Errorf("%+v has its middle at %v", s, got)
		}
	}
}
