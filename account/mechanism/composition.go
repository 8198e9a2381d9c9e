package mechanism

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// Composed is a mechanism that is used Count times.
type Composed struct {
	Mechanism Mechanism
	Count     int
}

// Composition is the privacy of several mechanisms used on the same records. All mechanisms are fixed before the first
// release. Their releases may interleave. An output of one mechanism may determine the query of another mechanism, but
// not the noise distribution of that mechanism. A Composition is immutable and safe for concurrent use.
type Composition struct {
	parts []Composed
	// mu2 is the sum of the squared mu of all Gaussian mechanisms, rounded up. mu2Down is the same
	// sum rounded down. parts contains the mechanisms that are not Gaussian. goal is the relative
	// width to which epsilon and delta are bracketed.
	mu2, mu2Down float64
	goal         float64
	relation     Relation
}

// composedCharge is the largest sum of mu^2, over all Gaussian mechanisms, that may be composed with
// mechanisms of other kinds. Compose returns an error for a larger sum.
const composedCharge = 1e6

// countLimit is the largest number of uses of a mechanism. Counts are then exact in float64, and
// sums of losses stay within range.
const countLimit = 1 << 30

// Compose returns the composition of events. width is the relative width, in [1e-6, 0.1], to which Epsilon and Delta
// are to be bracketed, for example 1e-3. A larger width takes less time; a bracket is valid for every width.
//
// Gaussian parts are combined exactly: the squares of their mu add. It is an error if mechanisms
// were made for different relations. A count must be in [0, 2^30], and so must the sum of the
// counts of equal mechanisms. If the events also contain mechanisms that are not Gaussian, the sum
// of the squared mu of the Gaussian mechanisms must be at most 1e6.
//
// Compose, Delta, Epsilon and TradeOff return the context's error once the context has ended.
func Compose(ctx context.Context, events []Composed, width float64) (*Composition, error) {
	for i, e := range events {
		if m, ok := e.Mechanism.(interface{ unpaired() error }); ok {
			if err := m.unpaired(); err != nil {
				return nil, fmt.Errorf("account: event %d: %w", i, err)
			}
		}
	}
	return gather(ctx, events, width)
}

// gather checks the events and returns their composition. It adds up the squared mu of the Gaussian
// mechanisms. Of the mechanisms that are not Gaussian, equal ones become one part with the sum of
// their counts. Unlike [Compose], gather accepts mechanisms without a known dominating pair.
func gather(ctx context.Context, events []Composed, width float64) (*Composition, error) {
	if !(width >= 1e-6 && width <= .1) {
		return nil, fmt.Errorf("account: width = %v: must be within [1e-6, 0.1]", width)
	}
	c := &Composition{goal: width}
	index := make(map[string]int)
	// charge is the sum of the squared mu of the Gaussian mechanisms, each rounded up by at most
	// 2^-50 of itself. lower is the sum of lower bounds on the squared mu.
	var charge dd
	var lower float64
	for i, e := range events {
		if e.Mechanism == nil {
			return nil, fmt.Errorf("account: event %d: has no mechanism", i)
		}
		if e.Count < 0 || e.Count > countLimit {
			return nil, fmt.Errorf("account: event %d: count = %d: must be within [0, 2^30]", i, e.Count)
		}
		if r := e.Mechanism.relation(); r != 0 {
			if c.relation != 0 && c.relation != r {
				return nil, fmt.Errorf("account: event %d: relation = %v: others are under %v", i, r, c.relation)
			}
			c.relation = r
		}
		if e.Count == 0 {
			continue
		}
		if g, ok := asGaussian(e.Mechanism); ok {
			ratio := round.DivUp(g.sensitivity, g.multiplier)
			square := round.MulUp(ratio, ratio)
			charge = charge.add(ddProd(float64(e.Count), square))
			least := round.Down(round.Down(ratio))
			lower = max(0, -round.AddUp(-lower, -round.MulDown(float64(e.Count), round.MulDown(least, least))))
			continue
		}
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		key := fmt.Sprintf("%T %v", e.Mechanism, e.Mechanism)
		if at, ok := index[key]; ok {
			if c.parts[at].Count += e.Count; c.parts[at].Count > countLimit {
				return nil, fmt.Errorf("account: event %d: counts of %v sum to %d: must be at most 2^30", i, e.Mechanism,
					c.parts[at].Count)
			}
			continue
		}
		index[key] = len(c.parts)
		c.parts = append(c.parts, e)
	}
	if charge.hi > 0 {
		c.mu2 = normalRoundUp(charge, 0)
		c.mu2Down = min(lower, c.mu2)
	}
	if !(c.mu2 <= math.MaxFloat64) {
		return nil, fmt.Errorf("account: noise multipliers: too small for a finite mu")
	}
	if len(c.parts) > 0 && c.mu2 > composedCharge {
		return nil, fmt.Errorf("account: mu^2 = %v of the Gaussian parts: must be at most %v beside other parts", c.mu2,
			float64(composedCharge))
	}
	return c, nil
}

