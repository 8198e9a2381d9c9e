package mechanism

import (
	"errors"
	"fmt"
	"math"
)

// direction is the composition of dominating pairs of distributions (see [Mechanism]) in one of the two orders of
// neighbouring tables. laws[i] is the law of a pair's privacy loss in this order, and counts[i] is the number of uses
// of the pair. profile holds the sketches that the method draw makes.
type direction struct {
	laws    []lossLaw
	counts  []float64
	profile profile
}

// sketchTail is the probability mass that the first sketch of a law (a rough copy for planning)
// leaves out at either end.
const sketchTail = 1e-290

// draw makes a sketch, a rough copy for planning, of each law of the direction's privacy losses. A
// sketch leaves out the probability mass tail at either end.
func (d *direction) draw(e *effort, tail float64) error {
	d.profile = make(profile, len(d.laws))
	for i, l := range d.laws {
		atoms, err := l.sketch(e, tail)
		if err != nil {
			return err
		}
		d.profile[i] = sketched{atoms, d.counts[i]}
	}
	return nil
}

// apart returns an upper bound on the total variation distance between the two composed distributions P and Q. The
// bound is the sum of the distances of the single pairs, or 1 if the distance of a pair is not known. It is useful for
// small sampling probabilities, and holds even if losses are too large for float64.
func (d direction) apart() float64 {
	var sum float64
	for i, l := range d.laws {
		m, ok := l.(mixtureLaw)
		if !ok {
			return 1
		}
		sum += d.counts[i] * m.apart()
	}
	return sum * (1 + 0x1p-50*float64(len(d.laws)+8))
}

// search calls find, which searches for a saddle point or a grid by the approximate cumulant generating function p, and
// returns its result. Before the call it subtracts an estimate of the work of find from the work that e allows. If less
// work is left, search returns errEffort and does not call find.
func search[T any](e *effort, p profile, find func() T) (T, error) {
	if err := e.spend(profileLooks * p.labour()); err != nil {
		var none T
		return none, err
	}
	return find(), nil
}

// lay returns a layout (the grid and the window of losses for the Fourier transform) with which delta is bracketed to
// the relative width goal. If the layout would take more than half of the work left, lay tries 4 times the width, and
// so on, up to coarsest. A wider width is tried only if 4 times the last one is below most. If most is infinite, the
// layout for the width coarsest may take all of the work left. reached is the width for which the layout was made. lay
// returns errEffort if no layout is cheap enough.
func (d direction) lay(e *effort, s saddle, goal, most, tail float64) (l layout, reached float64, err error) {
	for {
		l, err := search(e, d.profile, func() layout { return d.profile.lay(s, goal, tail, d.laws) })
		if err != nil {
			return layout{}, 0, err
		}
		last := goal >= coarsest && math.IsInf(most, 1)
		if work := d.labour(l); work <= e.left/2 || last && work <= e.left {
			return l, goal, nil
		}
		if 4*goal >= most || goal >= coarsest {
			return layout{}, 0, errEffort
		}
		goal = min(coarsest, 4*goal)
	}
}

// coarsest is the largest relative width of delta for which a layout is tried.
const coarsest = 1

// labour estimates the work of composing the laws with the given grid and window, in the unit of
// [effort].
func (d direction) labour(l layout) float64 {
	work := transformLabour * float64(l.n) * float64(len(d.laws)+1)
	for i, w := range d.laws {
		lo, hi := w.span(l.below[i], l.above)
		slabs := 2 * ((hi-lo)/l.width + 4)
		work += cellLabour*slabs + w.labour(slabs, l.below[i], l.above)
	}
	return work
}

// curve composes the direction's laws on the layout's grid of losses. It returns a lower and an
// upper bound on delta as functions of epsilon.
func (d direction) curve(e *effort, l layout) (curve, error) {
	uppers, lowers := make([]weighted, len(d.laws)), make([]weighted, len(d.laws))
	var infinite, shift float64
	for i, w := range d.laws {
		g, err := discretise(e, w, l.width, l.below[i], l.above)
		if err != nil {
			return curve{}, err
		}
		uppers[i] = weighted{g.upper, d.counts[i]}
		lowers[i] = weighted{g.lower, d.counts[i]}
		infinite += d.counts[i] * g.infinite
		shift += d.counts[i] * g.shift
	}
	up, err := convolve(e, uppers, l)
	if err != nil {
		return curve{}, err
	}
	low, err := convolve(e, lowers, l)
	if err != nil {
		return curve{}, err
	}
	return newCurve(up, low, l.epsilon, infinite*1.0001, shift*1.0001), nil
}

// largest returns an upper bound on the privacy loss of the whole composition.
func (d direction) largest() float64 {
	var sum float64
	for i, l := range d.laws {
		sum += d.counts[i] * l.largest()
	}
	return sum * (1 + 0x1p-50*float64(len(d.laws)))
}

const (
	// attempts is the largest number of grids that are tried for one bracket.
	attempts = 5
	// coarse is the relative width in delta of a first rough bracket.
	coarse = .2
	// finest is the smallest relative width in delta that is requested.
	finest = 1e-6
	// deltaLeast is the smallest delta for which a bracket is computed. For a smaller delta, some
	// probability masses would be subnormal float64, which have fewer digits.
	deltaLeast = 1e-280
)

