package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// kinked lists families of losses whose slope jumps. A key is the family's name before the radius
// of Goldstein's measure, a value the name of the loss. capped and ramp saturate: far from the
// minimum their gradient is small although the loss is large.
var kinked = map[string]string{
	"capped": "capped-absolute(1.5)",
	"ramp":   "ramp",
	"median": "absolute",
	"svm":    "hinge",

	"relu-network":  "network(4,relu,logistic)",
	"hinge-network": "network(4,tanh,hinge)",
}

// goldsteinPoints is the number of points of the ball that are tried, besides the point itself, if
// Goldstein's measure has no closed form. goldsteinSeed seeds the choice of these points.
const goldsteinPoints, goldsteinSeed = 60, 1

// newKinked returns a family of GLM rows under a loss whose slope jumps. Its gradient norms are
// upper bounds of Goldstein's measure for the radius: the exact norm for the loss smoothed over the
// ball, or for networks the smallest norm of a mean of gradients at points that the search chooses
// (stationarity.Goldstein).
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

// kinkedMaker reads the name of a family with jumps. is reports whether the name is one, and err a
// radius that is not valid.
func kinkedMaker(name string) (m maker, is bool, err error) {
	base, inside, _ := strings.Cut(name, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	if _, is = kinked[base]; !is {
		return nil, false, nil
	}
	radius, err := strconv.ParseFloat(inside, 64)
	if err != nil || !closed {
		return nil, true, fmt.Errorf("experiment: family = %q: must be %s(RADIUS), the radius that gradients are measured at", name, base)
	}
	return newKinked(base, radius), true, nil
}

// gradient returns the gradient of the family's objective on a sample, smoothed or by Goldstein's
// measure if the family is measured so.
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
