package loss

import "testing"

// TestSlopesAtKinks compares slopes and values at given margins with numbers computed by hand.
// At a kink the slope is the mean of the slopes on both sides.
func TestSlopesAtKinks(t *testing.T) {
	for _, c := range []struct {
		l              Kinked
		z, y, want, at float64 // margin, target, slope, value
	}{
		{Absolute(), .25, .25, 0, 0},
		{Absolute(), .5, .25, 1, .25},
		{must(Pinball(.75)), .25, .25, -.25, 0},
		{must(Pinball(.75)), 0, .5, -.75, .375},
		{must(Pinball(.75)), .5, 0, .25, .125},
		{must(EpsilonInsensitive(.25)), .5, .25, .5, 0},
		{must(EpsilonInsensitive(.25)), 0, .25, -.5, 0},
		{must(EpsilonInsensitive(.25)), .25, .25, 0, 0},
		{must(EpsilonInsensitive(.25)), 1, 0, 1, .75},
		{Hinge(), 1, 1, -.5, 0},
		{Hinge(), -1, -1, .5, 0},
		{Hinge(), 1, -1, 1, 2},
		{must(CappedAbsolute(.5)), .5, 0, .5, .5},
		{must(CappedAbsolute(.5)), -.5, 0, -.5, .5},
		{must(CappedAbsolute(.5)), 0, 0, 0, 0},
		{must(CappedAbsolute(.5)), 2, 0, 0, .5},
		{Ramp(), 1, 1, -.5, 0},
		{Ramp(), -1, 1, -.5, 2},
		{Ramp(), 0, 1, -1, 1},
		{Ramp(), -3, 1, 0, 2},
	} {
		slope, value := []float64{0}, []float64{0}
		c.l.Slopes(slope, []float64{c.z}, []float64{c.y})
		c.l.Values(value, []float64{c.z}, []float64{c.y})
		if slope[0] != c.want || value[0] != c.at {
			t.Errorf("%s at z = %v, y = %v: slope %v, value %v: want %v, %v", c.l.Name(), c.z, c.y, slope[0], value[0], c.want,
				c.at)
		}
	}
}
