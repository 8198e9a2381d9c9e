package loss

import (
	"fmt"
	"math"
)

// Kinked is a loss phi(<w,x>, y) whose slope jumps at some margins and is constant
// between them, so that its curvature has no bound. At a kink Slopes gives the mean of
// the slopes to its left and right, an element of Clarke's subdifferential and the limit
// of every smoothing below as its radius goes to zero. Curvatures gives 0 everywhere: its
// value where there is one.
//
// It can be smoothed in closed form, for each row by itself.
type Kinked interface {
	RankOne
	// SmoothedSlopes is Slopes of the smoothed loss, long[i] being the norm of the row
	// whose margin z[i] is. len(long) must be that of z, or it panics.
	SmoothedSlopes(dst, z, y, long []float64, s Smoothing)
	// SmoothedConstants are those of the smoothed loss as a function of w, for rows of
	// norm at most 1, or an error if it has no closed form.
	SmoothedConstants(s Smoothing) (Constants, error)
}

// kinked is a loss whose slope is one of a few constants: phi(z, y) = g(t), where t is
// y z for binary targets and z - y for real ones, and g is linear between its kinks.
//
// Its constants follow from the kinks: Lipschitz is the largest size of a slope, and as a
// size may only be taken at a kink in the mean of two, it is taken on an interval.
// Curvature is unbounded above, and below if the slope jumps down anywhere.
type kinked struct {
	base   string
	params [1]float64
	named  int // parameters in the name
	target Target
	kinks  int
	at     [3]float64 // kinks of g, ascending
	level  [3]float64 // g there
	slope  [4]float64 // slope[i] left of at[i], slope[kinks] right of all
	gap    float64    // InitialGap
}

// newKinked works the levels out from that at the first kink.
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

// argument is t, and turn what dt/dz is.
func (k kinked) argument(z, y float64) (t, turn float64) {
	if k.target == Real {
		return z - y, 1
	}
	return float64(y * z), y
}

// left counts the kinks below t.
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

// smoothedAt is the slope of the smoothed g at t for a row along which t moves by up
// to long when the parameters move by 1: every kink becomes a rise, or a fall, of the
// slope.
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
		// Of a row of norm 1, each kink at a becomes an interval from a + width times
		// the lesser slope to a + width times the greater; intervals must not meet.
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
	// Smoothing raises no value by more than the Lipschitz constant times the mean
	// distance it looks at, and lowers no infimum.
	c.InitialGap += float64(c.Lipschitz * s.spread())
	c.Loose = "the smoothed loss: other kinks may stand beside the steepest one"
	return c, nil
}

// bend bounds the curvature of one sign: that of the largest such kink or, where two of
// them are so near that a ball reaches both, of all of them together.
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
