package mechanism

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// tradeoffPoints is the number of equal intervals of epsilon from which a trade-off curve is
// computed. delta is computed at the ends of these intervals.
const tradeoffPoints = 96

// tradeoffLeast is the delta that determines the last epsilon of a trade-off curve: the epsilon at
// which delta is at most tradeoffLeast.
const tradeoffLeast = 1e-9

// TradeOff brackets the trade-off function at each alpha in [0, 1]. The value at alpha is the least type II error of
// any test between two neighbouring tables whose type I error is alpha, in the worse of the two orders of the tables.
// With delta(epsilon) the larger of the deltas of the two orders (Dong, Roth & Su 2022, proposition 6),
//
//	beta = max over epsilon >= 0 of max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)).
//
// The lower end is the value to report: no attack has a smaller error. It is the maximum over finitely many epsilons.
// For the upper end, delta is also bounded from below between these epsilons, by secants: delta is convex in e^epsilon.
func (c *Composition) TradeOff(ctx context.Context, alphas []float64) ([]Bracket, error) {
	for i, a := range alphas {
		if !(a >= 0 && a <= 1) {
			return nil, fmt.Errorf("account: alphas[%d] = %v: must be within [0, 1]", i, a)
		}
	}
	return c.tradeOff(newEffort(ctx, effortCurve), alphas)
}

func (c *Composition) tradeOff(e *effort, alphas []float64) ([]Bracket, error) {
	last, err := c.reach(e)
	if err != nil {
		return nil, err
	}
	epsilons := []float64{0}
	if last > 0 {
		epsilons = vector.Make(tradeoffPoints+1, func(k int) float64 { return last * float64(k) / tradeoffPoints })
	}
	delta, err := c.deltas(e, epsilons)
	if err != nil {
		return nil, err
	}
	u := vector.Map(epsilons, math.Exp)
	return vector.Map(alphas, func(a float64) Bracket { return tradeOff(u, delta, a) }), nil
}

// tradeoffMost is the largest epsilon of a trade-off curve. Beyond it e^epsilon would leave the
// range of float64.
const tradeoffMost = 700

// reach returns the largest epsilon from which a trade-off curve is computed: an epsilon at which delta is at most
// tradeoffLeast, or tradeoffMost if tradeoffMost is smaller or no such epsilon was found.
func (c *Composition) reach(e *effort) (last float64, err error) {
	err = e.lend(effortReach, func(e *effort) error {
		b, err := c.epsilon(e, tradeoffLeast)
		last = min(b.Upper, tradeoffMost)
		if err != nil && e.ctx.Err() == nil { // no finite epsilon was found
			last, err = tradeoffMost, nil
		}
		return err
	})
	return last, err
}

// tradeOff brackets the trade-off function at alpha. It works in u = e^epsilon, in which delta is
// convex and nonincreasing.
func tradeOff(u []float64, delta []Bracket, alpha float64) Bracket {
	gain := func(u, delta float64) float64 {
		return max(0, 1-delta-u*alpha, (1-delta-alpha)/u)
	}
	var out Bracket
	last := len(u) - 1
	for k := range u {
		out.Lower = max(out.Lower, gain(u[k], delta[k].Upper))
		out.Upper = max(out.Upper, gain(u[k], delta[k].Lower))
		if k == last {
			break
		}
		// lines are lower bounds on delta between u[k] and u[k+1]. One line is the constant delta at u[k+1]. The other
		// lines are the secants of the neighbouring intervals, extended into this interval.
		lines := []line{{u[k+1], delta[k+1].Lower, 0}}
		if k > 0 {
			lines = append(lines, line{u[k], delta[k].Lower, (delta[k].Lower - delta[k-1].Upper) / (u[k] - u[k-1])})
		}
		if k+1 < last {
			lines = append(lines, line{u[k+1], delta[k+1].Lower, (delta[k+2].Upper - delta[k+1].Lower) / (u[k+2] - u[k+1])})
		}
		out.Upper = max(out.Upper, highest(lines, u[k], u[k+1], gain))
	}
	// Beyond the last point delta is at least 0.
	out.Upper = max(out.Upper, gain(u[last], 0))
	return Bracket{max(0, out.Lower-0x1p-50), min(1-alpha, out.Upper+0x1p-50)}
}

type line struct{ at, value, slope float64 }

func (l line) on(u float64) float64 { return l.value + l.slope*(u-l.at) }

// highest returns the largest value of gain(u, delta) over u in [a, b], where delta is the largest value of the lines
// at u, but at least 0. gain is monotone along a line, so its maximum is at a, at b or where two lines meet.
func highest(lines []line, a, b float64, gain func(u, delta float64) float64) float64 {
	at := []float64{a, b}
	for i, l := range lines {
		for _, m := range lines[:i] {
			if x := (m.on(a) - l.on(a)) / (l.slope - m.slope); x > 0 && x < b-a {
				at = append(at, a+x)
			}
		}
	}
	slices.Sort(at)
	var most float64
	for _, x := range at {
		delta := vector.Most(lines, func(l line) float64 { return l.on(x) })
		most = max(most, gain(x, max(0, delta)))
	}
	return most
}