func asGaussian(m Mechanism) (gaussianMechanism, bool) {
	switch g := m.(type) {
	case gaussianMechanism:
		return g, true
	case boundGaussian:
		return g.gaussianMechanism, true
	case prefixGaussian:
		return g.gaussianMechanism, true
	}
	return gaussianMechanism{}, false
}

// directions returns the directions in which delta must be bounded. A direction is one of the two orders in which
// neighbouring tables can be compared. directions returns only one direction if every mechanism has the same law of the
// privacy loss in both. If it returns two, the first has the larger delta in most cases.
func (c *Composition) directions() []direction {
	laws, count := make([][]lossLaw, len(c.parts)), 1
	for i, p := range c.parts {
		laws[i] = p.Mechanism.laws()
		count = max(count, len(laws[i]))
	}
	out := make([]direction, count)
	for k := range out {
		d := &out[k]
		for i, p := range c.parts {
			d.laws = append(d.laws, laws[i][min(k, len(laws[i])-1)])
			d.counts = append(d.counts, float64(p.Count))
		}
		if c.mu2 > 0 {
			d.laws = append(d.laws, gaussianLaw(round.Up(math.Sqrt(c.mu2))))
			d.counts = append(d.counts, 1)
		}
	}
	return out
}

// Epsilon brackets the least epsilon >= 0 with which the composition is (epsilon, delta)-DP. delta
// must be in (0, 1). It must be at least 1e-280 unless all losses are bounded or all parts are
// Gaussian. The bracket has the relative width given to [Compose], or a larger one if that width
// would take more work than is allowed to one call. It is an error if no finite epsilon is found.
func (c *Composition) Epsilon(ctx context.Context, delta float64) (Bracket, error) {
	if err := probabilityDelta(delta); err != nil {
		return Bracket{}, err
	}
	return c.epsilon(c.allowed(ctx), delta)
}

func (c *Composition) epsilon(e *effort, delta float64) (Bracket, error) {
	if len(c.parts) == 0 {
		return c.gaussianEpsilon(delta)
	}
	return c.each(e, func(e *effort, d direction, other Bracket) (Bracket, error) {
		return d.epsilon(e, delta, c.goal, other.Upper)
	})
}

// Delta brackets the least delta with which the composition is (epsilon, delta)-DP, for finite epsilon >= 0. The
// bracket has the relative width given to [Compose], or a larger one if that width would take more work than is allowed
// to one call or if delta is below 1e-280. At worst it is [0, 1].
func (c *Composition) Delta(ctx context.Context, epsilon float64) (Bracket, error) {
	if err := gaussianNonNegative("epsilon", epsilon); err != nil {
		return Bracket{}, err
	}
	return c.delta(c.allowed(ctx), epsilon)
}