// epsilon brackets the epsilon of one direction at the given delta. other is the upper end of the bracket already found
// for the opposite direction, or 0. The method stops when the bracket has the relative width goal, when its upper end
// is at most other, or when the work that e allows is used up. It is an error if no finite upper end was found.
func (d *direction) epsilon(e *effort, delta, goal, other float64) (Bracket, error) {
	if d.apart() <= delta {
		return Bracket{}, nil
	}
	best := Bracket{0, d.largest()}
	err := d.narrowEpsilon(e, delta, goal, other, &best)
	switch {
	case err != nil && !errors.Is(err, errEffort):
		return Bracket{}, err
	case !math.IsInf(best.Upper, 1):
		return best, nil
	case err != nil:
		return Bracket{}, err
	}
	if delta < deltaLeast {
		return Bracket{}, fmt.Errorf("account: delta = %v: must be at least %v where losses are not bounded", delta,
			deltaLeast)
	}
	return Bracket{}, fmt.Errorf("account: delta = %v: no finite epsilon found", delta)
}

func (d *direction) narrowEpsilon(e *effort, delta, goal, other float64, best *Bracket) error {
	largest := best.Upper
	if delta < deltaLeast {
		return nil
	}
	tail := d.counted().tail(saddle{logDelta: math.Log(delta)}, goal)
	if err := d.draw(e, tail); err != nil {
		return err
	}
	s, err := search(e, d.profile, func() saddle { return d.profile.forDelta(delta) })
	if err != nil {
		return err
	}
	full := min(.3, goal*s.epsilon*(s.theta+1)*.8)
	if s.epsilon == 0 { // a rough bracket shows whether epsilon = 0 is enough
		full = coarse / 4
	}
	relative := full
	if other > 0 { // a rough bracket may show that the upper end is at most other
		relative = max(full, coarse)
	}
	last := math.Inf(1)
	for range attempts {
		v, reached, err := d.attempt(e, s, relative, last, tail)
		if err != nil {
			return err
		}
		last = reached
		best.Upper = min(best.Upper, v.upperEpsilon(delta))
		if lower := v.lowerEpsilon(delta); lower <= best.Upper { // rounding over millions of uses may exceed the largest loss
			best.Lower = max(best.Lower, lower)
		}
		if best.Upper <= other || best.width() <= goal {
			return nil
		}
		if best.Upper == largest {
			s, err = search(e, d.profile, func() saddle { return d.profile.forDelta(delta / 2) })
			relative /= 4
			last = math.Inf(1)
		} else {
			s, err = search(e, d.profile, func() saddle { return d.profile.forEpsilon((best.Lower + best.Upper) / 2) })
			relative = max(finest, min(full, relative*min(.5, .8*goal/best.width())))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attempt composes the laws on a grid made for the saddle point s: the tilt e^(theta loss) of the
// loss distribution that suits an epsilon or a delta. It returns the composed curve and the
// relative width of delta for which the grid was made.
func (d *direction) attempt(e *effort, s saddle, goal, most, tail float64) (v curve, reached float64, err error) {
	l, reached, err := d.lay(e, s, goal, most, tail)
	if err != nil {
		return curve{}, 0, err
	}
	v, err = d.curve(e, l)
	return v, reached, err
}

// counted returns a profile with the counts of the laws but without sketches of them. The method
// profile.tail needs only the counts.
func (d *direction) counted() profile {
	p := make(profile, len(d.counts))
	for i, n := range d.counts {
		p[i].count = n
	}
	return p
}

// delta brackets the delta of one direction at the given epsilon. It stops when the bracket has the
// relative width goal, when enough(bracket) is true, or when the work that e allows is used up. If
// rough is true, the first grid aims at the relative width coarse instead of goal.
func (d *direction) delta(e *effort, epsilon, goal float64, rough bool, enough func(Bracket) bool) (Bracket, error) {
	if epsilon >= d.largest() {
		return Bracket{}, nil
	}
	best := Bracket{0, min(1, d.apart())}
	err := d.narrowDelta(e, epsilon, goal, rough, enough, &best)
	if err != nil && !errors.Is(err, errEffort) {
		return Bracket{}, err
	}
	return best, nil
}

func (d *direction) narrowDelta(e *effort, epsilon, goal float64, rough bool, enough func(Bracket) bool,
	best *Bracket) error {
	if err := d.draw(e, sketchTail); err != nil {
		return err
	}
	find := func() saddle { return d.profile.forEpsilon(epsilon) }
	s, err := search(e, d.profile, find)
	if err != nil {
		return err
	}
	tail := d.profile.tail(s, goal)
	redraw := func() error {
		if err := d.draw(e, tail); err != nil {
			return err
		}
		s, err = search(e, d.profile, find)
		return err
	}
	if err := redraw(); err != nil {
		return err
	}
	full := goal * .8
	relative := full
	if rough {
		relative = max(full, coarse)
	}
	last := math.Inf(1)
	for range attempts {
		v, reached, err := d.attempt(e, s, relative, last, tail)
		if err != nil {
			return err
		}
		last = reached
		best.Upper = min(best.Upper, v.upperDelta(epsilon))
		best.Lower = max(best.Lower, v.lowerDelta(epsilon))
		if enough(*best) || best.width() <= goal || best.Upper < deltaLeast {
			return nil
		}
		relative = min(full, relative*min(.5, .8*goal/best.width()))
		if finer := d.profile.tail(saddle{logDelta: math.Log(best.Upper)}, goal); finer < tail/2 {
			tail, last = finer, math.Inf(1) // the first estimate of delta was too large for tail
			if err := redraw(); err != nil {
				return err
			}
		}
	}
	return nil
}
