package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// kinked lists families of losses whose derivative jumps. A key is the first part of a family's name. In
// the full name, the radius of Goldstein's measure follows in parentheses. A value is the name of the loss.
// The losses of the families capped and ramp saturate: far from the minimum their gradient is small
// although the loss is large.
var kinked = map[string]string{
	"capped": "capped-absolute(1.5)",
	"ramp":   "ramp",
	"median": "absolute",
	"svm":    "hinge",

	"capped-components": "capped-absolute(1.5)",
	"ramp-components":   "ramp",

	"relu-network":  "network(4,relu,logistic)",
	"hinge-network": "network(4,tanh,hinge)",
}

// goldsteinPoints is the number of points at which the search for Goldstein's measure computes gradients,
// in addition to the measured point, if the smoothed loss has no closed form. goldsteinSeed is the seed
// from which these points are drawn.
const goldsteinPoints, goldsteinSeed = 60, 1

// byComponents ends the names of families whose gradient is that of the loss smoothed by lasry-lions: the component-wise
// measure of Kornowski, Liu and Talwar (2024), Definition B.1.
const byComponents = "-components"

// newKinked returns the maker of a family with a loss whose derivative jumps, on the rows of rehearsal.GLM. The
// family's gradient norm at a point is an upper bound on Goldstein's measure with the given radius. For a
// loss with smoothing in closed form, this bound is the exact gradient norm of the loss smoothed over the
// ball. For a network, it is the smallest norm, among means of gradients in the ball, that a search finds
// (measure.Goldstein).
func newKinked(name string, radius float64) maker {
	return func(d, rows int, seed uint64) (*Family, error) {
		f, err := newFamily(rehearsal.GLM, 0x91a2, d, rows, seed, fmt.Sprintf("%s(%v)", name, radius), kinked[name], "")
		if err != nil {
			return nil, err
		}
		if _, ok := f.Loss.(loss.Kinked); !ok {
			f.radius = radius
			return f, nil
		}
		if f.smoothing, err = loss.OverBall(d, radius); strings.HasSuffix(name, byComponents) {
			f.smoothing, err = loss.LasryLions(radius)
		}
		return f, err
	}
}

// kinkedMaker reads the name of a family whose loss has jumps in its derivative, such as svm(0.5). The
// second result reports whether the name begins like the name of such a family. The error is not nil if the
// radius is missing or is not a number.
func kinkedMaker(name string) (m maker, is bool, err error) {
	base, inside, _ := strings.Cut(name, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	if _, is = kinked[base]; !is {
		return nil, false, nil
	}
	radius, err := strconv.ParseFloat(inside, 64)
	if err != nil || !closed {
		return nil, true, fmt.Errorf("experiment: family = %q: must be %s(RADIUS), the radius that gradients are measured at",
			name, base)
	}
	return newKinked(base, radius), true, nil
}

// gradient returns the vector whose norm the family measures at w on a sample. It is the gradient of the
// smoothed objective if the family has a smoothing, the mean of gradients that measure.Goldstein finds
// if the family has a radius, and otherwise the gradient of the objective.
func (f *Family) gradient(s stationarity.Sample, w []float64) ([]float64, error) {
	if k, ok := f.Loss.(loss.Kinked); ok && f.smoothing != (loss.Smoothing{}) {
		return measure.SmoothedGradient(k, f.smoothing, f.Regularizer, s, w), nil
	}
	if f.radius > 0 {
		least, err := measure.Goldstein(f.Loss, f.Regularizer, s, w, f.radius, goldsteinPoints, goldsteinSeed)
		return least.Point, err
	}
	g, err := stationarity.Gradient(f.Loss, f.Regularizer, s, w)
	if err == nil && f.Set != nil {
		p := optimize.Problem{Constants: f.Loss.Constants(), Regularizer: f.Regularizer}
		g = measure.GradientMapping(f.Set, w, g, 1/p.Smoothness())
	}
	return g, err
}
