package mechanism

import (
	"context"
	"fmt"
	"math"
)

// A calibration searches for a parameter of mechanisms, such as a noise multiplier. It accepts a value of the parameter
// if the upper end of the computed bracket of delta is at most the stated delta. The returned value is therefore itself
// proven private. A search assumes that the events become more private as the parameter moves in one direction. If they
// do not, the returned value is still private, but perhaps not the best.

const (
	// calibrationWidth is the relative width to which a calibration brackets delta. The relative
	// change of the noise multiplier found is at most a tenth of this width.
	calibrationWidth = 2e-3
	// multiplierLeast and multiplierMost are the ends of the interval in which calibrations search
	// for a noise multiplier.
	multiplierLeast, multiplierMost = 0.05, 1e6
)

// private reports whether the events are proven (epsilon, delta)-DP. The computation may use the work effortAnswer. If
// this work does not suffice for a proof, ok is false. If e allows no more work, private returns errEffort.
func private(e *effort, events []Composed, epsilon, delta float64) (ok bool, err error) {
	c, err := Compose(e.ctx, events, calibrationWidth)
	if err != nil {
		return false, err
	}
	if !(e.left > 0) {
		return false, errEffort
	}
	err = e.lend(effortAnswer, func(e *effort) error {
		ok, err = c.within(e, epsilon, delta)
		return err
	})
	return ok, err
}

// within returns a function of a parameter x that reports whether the mechanisms events(x) are proven
// (epsilon, delta)-DP, for searches over x.
func within[T any](e *effort, epsilon, delta float64, events func(T) ([]Composed, error)) func(T) (bool, error) {
	return func(x T) (bool, error) {
		if err := e.ctx.Err(); err != nil {
			return false, err
		}
		list, err := events(x)
		if err != nil {
			return false, err
		}
		return private(e, list, epsilon, delta)
	}
}

func checkTarget(epsilon, delta float64) error {
	if !(epsilon > 0) || math.IsInf(epsilon, 0) {
		return fmt.Errorf("account: epsilon = %v: must be finite and > 0", epsilon)
	}
	return probabilityDelta(delta)
}

// CalibrateMultiplier returns the smallest noise multiplier in [multiplierLeast, multiplierMost] for which
// events(multiplier) are (epsilon, delta)-DP. The result is never below the true minimum. It exceeds the minimum by
// about 1e-4 of itself, or by more if a search this precise would take more than the work allowed (a few seconds). It
// is an error if no multiplier up to multiplierMost is enough. events may scale any number of different mechanisms
// jointly. The events must not become less private as the multiplier grows.
func CalibrateMultiplier(ctx context.Context, epsilon, delta float64,
	events func(multiplier float64) ([]Composed, error)) (float64, error) {
	return calibrateMultiplier(newEffort(ctx, effortSearch), epsilon, delta, events)
}

func calibrateMultiplier(e *effort, epsilon, delta float64,
	events func(multiplier float64) ([]Composed, error)) (float64, error) {
	if err := checkTarget(epsilon, delta); err != nil {
		return 0, err
	}
	ok := within(e, epsilon, delta, events)
	lo, hi := 1.0, 1.0
	for {
		fine, err := ok(hi)
		if err != nil {
			return 0, err
		}
		if fine {
			break
		}
		if hi >= multiplierMost {
			return 0, fmt.Errorf("account: epsilon = %v, delta = %v: no noise multiplier up to %v is enough", epsilon, delta,
				float64(multiplierMost))
		}
		lo, hi = hi, min(multiplierMost, 2*hi)
	}
	for lo == hi {
		if lo == multiplierLeast {
			return lo, nil
		}
		lo = max(multiplierLeast, hi/1.5)
		fine, err := ok(lo)
		if err != nil {
			return 0, err
		}
		if fine {
			hi = lo
		}
	}
	return bisect(lo, hi, ok)
}

// CalibrateCount returns the largest n in [0, 2^30] for which events(n) are proven (epsilon, delta)-DP. It assumes that
// events(n) become less private as n grows. The result 0 means that events(1) are not proven (epsilon, delta)-DP. It is
// an error if the search needs more than the work allowed.
func CalibrateCount(ctx context.Context, epsilon, delta float64, events func(n int) ([]Composed, error)) (int, error) {
	if err := checkTarget(epsilon, delta); err != nil {
		return 0, err
	}
	ok := within(newEffort(ctx, effortSearch), epsilon, delta, events)
	yes, no := 0, 1
	for {
		fine, err := ok(no)
		if err != nil {
			return 0, err
		}
		if !fine {
			break
		}
		if yes = no; yes == countLimit {
			return yes, nil
		}
		no = min(countLimit, 2*no)
	}
	for no-yes > 1 {
		mid := yes + (no-yes)/2
		fine, err := ok(mid)
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

// samplingLeast is a limit on the search of CalibrateSampling. The search fails if the first
// probability tried below this limit is not private.
const samplingLeast = 1e-9

// CalibrateSampling returns the largest sampling probability in (0, 1] for which events(sampling)
// are (epsilon, delta)-DP. The result is never above the true maximum. It is below the maximum by
// about 1e-4 of itself, or by more if a search this precise would take more than the work allowed
// (a few seconds). It is an error if no probability down to 1e-9 is small enough.
func CalibrateSampling(ctx context.Context, epsilon, delta float64,
	events func(sampling float64) ([]Composed, error)) (float64, error) {
	if err := checkTarget(epsilon, delta); err != nil {
		return 0, err
	}
	ok := within(newEffort(ctx, effortSearch), epsilon, delta, events)
	no, yes := 1.0, 1.0
	for {
		fine, err := ok(yes)
		if err != nil {
			return 0, err
		}
		if fine {
			break
		}
		if yes < samplingLeast {
			return 0, fmt.Errorf("account: epsilon = %v, delta = %v: no sampling probability down to %v is small enough",
				epsilon, delta, samplingLeast)
		}
		no, yes = yes, yes/4
	}
	if yes == 1 {
		return 1, nil
	}
	return bisect(no, yes, ok)
}
