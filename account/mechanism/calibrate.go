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
	lo, hi, found, err := approach(1, 1, func(x float64) float64 { return min(multiplierMost, 2*x) }, true, ok)
	if err == nil && !found {
		err = fmt.Errorf("account: epsilon = %v, delta = %v: no noise multiplier up to %v is enough", epsilon, delta,
			float64(multiplierMost))
	}
	if err != nil {
		return 0, err
	}
	if lo == hi {
		hi, lo, found, err = approach(hi, hi/1.5, func(x float64) float64 { return max(multiplierLeast, x/1.5) }, false, ok)
		if err != nil || !found {
			return lo, err
		}
	}
	return bisect(lo, hi, ok)
}

// approach calls ok for x and then for what step makes of it, until ok returns want or step changes the number no more. It
// returns the last number, the one before it (last, before x), and whether ok returned want.
func approach[T int | float64](last, x T, step func(T) T, want bool, ok func(T) (bool, error)) (before, at T, found bool,
	err error) {
	for {
		fine, err := ok(x)
		next := step(x)
		if err != nil || fine == want || next == x {
			return last, x, fine == want, err
		}
		last, x = x, next
	}
}

// CalibrateCount returns the largest n in [0, 2^30] for which events(n) are proven (epsilon, delta)-DP. It assumes that
// events(n) become less private as n grows. The result 0 means that events(1) are not proven (epsilon, delta)-DP. It is
// an error if the search needs more than the work allowed.
func CalibrateCount(ctx context.Context, epsilon, delta float64, events func(n int) ([]Composed, error)) (int, error) {
	if err := checkTarget(epsilon, delta); err != nil {
		return 0, err
	}
	ok := within(newEffort(ctx, effortSearch), epsilon, delta, events)
	yes, no, found, err := approach(0, 1, func(n int) int { return min(countLimit, 2*n) }, false, ok)
	if err != nil || !found {
		return no, err
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
	no, yes, found, err := approach(1, 1, func(x float64) float64 {
		if x < samplingLeast {
			return x
		}
		return x / 4
	}, true, ok)
	if err == nil && !found {
		err = fmt.Errorf("account: epsilon = %v, delta = %v: no sampling probability down to %v is small enough",
			epsilon, delta, samplingLeast)
	}
	if err != nil || yes == 1 {
		return yes, err
	}
	return bisect(no, yes, ok)
}
