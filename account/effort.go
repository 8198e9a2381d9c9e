package account

import (
	"context"
	"errors"
)

// effort bounds the work of one question to the accountant and ends it with a
// context. Its unit is about the time of one exponential, 5 to 15 ns: work is
// counted, not timed, so that every machine gives the same answer.
type effort struct {
	ctx context.Context
	// left is the work still allowed.
	left float64
	// unchecked is the work done since the context was last asked.
	unchecked float64
}

const (
	// effortMost is the work allowed to one bracket.
	effortMost = 1 << 28
	// effortSearch is the work allowed to a calibration, of which a single
	// answer may take effortAnswer.
	effortSearch = 1 << 27
	effortAnswer = 1 << 26
	// effortSchedule is the work allowed to the check of a schedule.
	effortSchedule = 1 << 26
	// effortKind is allowed in addition for every unlike mechanism, up to
	// effortLimit in all.
	effortKind  = 1 << 22
	effortLimit = 1 << 30
	// effortCurve is the work allowed to a whole trade-off curve, of which its
	// end may take effortReach.
	effortCurve = 1 << 27
	effortReach = 1 << 25
	// effortStride is the work between two looks at the context.
	effortStride = 1 << 16
)

// errEffort ends a question whose answer would take too long.
var errEffort = errors.New("account: no bracket within the work allowed: losses too many, too large or too far apart")

func newEffort(ctx context.Context, most float64) *effort {
	return &effort{ctx: ctx, left: most, unchecked: effortStride}
}

// among is the work allowed where so many unlike mechanisms are composed.
func among(base float64, kinds int) float64 {
	return min(effortLimit, base+effortKind*float64(kinds))
}

// spend counts work that is about to be done.
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

// lend gives at most that much of what is left to f, and takes back what f does
// not use.
func (e *effort) lend(most float64, f func(*effort) error) error {
	part := &effort{ctx: e.ctx, left: min(e.left, most), unchecked: e.unchecked}
	lent := part.left
	err := f(part)
	e.left -= lent - part.left
	e.unchecked = part.unchecked
	return err
}
