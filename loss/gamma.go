package loss

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// gamma has the two knees of the loss in the residual r: clipped below lower and above upper.
type gamma struct{ clip, least, lower, upper float64 }

// newGamma returns half of the gamma deviance of a positive number v at the mean e^z, with a capped slope. Its
// parameters are the cap and the least number (see LeastValue).
//
// Numbers and means are fractions of the largest possible number: the target y in [-1, 1] encodes v = least +
// (1-least)(1+y)/2, and least is the ratio of the bounds of the target, between 1e-12 and 1. With r = z - ln v, the
// logarithm of mean over number, the half deviance is
//
//	psi(r) = r + e^-r - 1, with the slope 1 - e^-r = 1 - v/e^z,
//
// the relative residual. The loss continues psi linearly where the slope is beyond [-clip, clip], as the loss of Huber
// does. It is a function of the logarithms alone, so bounds that are far apart make no record's gradient longer.
//
//	slope: in [-clip, min(clip, 1)]
//	curvature: e^-r = 1 - slope where the slope is not capped, which is in [0, 1 + clip], and 0 where it is capped
//	initial gap: psi is at least 0, and at z = 0 largest for v = least
//
// A cap lowers the fitted mean where numbers above (1 + clip) times the mean occur: they count as (1 + clip) times it.
func newGamma(clip, least float64) (RankOne, error) {
	if err := checkScale("gamma", "clip", clip); err != nil {
		return nil, err
	}
	if !(least >= leastRatio && least < 1) {
		return nil, fmt.Errorf("loss: gamma: least = %v: must be between %v and 1, and less than that: the lower bound of "+
			"the target over the upper, of which the lower must be above 0", least, leastRatio)
	}
	g := gamma{clip: clip, least: least, lower: -repromath.Log(1 + clip), upper: math.Inf(1)}
	if clip < 1 {
		g.upper = -repromath.Log(1 - clip)
	}
	return g, nil
}

// leastRatio is the smallest ratio of the bounds of a positive target.
const leastRatio = 1e-12

// Rate returns e^z, the mean at the margin z as a fraction of the largest number.
func (gamma) Rate(z float64) float64 { return repromath.Exp(z) }

// LeastValue returns the ratio of the bounds of a positive number.
func (g gamma) LeastValue() float64 { return g.least }

// Grain returns what numbers must be told apart by, as a fraction of the largest number, and its text.
func (g gamma) Grain() (share float64, text string) { return g.least, "the lower bound" }

// LeastMean returns the least mean that a constant may have, as a fraction of the largest number.
func (g gamma) LeastMean() float64 { return g.least }

// best returns the margin at which the loss of the target y is least.
func (g gamma) best(y float64) float64 { return -g.residual(0, y) }

func (g gamma) Name() string { return format("gamma", g.clip, g.least) }
func (gamma) Target() Target { return Real }

func (g gamma) Constants() Constants {
	return Constants{
		Lipschitz: g.clip, Curvature: CurvatureInterval{0, 1 + g.clip}, HessianLipschitz: math.Inf(1),
		InitialGap: g.value(-repromath.Log(g.least)),
	}
}

func (g gamma) Values(dst, z, y []float64)     { inBlocks(g, dst, z, y, values) }
func (g gamma) Slopes(dst, z, y []float64)     { inBlocks(g, dst, z, y, slopes) }
func (g gamma) Curvatures(dst, z, y []float64) { inBlocks(g, dst, z, y, curvatures) }

// residual returns r = z - ln v.
func (g gamma) residual(z, y float64) float64 { return z - repromath.Log(g.number(y)) }

// number returns v, or NaN if it is not above 0.
func (g gamma) number(y float64) float64 {
	v := math.FMA((1-g.least)/2, 1+y, g.least)
	if !(v > 0) {
		return math.NaN()
	}
	return v
}

func (g gamma) value(r float64) float64 {
	c := clamp(r, g.lower, g.upper)
	return g.beside(r, c, repromath.Exp(-c))
}

// beside returns the value at r, from the nearest residual c between the knees and e = e^-c.
func (gamma) beside(r, c, e float64) float64 {
	v := c + (e - 1)
	if beyond := r - c; beyond < 0 || beyond > 0 { // not if r and a knee are infinite
		v += float64(beyond * (1 - e))
	}
	return max(v, 0)
}

// block computes a derivative from the residuals r, the residuals c between the knees that are nearest to them, and e =
// e^-c.
func (g gamma) block(dst, z, y []float64, of derivative) {
	var r, c, e block
	n := len(dst)
	for i := range n {
		r[i] = g.number(y[i])
	}
	repromath.Logs(r[:n], r[:n])
	for i := range n {
		r[i] = z[i] - r[i]
		c[i] = clamp(r[i], g.lower, g.upper)
		e[i] = -c[i]
	}
	repromath.Exps(e[:n], e[:n])
	for i, r := range r[:n] {
		switch {
		case of == values:
			dst[i] = g.beside(r, c[i], e[i])
		case of == slopes:
			dst[i] = clamp(1-e[i], -g.clip, g.clip)
		case r < g.lower || r > g.upper:
			dst[i] = 0
		default:
			dst[i] = e[i]
		}
	}
}
