package mechanism

import (
	"math"
	"sort"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// curve is a bracket of delta(epsilon) for one direction of a composition, on a range of epsilon.
// Both ends of the bracket are interpolated between grid points, linearly in e^epsilon.
type curve struct {
	lattice
	// upper[j] and lower[j] are the ends of the bracket at epsilon = on(j), divided by e^logScale.
	upper, lower []float64
	// from is the index of the first known entry of upper and lower.
	from     int
	logScale float64
	// constant is added to the upper end at every epsilon. Unlike upper, it is not divided by
	// e^logScale.
	constant float64
	// shift is an upper bound on the distance between a loss of the composition and the grid point
	// to which its mass was moved.
	shift float64
	// known is true if the upper end is finite, and knownBelow is true if the lower end is finite.
	// An end that is not finite is not used.
	known, knownBelow bool
}

// lowerLeast is the least positive delta that the bracket's lower end states. A smaller lower end
// is replaced by 0, because masses too small for float64 could change it.
const lowerLeast = 1e-284

func newCurve(upper, lower convolution, at, infinite, shift float64) curve {
	c := curve{lattice: upper.lattice, shift: shift + 0x1p-48*math.Abs(upper.offset)}
	c.logScale = upper.logScale - upper.theta*at
	n := len(upper.mass)
	end := upper.on(n)
	c.constant = infinite + math.Exp(upper.logScale-upper.theta*end+upper.spread)*upper.beyond*1.0001
	rounding := float64(n) * 0x1p-50
	for j, m := range upper.mass {
		upper.mass[j] = max(m, 0) + upper.slack
	}
	for j, m := range lower.mass {
		lower.mass[j] = max(0, m-lower.slack-lower.outside)
	}
	scaling := 0x1p-49 * (4 + math.Abs(upper.logScale) + math.Abs(c.logScale))
	c.upper, c.from = hockey(upper, at, math.Exp(upper.spread+rounding+scaling))
	from := 0
	tilt := lower.logScale - upper.logScale
	scaling += 0x1p-49 * math.Abs(lower.logScale)
	c.lower, from = hockey(lower, at, math.Exp(tilt-lower.spread-rounding-scaling))
	c.from = max(c.from, from)
	c.known = vector.Finite(c.upper[c.from]) && vector.Finite(c.constant) && vector.Finite(c.shift) &&
		vector.Finite(c.logScale)
	c.knownBelow = vector.Finite(c.lower[c.from]) && vector.Finite(c.shift) && vector.Finite(c.logScale)
	return c
}

// hockeyRange is a limit on exponents in the function hockey. Before the Fourier transform the
// masses were multiplied by the tilt e^(theta loss). The function hockey multiplies them by
// e^(-theta loss) again, and stops at the loss where this exponent exceeds hockeyRange.
const hockeyRange = 600

// hockey returns d, the hockey-stick curve H of the composed loss at the grid points, multiplied by
// factor e^(theta at - logScale). Here e^(theta loss - logScale) is the tilt by which the masses of
// c were multiplied. The entries of d before the index from are not computed. Let w_i be the masses
// without tilt, s_i the losses and h the grid's width. Let C_j be the sum over i > j of w_i e^(s_j
// - s_i), and D_j = H(e^s_j). Then
//
//	C_j = e^-h (w_(j+1) + C_(j+1)),   D_j = D_(j+1) + (1 - e^-h) (w_(j+1) + C_(j+1)),
//
// which are sums of positive terms only.
func hockey(c convolution, at, factor float64) (d []float64, from int) {
	n := len(c.mass)
	d = make([]float64, n)
	shrink, gain := math.Exp(-c.width), -math.Expm1(-c.width)
	var sum float64
	for j := n - 2; j >= 0; j-- {
		y := c.theta * (c.on(j+1) - at)
		if y < -hockeyRange {
			return d, j + 1
		}
		sum += c.mass[j+1] * math.Exp(-y) * factor
		d[j] = d[j+1] + gain*sum
		sum *= shrink
	}
	return d, 0
}

// locate returns the index j of the grid cell that contains epsilon, and the weight of the cell's upper end in the
// interpolation, which is linear in e^epsilon. j is -1 for an epsilon below the range in which the curve is known. For
// an epsilon beyond the last grid point, j is the last grid point and weight is 0.
func (c *curve) locate(epsilon float64) (j int, weight float64) {
	x := math.Floor((epsilon-c.offset)/c.width) - float64(c.first)
	if !(x >= float64(c.from)) {
		return -1, 0
	}
	if x >= float64(len(c.upper)-1) {
		return len(c.upper) - 1, 0
	}
	j = int(x)
	rest := min(max(0, epsilon-c.on(j)), c.width)
	return j, math.Expm1(rest) / math.Expm1(c.width)
}

func value(d []float64, j int, weight float64) float64 {
	if j == len(d)-1 {
		return d[j]
	}
	return d[j] + weight*(d[j+1]-d[j])
}

const curveRounding = 0x1p-44

func (c *curve) upperDelta(epsilon float64) float64 {
	j, weight := c.locate(epsilon - c.shift - 0x1p-50*math.Abs(epsilon))
	if j < 0 || !c.known {
		return 1
	}
	v := value(c.upper, j, weight)*math.Exp(c.logScale) + c.constant
	if math.IsNaN(v) { // 0 times +Inf is NaN, which is not a bound
		return 1
	}
	return min(1, max(v*(1+curveRounding), math.SmallestNonzeroFloat64))
}

func (c *curve) lowerDelta(epsilon float64) float64 {
	j, weight := c.locate(epsilon + c.shift + 0x1p-50*math.Abs(epsilon))
	if j < 0 {
		// The hockey-stick curve decreases, so its value at a larger epsilon is a lower bound.
		j, weight = c.from, 0
	}
	v := value(c.lower, j, weight) * math.Exp(c.logScale) * (1 - curveRounding)
	if !c.knownBelow || !(v >= lowerLeast && v <= 2) {
		return 0
	}
	return min(1, v)
}

// cross returns the epsilon at which d, a decreasing curve of delta over epsilon, falls to the delta level,
// interpolated in e^epsilon. side is -1 if d is at most level at the first known grid point, and 1 if d is at least
// level at the last grid point. epsilon is then this grid point's. Otherwise side is 0.
func (c *curve) cross(d []float64, level float64) (epsilon float64, side int) {
	n := len(d)
	if !(d[n-1] < level) {
		return c.on(n - 1), 1
	}
	if d[c.from] <= level {
		return c.on(c.from), -1
	}
	hi := c.from + sort.Search(n-1-c.from, func(i int) bool { return d[c.from+i] <= level })
	lo := hi - 1 // d[lo] > level >= d[hi]
	fraction := (d[lo] - level) / (d[lo] - d[hi])
	return c.on(lo) + math.Log1p(fraction*math.Expm1(c.width)), 0
}

// upperEpsilon returns an epsilon at which the curve's upper bound (upperDelta) is at most delta, or
// +Inf if the curve has no such epsilon.
func (c *curve) upperEpsilon(delta float64) float64 {
	level := (delta*(1-curveRounding) - c.constant) * math.Exp(-c.logScale)
	if !c.known || !(level > 0) {
		return math.Inf(1)
	}
	epsilon, side := c.cross(c.upper, level)
	if side > 0 || math.IsNaN(epsilon) {
		return math.Inf(1)
	}
	return max(0, epsilon+c.shift+0x1p-44*math.Abs(epsilon)+0x1p-44*c.width)
}

// lowerEpsilon returns an epsilon below which the curve's lower bound (lowerDelta) exceeds delta, or
// 0 if the curve has no such epsilon.
func (c *curve) lowerEpsilon(delta float64) float64 {
	level := delta * (1 + curveRounding) * math.Exp(-c.logScale)
	epsilon, side := c.cross(c.lower, level)
	if side < 0 || math.IsNaN(epsilon) || !c.knownBelow || delta < lowerLeast {
		return 0
	}
	return max(0, epsilon-c.shift-0x1p-44*math.Abs(epsilon)-0x1p-44*c.width)
}