func (c *Composition) delta(e *effort, epsilon float64) (Bracket, error) {
	if len(c.parts) == 0 {
		return c.gaussianDelta(epsilon), nil
	}
	return c.each(e, func(e *effort, d direction, other Bracket) (Bracket, error) {
		return d.delta(e, epsilon, c.goal, other.Upper > 0, func(b Bracket) bool { return b.Upper <= other.Upper })
	})
}

// deltas brackets delta at increasing epsilons. Each may take an equal share of the work left when it is computed.
func (c *Composition) deltas(e *effort, epsilons []float64) ([]Bracket, error) {
	out := make([]Bracket, len(epsilons))
	for k, epsilon := range epsilons {
		err := e.lend(e.left/float64(len(epsilons)-k), func(e *effort) (err error) {
			out[k], err = c.delta(e, epsilon)
			return err
		})
		if err != nil {
			return nil, err
		}
		if k > 0 { // delta does not increase with epsilon
			out[k].Upper = min(out[k].Upper, out[k-1].Upper)
			out[k].Lower = min(out[k].Lower, out[k].Upper)
		}
	}
	return out, nil
}

// allowed returns a new counter that limits the work of computing one [Bracket]. Its limit grows
// with the number of different mechanisms. A computation that reaches the limit returns the bracket
// found so far, or errEffort if there is none.
func (c *Composition) allowed(ctx context.Context) *effort {
	return newEffort(ctx, among(effortMost, len(c.parts)))
}

// each calls ask for every direction of the composition, and returns the larger of the bounds. A direction is one of the
// two orders of two neighbouring tables. ask is told the bracket of the directions before its own. If there are two
// directions, the first may use at most half of the work that e allows. each stops at the first error and returns it.
func (c *Composition) each(e *effort, ask func(e *effort, d direction, other Bracket) (Bracket, error)) (out Bracket,
	err error) {
	all := c.directions()
	for k, d := range all {
		err := e.lend(e.left/float64(len(all)-k), func(e *effort) error {
			b, err := ask(e, d, out)
			out = Bracket{max(out.Lower, b.Lower), max(out.Upper, b.Upper)}
			return err
		})
		if err != nil {
			return Bracket{}, err
		}
	}
	return out, nil
}

// within reports whether the composition is proven (epsilon, delta)-DP. The computation of delta
// stops as soon as its bracket lies on one side of the stated delta.
func (c *Composition) within(e *effort, epsilon, delta float64) (bool, error) {
	if len(c.parts) == 0 {
		return c.gaussianDelta(epsilon).Upper <= delta, nil
	}
	for _, d := range c.directions() {
		b, err := d.delta(e, epsilon, c.goal, true, func(b Bracket) bool { return b.Upper <= delta || b.Lower > delta })
		if err != nil || b.Upper > delta {
			return false, err
		}
	}
	return true, nil
}

// muDown is a lower bound on the joint mu of the Gaussian mechanisms. It is at least 0.
func (c *Composition) muDown() float64 { return max(0, round.Down(math.Sqrt(c.mu2Down))) }

func (c *Composition) gaussianDelta(epsilon float64) Bracket {
	if c.mu2 == 0 {
		return Bracket{}
	}
	upper := gaussianDelta(round.Up(math.Sqrt(c.mu2)), epsilon)
	lower := gaussianDelta(c.muDown(), epsilon)
	return Bracket{max(0, lower*(1-0x1p-50)), upper}
}

func (c *Composition) gaussianEpsilon(delta float64) (Bracket, error) {
	upper, err := GaussianEpsilon(round.Up(math.Sqrt(c.mu2)), delta)
	if err != nil || c.mu2 == 0 {
		return Bracket{}, err
	}
	lower, err := GaussianEpsilon(c.muDown(), delta)
	return Bracket{max(0, round.Down(lower*(1-0x1p-50))), upper}, err
}
