package loss

import (
	"fmt"
	"math"
)

// Kinked is a loss phi(<w,x>, y) whose slope jumps at some margins and is constant between them, so
// its curvature has no bound. At a kink, Slopes gives the mean of the slopes to the left and right:
// an element of Clarke's subdifferential, and the limit of every [Smoothing] as its radius goes to
// zero. Curvatures gives 0 everywhere, the curvature at every margin that is not a kink.
//
// A Kinked loss can be smoothed in closed form, for each row by itself.
type Kinked interface {
	RankOne
	// SmoothedSlopes is Slopes of the smoothed loss. long[i] is the norm of the row with margin
	// z[i]. It panics unless len(long) = len(z).
	SmoothedSlopes(dst, z, y, long []float64, s Smoothing)
	// SmoothedConstants returns the constants of the smoothed loss as a function of w, for rows of
	// norm at most 1, or an error if the smoothed loss has no closed form.
	SmoothedConstants(s Smoothing) (Constants, error)
}

// kinked is a loss phi(z, y) = g(t) with a piecewise linear g; t is y z for binary targets and
// z - y for real targets.
//
// Its constants follow from the kinks. Lipschitz is the largest absolute slope on the intervals
// between kinks; the slope at a kink is the mean of two of these, and is no larger. Curvature is
// unbounded above, and is unbounded below if the slope decreases at any kink.
type kinked struct {
	base   string
	params [1]float64
	named  int // number of params in the name
	target Target
	kinks  int
	at     [3]float64 // kinks of g, ascending
	level  [3]float64 // level[i] is g(at[i])
	slope  [4]float64 // slope[i] holds left of at[i], slope[kinks] right of all kinks
	gap    float64    // InitialGap
}

// newKinked computes the levels of all kinks from the level of the first kink.
func newKinked(k kinked) Kinked {
	for i := 1; i < k.kinks; i++ {
		k.level[i] = k.level[i-1] + float64(k.slope[i]*(k.at[i]-k.at[i-1]))
	}
	return k
}

func (k kinked) Name() string {
	if k.named == 0 {
		return k.base
	}
	return format(k.base, k.params[:k.named]...)
}

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

// argument returns t and its derivative dt/dz.
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
	case k.slope[i] == 0: // not 0 times an infinity
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

// smoothedAt returns the slope of the smoothed g at t. long is the norm of the row, which bounds
// the change of t when the parameters move by 1. Smoothing turns the jump of the slope at each kink
// into a gradual change.
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
		// For a row of norm 1, each kink at a becomes the interval from a + radius times the lesser
		// slope to a + radius times the greater slope. Intervals must not overlap.
		for i := 1; i < k.kinks; i++ {
			end := k.at[i-1] + s.radius*max(k.slope[i-1], k.slope[i])
			start := k.at[i] + s.radius*min(k.slope[i], k.slope[i+1])
			if !(end <= start) {
				return Constants{}, fmt.Errorf("loss: %s: smoothing radius = %v: must be smaller: of its kinks at %v and %v, the intervals they are spread over meet",
					k.Name(), s.radius, k.at[i-1], k.at[i])
			}
		}
	}
	c := k.Constants()
	c.Curvature = CurvatureInterval{-k.bend(s, -1), k.bend(s, 1)}
	// Smoothing raises no value by more than the Lipschitz constant times spread, and lowers no
	// infimum.
	c.InitialGap += float64(c.Lipschitz * s.spread())
	c.Loose = "the smoothed loss: other kinks may stand beside the steepest one"
	return c, nil
}

// bend bounds the curvature from the kinks whose jump has the given sign. The bound is the
// curvature of the largest such kink or, if a ball of the radius reaches two of them, the sum over
// all of them.
func (k *kinked) bend(s Smoothing, sign float64) float64 {
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
