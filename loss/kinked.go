package loss

import (
	"fmt"
	"math"
)

// Kinked is a loss phi(<w,x>, y) that is piecewise linear in the margin: its slope is constant
// except at some margins, the kinks, where the slope jumps. The curvature therefore has no bound. At a
// kink, Slopes returns the mean of the slopes to the left and right. This mean is an element of Clarke's
// subdifferential, and the limit of the slope under [OverBall] as the radius goes to zero. Curvatures
// returns 0 everywhere, which is the curvature at every margin that is not a kink.
//
// A Kinked loss can be smoothed in closed form, for each row by itself.
type Kinked interface {
	RankOne
	// SmoothedSlopes writes the slopes of the smoothed loss to dst: dst[i] is the slope for the margin
	// z[i], the target y[i] and a row of norm long[i]. It panics unless the four lengths are equal.
	SmoothedSlopes(dst, z, y, long []float64, s Smoothing)
	// SmoothedConstants returns the constants of the smoothed loss as a function of w, for rows of
	// norm at most 1, or an error if the smoothed loss has no closed form.
	SmoothedConstants(s Smoothing) (Constants, error)
}

// kinked is a loss phi(z, y) = g(t) with a piecewise linear g. t is y z for binary targets and z -
// y for real targets.
//
// Its constants follow from the kinks. Lipschitz is the largest absolute slope on the intervals between kinks. The
// slope at a kink is the mean of two of these slopes, and is not larger. Curvature is unbounded above if the slope
// increases at some kink, and unbounded below if the slope decreases at some kink.
type kinked struct {
	base   string
	params [1]float64
	named  int // number of params that the name contains
	target Target
	kinks  int
	at     [3]float64 // values of t at the kinks of g, ascending
	level  [3]float64 // level[i] is g(at[i])
	slope  [4]float64 // slope[i] is g's slope left of at[i]; slope[kinks] is the slope right of all kinks
	gap    float64    // the constant InitialGap
}

// newKinked computes the value of g at every kink (k.level) from its value at the first kink and the
// slopes between kinks.
func newKinked(k kinked) Kinked {
	for i := 1; i < k.kinks; i++ {
		k.level[i] = k.level[i-1] + float64(k.slope[i]*(k.at[i]-k.at[i-1]))
	}
	return k
}

func (k kinked) Name() string { return format(k.base, k.params[:k.named]...) }

func (k kinked) Target() Target { return k.target }

func (k kinked) Constants() Constants {
	c := Constants{HessianLipschitz: math.Inf(1), InitialGap: k.gap}
	for i, s := range k.slope[:k.kinks+1] {
		c.Lipschitz = max(c.Lipschitz, math.Abs(s))
		switch {
		case i > 0 && s > k.slope[i-1]:
			c.Curvature.Hi = math.Inf(1)
		case i > 0 && s < k.slope[i-1]:
			c.Curvature.Lo = math.Inf(-1)
		}
	}
	return c
}

// argument returns the argument t of the piecewise linear function g (y z for binary targets, z - y for real
// targets) and the derivative dt/dz in the margin z.
func (k kinked) argument(z, y float64) (t, turn float64) {
	if k.target == Real {
		return z - y, 1
	}
	return float64(y * z), y
}

// left returns the number of kinks below t.
func (k *kinked) left(t float64) int {
	i := 0
	for i < k.kinks && k.at[i] < t {
		i++
	}
	return i
}

func (k kinked) Values(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		t, _ := k.argument(z[i], y[i])
		dst[i] = k.valueAt(t)
	}
}

func (k *kinked) valueAt(t float64) float64 {
	i := k.left(t)
	from := max(i-1, 0)
	switch {
	case t != t:
		return t
	case k.slope[i] == 0: // a slope of 0 times an infinite t would be NaN
		return k.level[from]
	}
	return k.level[from] + float64(k.slope[i]*(t-k.at[from]))
}

