package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// kinked lists families of losses whose derivative jumps. A key is the first part of a family's name;
// the radius of Goldstein's measure follows it in parentheses. A value is the name of the loss. The
// losses of the families capped and ramp saturate: far from the minimum their gradient is small
// although the loss is large.
var kinked = map[string]string{
	"capped": "capped-absolute(1.5)",
	"ramp":   "ramp",
	"median": "absolute",
	"svm":    "hinge",

	"relu-network":  "network(4,relu,logistic)",
	"hinge-network": "network(4,tanh,hinge)",
}

// goldsteinPoints is the number of points, besides the point itself, at which a search computes
// gradients if Goldstein's measure of stationarity has no closed form. goldsteinSeed is the seed from
// which these points are drawn.
const goldsteinPoints, goldsteinSeed = 60, 1

// newKinked returns a family of the rows of glm with a loss whose derivative jumps. Its gradient
// norms are upper bounds of Goldstein's measure for the radius. For a loss with closed-form smoothing
// it is the exact gradient norm of the loss smoothed over the ball. For a network it is the smallest
// norm, among means of gradients in the ball, that a search finds (stationarity.Goldstein).
func newKinked(name string, radius float64) maker {
	return func(d, rows int, seed uint64) (*Family, error) {
		f, err := newFamily(glm, 0x91a2, d, rows, seed, fmt.Sprintf("%s(%v)", name, radius), kinked[name], "")
		if err != nil {
			return nil, err
		}
		if _, ok := f.Loss.(loss.Kinked); !ok {
			f.radius = radius
			return f, nil
		}
		f.smoothing, err = loss.OverBall(d, radius)
		return f, err
	}
}

// kinkedMaker reads the name of a family whose loss has jumps in its derivative, such as svm(0.5). is
// reports whether the name has this form; err reports an invalid radius.
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

// gradient returns the gradient of the family's objective on a sample: of the smoothed loss, by
// Goldstein's measure, or the gradient itself, as the family requires.
func (f *Family) gradient(s stationarity.Sample, w []float64) ([]float64, error) {
	if k, ok := f.Loss.(loss.Kinked); ok && f.smoothing != (loss.Smoothing{}) {
		return stationarity.SmoothedGradient(k, f.smoothing, f.Regularizer, s, w), nil
	}
	if f.radius > 0 {
		least, err := stationarity.Goldstein(f.Loss, f.Regularizer, s, w, f.radius, goldsteinPoints, goldsteinSeed)
		return least.Point, err
	}
	return stationarity.Gradient(f.Loss, f.Regularizer, s, w)
}
