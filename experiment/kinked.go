package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// kinked are families of losses whose slope jumps, by what names them before the radius
// that they are measured at. Both saturate: the loss tells what the gradient does not.
var kinked = map[string]string{
	"capped": "capped-absolute(1.5)",
	"ramp":   "ramp",
	"median": "absolute",
	"svm":    "hinge",

	"relu-network":  "network(4,relu,logistic)",
	"hinge-network": "network(4,tanh,hinge)",
}

// goldsteinPoints is how many points of the ball are tried where the measure has no
// closed form, beside the one judged, and goldsteinSeed what they are drawn by.
const goldsteinPoints, goldsteinSeed = 60, 1

// newKinked is GLM rows under a loss whose slope jumps. Gradient norms are bounds of
// Goldstein's measure for the radius: the exact one of the loss smoothed over the ball or,
// of networks, the least norm of a mean of gradients at points that are chosen on the way
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

// kinkedMaker reads the name of such a family; is says whether it is one.
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

// gradient is that of the family's objective on a sample, smoothed if it is measured so.
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
