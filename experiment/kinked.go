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
}

// newKinked is GLM rows under a loss whose slope jumps. Gradient norms are those of the loss
// smoothed over the radius, which bound Goldstein's measure there.
func newKinked(name string, radius float64) maker {
	return func(d, rows int, seed uint64) (*Family, error) {
		f, err := newFamily(glm, 0x91a2, d, rows, seed, fmt.Sprintf("%s(%v)", name, radius), kinked[name], "")
		if err != nil {
			return nil, err
		}
		by, err := loss.OverBall(d, radius)
		f.smoothing = by
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
	return stationarity.Gradient(f.Loss, f.Regularizer, s, w)
}
