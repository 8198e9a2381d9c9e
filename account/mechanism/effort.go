package mechanism

import (
	"context"
	"errors"
	"math"
)

// effort limits the work of one computation of the accountant. It also ends the computation when the
// computation's context ends. Work is measured in units of about the time of one exponential, 5 to 15
// ns. Work is counted and not timed, so that every machine returns the same result.
type effort struct {
	ctx context.Context
	// left is the work still allowed.
	left float64
	// unchecked is the work done since the context was last checked.
	unchecked float64
}

const (
	// effortMost is the work allowed to one bracket.
	effortMost = 1 << 28
	// effortSearch is the work allowed to a calibration, which computes many brackets. Each of
	// these brackets may use at most effortAnswer.
	effortSearch = 1 << 27
	effortAnswer = 1 << 26
	// effortSchedule is the work allowed to the proof that a schedule is within its budget.
	effortSchedule = 1 << 26
	// effortKind is the additional work allowed for every different mechanism of a composition. The
	// total allowed is at most effortLimit.
	effortKind  = 1 << 22
	effortLimit = 1 << 30
	// effortCurve is the work allowed to a whole trade-off curve. The search for the largest
	// epsilon of the curve may use effortReach of it.
	effortCurve = 1 << 27
	effortReach = 1 << 25
	// effortStride is the amount of work between two checks of the context.
	effortStride = 1 << 16
)

// errEffort is returned by a computation that would exceed the work allowed.
var errEffort = errors.New("account: no bracket within the work allowed: losses too many, too large or too far apart")

func newEffort(ctx context.Context, most float64) *effort {
	return &effort{ctx: ctx, left: most, unchecked: effortStride}
}

// among returns the work allowed to a composition: base, increased for each of the given number of
// different mechanisms (kinds), but at most effortLimit.
func among(base float64, kinds int) float64 { return min(effortLimit, base+effortKind*float64(kinds)) }

// spend subtracts work that is about to be done from the work left. It returns errEffort if less work is left. After
// every effortStride units of work it checks the context, and returns the context's error if the context has ended.
func (e *effort) spend(units float64) error {
	if e.unchecked += units; !(e.unchecked < effortStride) {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		e.unchecked = 0
	}
	if e.left -= units; !(e.left >= 0) {
		return errEffort
	}
	return nil
}

// lend calls f with a counter of its own and returns the error of f. The counter allows f the work most, but no more
// than is left in e. After the call, lend subtracts from e only the work that f has used.
func (e *effort) lend(most float64, f func(*effort) error) error {
	part := &effort{ctx: e.ctx, left: min(e.left, most), unchecked: e.unchecked}
	lent := part.left
	err := f(part)
	e.left -= lent - part.left
	e.unchecked = part.unchecked
	return err
}

// calibrationStep is the relative width of the interval at which a search for a noise multiplier or
// a sampling probability ends.
const calibrationStep = 2e-6

// bisect narrows the interval between two positive values, no and yes, where ok is false at no and true at yes. no may
// be the smaller or the larger value. Each step calls ok at the geometric mean of the interval's ends. The search ends
// when the relative width of the interval is calibrationStep, or when ok returns errEffort because the work allowed is
// used up. bisect returns the last value at which ok was true. Any other error of ok is returned.
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
