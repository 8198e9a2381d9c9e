package mechanism

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// ApproximateMu returns a mu for which the releases of steps are together delta-approximately mu-GDP. This means that,
// for every epsilon >= 0 and in both directions, their hockey-stick divergence is at most
//
//	delta + (1 - delta) GaussianDelta(mu, epsilon).
//
// This bound is the divergence of a mechanism that publishes everything with probability delta and is mu-GDP otherwise.
// By Blackwell's theorem (Dong, Roth & Su 2022, theorem 2.10) the releases are a post-processing of that mechanism. The
// privacy filter of Gaussian differential privacy therefore applies to them: mu^2 adds, delta adds, and both may be
// chosen after earlier releases were seen. The composed privacy-loss distributions alone allow no such choice: they
// hold for laws that are fixed beforehand.
//
// The divergence used is a certified upper bound for all steps together. The returned mu exceeds
// the least mu that this upper bound proves by about 1e-6 of itself. delta must be within [1e-30,
// 0.1]. It is an error if no mu up to 1024 is proven.
func ApproximateMu(ctx context.Context, steps []SampledSteps, r Relation, delta float64) (mu float64, err error) {
	p, err := profileOf(ctx, steps, r, delta)
	if err != nil {
		return 0, err
	}
	low, high := 0.0, 1.0
	for !p.below(high, delta) {
		if low, high = high, 2*high; high > approximateMost {
			return 0, fmt.Errorf("account: steps: no mu <= %v is known to cover them at delta = %v", float64(approximateMost),
				delta)
		}
	}
	for high-low > approximateWidth*high {
		if mid := low + (high-low)/2; p.below(mid, delta) {
			high = mid
		} else {
			low = mid
		}
	}
	// The factor leaves a margin, because CheckApproximateMu may repeat the proof on a machine that
	// rounds differently.
	return high * (1 + approximateWidth), nil
}

// CheckApproximateMu returns an error unless it can prove, as [ApproximateMu] does, that the
// releases of steps are delta-approximately mu-GDP.
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
	// approximateMost is the largest mu that is tried. A mu this large protects nobody. The search
	// for mu ends at the relative width approximateWidth.
	approximateMost  = 1 << 10
	approximateWidth = 1e-6
	// approximateCells is the number of equal intervals of epsilon in a table of a hockey-stick divergence. The
	// divergence is computed at the ends of the intervals. The method below divides each interval into approximateParts
	// parts, and compares the divergence with the Gaussian one on each part.
	approximateCells, approximateParts = 64, 16
)

// tabled is an upper bound on a hockey-stick divergence, as a table. At epsilon[j] the divergence
// is at most delta[j]. The divergence is convex in e^epsilon, so between two entries it is at most
// their chord. Beyond the last entry the divergence is at most the delta given to profileOf.
type tabled struct{ epsilon, delta []float64 }

// profileOf returns a table of an upper bound on the hockey-stick divergence of steps. The table
// goes from epsilon = 0 to an epsilon at which the divergence is at most delta. It is an error if
// this last epsilon exceeds tradeoffMost or if delta is not within [1e-30, 0.1].
func profileOf(ctx context.Context, steps []SampledSteps, r Relation, delta float64) (tabled, error) {
	if !(delta >= 1e-30 && delta <= .1) {
		return tabled{}, fmt.Errorf("account: delta = %v: must be within [1e-30, 0.1]", delta)
	}
	plan := SampledPlan{Steps: steps, Relation: r}
	if _, err := plan.Count(); err != nil {
		return tabled{}, err
	}
	events, err := plan.composed(1)
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
		return tabled{}, fmt.Errorf("account: steps: epsilon = %v at delta = %v: must be at most %v", last.Upper, delta,
			float64(tradeoffMost))
	}
	epsilons := vector.Make(approximateCells, func(j int) float64 { return last.Upper * float64(j) / approximateCells })
	deltas, err := c.deltas(e, epsilons)
	if err != nil {
		return tabled{}, err
	}
	p := tabled{epsilons, vector.Map(deltas, func(d Bracket) float64 { return d.Upper })}
	// Beyond last.Upper the divergence is at most delta. The bound to be proven is at least delta,
	// so it holds there for every mu.
	p.epsilon, p.delta = append(p.epsilon, last.Upper), append(p.delta, min(delta, p.delta[len(p.delta)-1]))
	return p, nil
}

// below reports whether the tabled divergence is nowhere above the largest divergence of a delta-approximately mu-GDP
// mechanism. Both divergences decrease in epsilon. Each interval between two entries is divided into parts. On a part,
// the tabled divergence is at most the value of the interval's chord at the beginning of the part, and the divergence
// of mu-GDP is at least its value at the end of the part. below compares these two values.
func (p tabled) below(mu, delta float64) bool {
	for j := range len(p.epsilon) - 1 {
		width := p.epsilon[j+1] - p.epsilon[j]
		for i := range approximateParts {
			begin, end := width*float64(i)/approximateParts, width*float64(i+1)/approximateParts
			weight := 0.0 // the weight of the interval's end in the chord, linear in e^epsilon
			if i > 0 {
				weight = math.Expm1(begin) / math.Expm1(width)
			}
			chord := (p.delta[j] + weight*(p.delta[j+1]-p.delta[j])) * (1 + 0x1p-40)
			least := gaussianDelta(mu, round.Up(p.epsilon[j]+end)) * (1 - 0x1p-40)
			if !(chord <= delta+(1-delta)*least) {
				return false
			}
		}
	}
	return true
}