func (k kinked) Slopes(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		t, turn := k.argument(z[i], y[i])
		dst[i] = float64(turn * k.slopeAt(t))
	}
}

func (k *kinked) slopeAt(t float64) float64 {
	i := k.left(t)
	switch {
	case t != t:
		return t
	case i < k.kinks && k.at[i] == t:
		return (k.slope[i] + k.slope[i+1]) / 2
	}
	return k.slope[i]
}

func (k kinked) Curvatures(dst, z, y []float64) {
	z, y = sameLength(dst, z, y)
	for i := range dst {
		t, _ := k.argument(z[i], y[i])
		dst[i] = 0
		if t != t {
			dst[i] = t
		}
	}
}

func (k kinked) SmoothedSlopes(dst, z, y, long []float64, s Smoothing) {
	z, y = sameLength(dst, z, y)
	if len(long) != len(dst) {
		panicLength(len(dst), len(long), len(y))
	}
	for i := range dst {
		t, turn := k.argument(z[i], y[i])
		dst[i] = float64(turn * k.smoothedAt(t, math.Abs(float64(turn*long[i])), s))
	}
}

// smoothedAt returns the slope at t of g, the loss as a function of t, after smoothing. long is the
// norm of the row: when the parameters move by 1, t changes by at most long. Smoothing turns the jump
// of the slope at each kink into a gradual change.
func (k *kinked) smoothedAt(t, long float64, s Smoothing) float64 {
	width := s.width(long)
	switch {
	case t != t:
		return t
	case !(width > 0):
		return k.slopeAt(t)
	}
	slope := k.slope[0]
	for i, at := range k.at[:k.kinks] {
		slope += float64((k.slope[i+1] - k.slope[i]) * s.rise((t-at)/width, k.slope[i], k.slope[i+1]))
	}
	return slope
}

func (k kinked) SmoothedConstants(s Smoothing) (Constants, error) {
	if s.ball == nil && k.kinks > 1 {
		// For a row of norm 1, LasryLions turns each kink at a into an interval on which the slope changes
		// linearly. The interval extends from a + radius times the lesser slope to a + radius times the
		// greater slope. These intervals must not overlap.
		for i := 1; i < k.kinks; i++ {
			end := k.at[i-1] + s.radius*max(k.slope[i-1], k.slope[i])
			start := k.at[i] + s.radius*min(k.slope[i], k.slope[i+1])
			if !(end <= start) {
				return Constants{}, fmt.Errorf("loss: %s: smoothing radius = %v: must be smaller: of its kinks at %v "+
					"and %v, the intervals they are spread over meet", k.Name(), s.radius, k.at[i-1], k.at[i])
			}
		}
	}
	c := k.Constants()
	c.Curvature = CurvatureInterval{-k.curvature(s, -1), k.curvature(s, 1)}
	// Smoothing increases no value of the loss by more than the Lipschitz constant times s.spread(), and
	// does not lower the infimum.
	c.InitialGap += float64(c.Lipschitz * s.spread())
	c.Loose = "the smoothed loss: other kinks may stand beside the steepest one"
	return c, nil
}

// curvature returns a bound on the part of the smoothed loss's curvature that comes from the kinks at
// which the slope jumps in the direction of sign (1 upward, -1 downward). If two neighbours among these
// kinks are less than 2 radii apart, smoothing over a ball can add their curvatures, and the bound is the
// sum of the curvatures of all these kinks. Otherwise the bound is the largest of the curvatures.
func (k *kinked) curvature(s Smoothing, sign float64) float64 {
	var largest, sum float64
	last, near := math.Inf(-1), false
	for i, at := range k.at[:k.kinks] {
		if jump := sign * (k.slope[i+1] - k.slope[i]); jump > 0 {
			largest, sum = max(largest, s.steepness(jump)), sum+s.steepness(jump)
			near = near || s.ball != nil && at-last < 2*s.radius
			last = at
		}
	}
	if near {
		return sum
	}
	return largest
}
