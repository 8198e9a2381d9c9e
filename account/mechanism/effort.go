package mechanism

import (
	"context"
	"errors"
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
func among(base float64, kinds int) float64 {
	return min(effortLimit, base+effortKind*float64(kinds))
}

// spend subtracts work that is about to be done from the work left. It returns errEffort if less
// work is left. After every effortStride units of work it checks the context, and returns the
// context's error if the context has ended.
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

// lend calls f with a counter of its own and returns the error of f. The counter allows f the work
// most, but no more than is left in e. After the call, lend subtracts from e only the work that f
// has used.
func (e *effort) lend(most float64, f func(*effort) error) error {
	part := &effort{ctx: e.ctx, left: min(e.left, most), unchecked: e.unchecked}
	lent := part.left
	err := f(part)
	e.left -= lent - part.left
	e.unchecked = part.unchecked
	return err
}
