package account

import (
	"context"
	"fmt"
	"math"
)

// ApproximateMu returns a mu for which the releases of a schedule's steps are
// delta-approximately mu-GDP: whatever a test does, their hockey-stick divergence at
// every epsilon >= 0, in both directions, is at most
//
//	delta + (1 - delta) GaussianDelta(mu, epsilon),
//
// that of a mechanism which with probability delta tells all and otherwise is mu-GDP.
// By Blackwell's theorem (Dong, Roth & Su 2022, theorem 2.10) the releases are a
// post-processing of that one, so they go under the filter of Gaussian differential
// privacy: mu^2 adds, delta adds, and both may be chosen by looking at what was
// released before. That is more than their privacy-loss distributions composed can
// do: those hold for laws fixed beforehand.
//
// The divergence is taken from the privacy-loss distribution of all steps together,
// at its certified upper end. mu is the least within 1e-6 that this shows. delta must
// be within [1e-30, 0.1].
func ApproximateMu(ctx context.Context, steps []SampledSteps, r Relation, delta float64) (mu float64, err error) {
	p, err := profileOf(ctx, steps, r, delta)
	if err != nil {
		return 0, err
	}
	low, high := 0.0, 1.0
	for !p.below(high, delta) {
		if low, high = high, 2*high; high > approximateMost {
			return 0, fmt.Errorf("account: steps: no mu <= %v is known to cover them at delta = %v", float64(approximateMost), delta)
		}
	}
	for high-low > approximateWidth*high {
		if mid := low + (high-low)/2; p.below(mid, delta) {
			high = mid
		} else {
			low = mid
		}
	}
	// Another machine may round apart what it checks this against.
	return high * (1 + approximateWidth), nil
}

// CheckApproximateMu demands that mu be one that [ApproximateMu] could return.
func CheckApproximateMu(ctx context.Context, steps []SampledSteps, r Relation, delta, mu float64) error {
	p, err := profileOf(ctx, steps, r, delta)
	if err != nil {
		return err
	}
	if !(mu <= approximateMost && p.below(mu, delta)) {
		return fmt.Errorf("account: mu = %v: must cover the steps at delta = %v", mu, delta)
	}
	return nil
}

const (
	// approximateMost is far beyond what protects anybody.
	approximateMost  = 1 << 10
	approximateWidth = 1e-6
	// approximateCells is the number of cells between the epsilons at which a
	// divergence is computed, each divided in approximateParts.
	approximateCells, approximateParts = 64, 16
)

// tabled is an upper bound of a hockey-stick divergence: at most delta[j] at
// epsilon[j], convex in e^epsilon between, and negligible beyond the last.
type tabled struct{ epsilon, delta []float64 }

// profileOf tabulates the divergence of steps up to the epsilon at which it is delta.
func profileOf(ctx context.Context, steps []SampledSteps, r Relation, delta float64) (tabled, error) {
	if !(delta >= 1e-30 && delta <= .1) {
		return tabled{}, fmt.Errorf("account: delta = %v: must be within [1e-30, 0.1]", delta)
	}
	if _, err := countSteps(steps); err != nil {
		return tabled{}, err
	}
	events, err := composed(0, steps, 1, r)
	if err != nil {
		return tabled{}, err
	}
	c, err := Compose(ctx, events, 1e-2)
	if err != nil {
		return tabled{}, err
	}
	e := newEffort(ctx, among(effortMost, len(c.parts)))
	var last Bracket
	err = e.lend(e.left/4, func(e *effort) (err error) { last, err = c.epsilon(e, delta); return err })
	if err != nil {
		return tabled{}, err
	}
	if last.Upper > tradeoffMost {
		return tabled{}, fmt.Errorf("account: steps: epsilon = %v at delta = %v: must be at most %v", last.Upper, delta, float64(tradeoffMost))
	}
	var p tabled
	for j := range approximateCells {
		epsilon := last.Upper * float64(j) / approximateCells
		var d Bracket
		err := e.lend(e.left/float64(approximateCells-j), func(e *effort) (err error) { d, err = c.delta(e, epsilon); return err })
		if err != nil {
			return tabled{}, err
		}
		if j > 0 { // delta does not increase
			d.Upper = min(d.Upper, p.delta[j-1])
		}
		p.epsilon, p.delta = append(p.epsilon, epsilon), append(p.delta, d.Upper)
	}
	// Beyond last.Upper the divergence is at most delta, whatever mu is.
	p.epsilon, p.delta = append(p.epsilon, last.Upper), append(p.delta, min(delta, p.delta[len(p.delta)-1]))
	return p, nil
}

// below reports whether a divergence is nowhere above that of delta-approximate
// mu-GDP. Both decrease: on a part of a cell the first is at most its chord at the
// beginning, and the second at least its value at the end.
func (p tabled) below(mu, delta float64) bool {
	for j := range len(p.epsilon) - 1 {
		width := p.epsilon[j+1] - p.epsilon[j]
		for i := range approximateParts {
			begin, end := width*float64(i)/approximateParts, width*float64(i+1)/approximateParts
			weight := 0.0 // of the cell's end, in e^epsilon
			if i > 0 {
				weight = math.Expm1(begin) / math.Expm1(width)
			}
			chord := (p.delta[j] + weight*(p.delta[j+1]-p.delta[j])) * (1 + 0x1p-40)
			least := gaussianDelta(mu, up(p.epsilon[j]+end)) * (1 - 0x1p-40)
			if !(chord <= delta+(1-delta)*least) {
				return false
			}
		}
	}
	return true
}
