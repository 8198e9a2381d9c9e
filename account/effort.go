package account

import (
	"context"
	"errors"
)

// effort limits the work of one computation of the accountant, and ends the computation with its
// context. The unit of work is about the time of one exponential, 5 to 15 ns. Work is counted
// rather than timed, so that every machine returns the same result.
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
	// effortSearch is the work allowed to a calibration. A single bracket in it may use
	// effortAnswer.
	effortSearch = 1 << 27
	effortAnswer = 1 << 26
	// effortSchedule is the work allowed to the proof that a schedule is within its budget.
	effortSchedule = 1 << 26
	// effortKind is the work allowed in addition for every different mechanism. The total is at
	// most effortLimit.
	effortKind  = 1 << 22
	effortLimit = 1 << 30
	// effortCurve is the work allowed to a whole trade-off curve. The search for its last epsilon
	// may use effortReach.
	effortCurve = 1 << 27
	effortReach = 1 << 25
	// effortStride is the work between two checks of the context.
	effortStride = 1 << 16
)

// errEffort is returned by a computation that would exceed the work allowed.
var errEffort = errors.New("account: no bracket within the work allowed: losses too many, too large or too far apart")

func newEffort(ctx context.Context, most float64) *effort {
	return &effort{ctx: ctx, left: most, unchecked: effortStride}
}

// among returns the work allowed to a composition of so many different mechanisms, at most
// effortLimit.
func among(base float64, kinds int) float64 {
	return min(effortLimit, base+effortKind*float64(kinds))
}

// spend charges work that is about to be done. It returns errEffort if less work is left, or the
// context's error.
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

// lend gives f at most the stated part of the work left, and takes back the work that f does not
// use.
func (e *effort) lend(most float64, f func(*effort) error) error {
	part := &effort{ctx: e.ctx, left: min(e.left, most), unchecked: e.unchecked}
	lent := part.left
	err := f(part)
	e.left -= lent - part.left
	e.unchecked = part.unchecked
	return err
}
