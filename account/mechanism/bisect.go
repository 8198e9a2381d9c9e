package mechanism

import (
	"errors"
	"math"
)

// calibrationStep is the relative width of the interval at which a search for a noise multiplier or
// a sampling probability ends.
const calibrationStep = 2e-6

// bisect narrows the interval between two positive values, no and yes, where ok is false at no and
// true at yes. no may be the smaller or the larger value. Each step calls ok at the geometric mean
// of the interval's ends. The search ends when the relative width of the interval is
// calibrationStep, or when ok returns errEffort because the work allowed is used up. bisect returns
// the last value at which ok was true. Any other error of ok is returned.
func bisect(no, yes float64, ok func(float64) (bool, error)) (float64, error) {
	for math.Abs(yes/no-1) > calibrationStep {
		mid := math.Sqrt(no * yes)
		fine, err := ok(mid)
		if errors.Is(err, errEffort) {
			break
		}
		if err != nil {
			return 0, err
		}
		if fine {
			yes = mid
		} else {
			no = mid
		}
	}
	return yes, nil
}

// halve bisects the interval between no and yes the given number of times, at its midpoint. ok is
// assumed to be true at yes. halve returns the last value at which ok was true, or yes if ok was
// true at no midpoint.
func halve(no, yes float64, times int, ok func(float64) bool) float64 {
	for range times {
		if mid := (no + yes) / 2; ok(mid) {
			yes = mid
		} else {
			no = mid
		}
	}
	return yes
}

// Bracket encloses a number that cannot be computed exactly, such as an epsilon: Lower <= number <=
// Upper is proven. Upper is the value to report for an epsilon or a delta.
type Bracket struct{ Lower, Upper float64 }

// width returns (Upper - Lower)/Upper. It is 0 for a Bracket whose Upper is 0.
func (b Bracket) width() float64 {
	if b.Upper == 0 {
		return 0
	}
	return (b.Upper - b.Lower) / b.Upper
}
