package mechanism

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Repetitions is the law of the random number K of runs of a mechanism of which only the best
// output is released. Mean must be at most 1e9 and Shape at most 1e3.
type Repetitions struct {
	// Mean is the mean of K, at least 1.
	Mean float64
	// Poisson is true if K has a Poisson law. K may then be 0, and nothing is released in this
	// case. If Poisson is false, K has a truncated negative binomial law, with K >= 1.
	Poisson bool
	// Shape >= 0 is the parameter of the truncated negative binomial law. 0 gives the logarithmic law
	// and 1 the geometric law. It must be 0 if Poisson is true.
	Shape float64
}

const repeatedMeanMost, repeatedShapeMost = 1e9, 1e3

func (k Repetitions) validate() error {
	switch {
	case !(k.Mean >= 1 && k.Mean <= repeatedMeanMost):
		return fmt.Errorf("account: mean = %v: must be within [1, %v]", k.Mean, float64(repeatedMeanMost))
	case k.Poisson && k.Shape != 0:
		return fmt.Errorf("account: shape = %v: must be absent for a Poisson number of repetitions", k.Shape)
	case !(k.Shape >= 0 && k.Shape <= repeatedShapeMost):
		return fmt.Errorf("account: shape = %v: must be within [0, %v]", k.Shape, float64(repeatedShapeMost))
	}
	return nil
}

func (k Repetitions) String() string {
	if k.Poisson {
		return fmt.Sprintf("poisson, mean %v", k.Mean)
	}
	return fmt.Sprintf("negative binomial, shape %v, mean %v", k.Shape, k.Mean)
}

// logMean returns ln E K as a function of y = ln(1/gamma), where K is the number of runs and gamma
// the parameter of its negative binomial law. E K is shape (1-gamma)/(gamma (1-gamma^shape)), and
// (1-gamma)/(gamma y) for shape 0. E K increases with y.
func (k Repetitions) logMean(y float64) float64 {
	if y == 0 {
		return 0
	}
	s := k.Shape * y
	if s == 0 {
		return logExpm1(y) - math.Log(y)
	}
	return math.Log(k.Shape) + logExpm1(y) - math.Log(-math.Expm1(-s))
}

// logGamma returns, rounded up, ln(1/gamma) for the parameter gamma of the negative binomial law at which the number of
// runs has the stated mean. All bounds on the mechanism's privacy increase with ln(1/gamma), so rounding it up is safe.
func (k Repetitions) logGamma() float64 {
	want := math.Log(k.Mean)
	lo, hi := 0.0, 1.0
	for k.logMean(hi) < want {
		lo, hi = hi, 2*hi
	}
	hi = vector.Halve(lo, hi, 100, func(y float64) bool { return !(k.logMean(y) < want) })
	return hi*(1+1e-12) + 1e-12
}

// repeated is a mechanism that is run K times, where K is random. times is the law of K.
type repeated struct {
	runs  *Renyi
	times Repetitions
	// name describes one run in words.
	name  string
	under Relation
	// constant is a term of the mechanism's divergence if the number of runs is negative binomial.
	// It is the same at every order.
	constant float64
	// known holds the Renyi divergences of one run at a fixed set of orders, in increasing order. The field constant is
	// computed from them. With a Poisson number of runs they bound the delta of one run.
	known []renyiPoint
	// pure is an epsilon with which the whole mechanism is (epsilon, 0)-DP, or 0 if no such epsilon
	// is known.
	pure float64
}

type renyiPoint struct{ order, divergence float64 }

// newRepeatAndSelect returns the mechanism that runs events K times, each time with fresh noise, and releases only the
// best output, as when hyperparameters are chosen (Liu & Talwar 2019; Papernot & Steinke 2022). The choice of the best
// output must depend only on the outputs and on no other data. K is secret and drawn anew. Each run may draw its own
// hyperparameters, from a law that does not depend on the data. It is an error if there are no events, if an event is
// itself a repetition, or if [ComposeRenyi] refuses the events.
//
// Sources: Papernot & Steinke 2022, theorem 2 (truncated negative binomial), theorem 6 (Poisson)
// and corollary 3 (pure). Let R(a) be the Renyi divergence of order a of one run, and R'(a) a bound
// on the divergence of the whole mechanism. For every order b >= 1, with R(b)(1-1/b) = 0 at b = 1,
//
//	R'(a) = R(a) + (1+shape) ((1-1/b) R(b) + ln(1/gamma)/b) + ln(E K)/(a-1).
//
// For a Poisson K, let delta be the delta of one run at epsilon = ln(a/(a-1)):
//
//	e^((a-1) R'(a)) = e^-m + m e^((a-1) (R(a) + m delta)),   m = E K.
//
// The term e^-m belongs to K = 0, which the theorem leaves out. If one run is (epsilon, 0)-DP, the
// whole mechanism is ((2+shape) epsilon, 0)-DP. For a Poisson K it is (epsilon + m
// (e^epsilon-1)/(e^epsilon+1), 0)-DP: the ratio of the derivatives of K's generating function at q
// and q' is e^(m (q-q')), and q - q' is at most the total variation distance of an epsilon-DP pair.
//
// Without a pure bound, no dominating pair of distributions is known for this mechanism. [Compose]
// then refuses the mechanism, and only [ComposeRenyi] accounts for it.
func newRepeatAndSelect(ctx context.Context, times Repetitions, events []Composed) (Mechanism, error) {
	if err := times.validate(); err != nil {
		return nil, err
	}
	m := repeated{times: times}
	var runs int
	pure, allPure := 0.0, true
	for i, e := range events {
		switch e.Mechanism.(type) {
		case nil:
			return nil, fmt.Errorf("account: repeated event %d: has no mechanism", i)
		case repeated:
			return nil, fmt.Errorf("account: repeated event %d: %v: must not itself be repeated", i, e.Mechanism)
		}
		if r := e.Mechanism.relation(); r != 0 {
			m.under = r
		}
		if e.Count == 0 {
			continue
		}
		runs++
		if runs > 1 {
			m.name += " and "
		}
		m.name += fmt.Sprintf("%d x %v", e.Count, e.Mechanism)
		b, isPure := e.Mechanism.(boundedMechanism)
		allPure = allPure && isPure
		pure = round.AddUp(pure, round.MulUp(float64(e.Count), b.epsilon))
	}
	if runs == 0 {
		return nil, fmt.Errorf("account: repeated events: must be some")
	}
	var err error
	if m.runs, err = ComposeRenyi(ctx, events); err != nil {
		return nil, fmt.Errorf("repeated: %w", err)
	}
	if err := m.tabulate(ctx); err != nil {
		return nil, err
	}
	if allPure {
		m.pure = times.pure(pure)
	}
	return m, nil
}

// pure returns an epsilon of the whole mechanism for runs that are epsilon-DP, rounded up. It returns 0 if this epsilon
// exceeds boundedMost, because the law of the privacy loss can then not be computed.
func (k Repetitions) pure(epsilon float64) float64 {
	whole := round.MulUp(epsilon, 2+k.Shape)
	if k.Poisson {
		whole = epsilon + k.Mean*math.Tanh(epsilon/2)
	}
	if whole *= 1 + 0x1p-48; whole > boundedMost {
		return 0
	}
	return max(whole, boundedLeast)
}

// tabulate computes the divergence of one run at a fixed set of orders, and from these the field
// constant, the part of the whole mechanism's bound that does not depend on the order. The orders are
// close together, because the divergence of a sampled mechanism rises steeply at some order. Orders
// from 5 on are integers, for which the divergence is faster to compute.
func (m *repeated) tabulate(ctx context.Context) error {
	for order := 1 + 1./512; order <= 8192; {
		r, err := m.runs.divergence(ctx, order)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		m.known = append(m.known, renyiPoint{order, r})
		if order < 5 {
			order = min(5, 1+(order-1)*1.06)
		} else {
			order = math.Floor(max(order+1, 1.02*order))
		}
	}
	y := m.times.logGamma()
	least := y // the value for b = 1
	for _, p := range m.known {
		least = min(least, (1-1/p.order)*p.divergence+y/p.order)
	}
	m.constant = (1 + m.times.Shape) * least
	return nil
}

// outside returns an upper bound on the delta of one run at epsilon. It is the smaller of two bounds: the bound of
// [Renyi.Delta], and the total variation distance, which is at most sqrt(1 - e^-KL) (Bretagnolle & Huber 1979). The
// divergence KL is at most the Renyi divergence of the least tabulated order.
func (m repeated) outside(epsilon float64) float64 {
	least := math.Log(-math.Expm1(-m.known[0].divergence)) / 2
	for _, p := range m.known {
		a := p.order
		least = min(least, (a-1)*(p.divergence-epsilon)-math.Log(a-1)+a*math.Log1p(-1/a))
	}
	return math.Exp(least) * (1 + renyiSlack*(1-least))
}

func (m repeated) renyi(order float64) (float64, error) {
	one, err := m.runs.divergence(context.Background(), order)
	if err != nil {
		return 0, err
	}
	a, mean := order, m.times.Mean
	var v float64
	if m.times.Poisson {
		// v is ln(e^-m + m e^z)/(a-1), where m is the mean number of runs and z = (a-1) (R + m delta). y is
		// z + ln m.
		y := (a-1)*(one+mean*m.outside(math.Log1p(1/(a-1)))) + math.Log(mean)
		v = (y + math.Log1p(math.Exp(-mean-y))) / (a - 1)
	} else {
		v = one + m.constant + math.Log(mean)/(a-1)
	}
	v += renyiSlack * (math.Abs(v) + 1/(a-1))
	if m.pure > 0 {
		v = min(v, responseRenyi(order, m.pure))
	}
	return v, nil
}

func (m repeated) String() string { return fmt.Sprintf("best of %v runs of %s", m.times, m.name) }

// laws returns the laws of the mechanism's pure epsilon-DP bound. [Compose] refuses a mechanism
// without this bound before it calls laws.
func (m repeated) laws() []lossLaw    { return []lossLaw{responseLaw(m.pure)} }
func (m repeated) relation() Relation { return m.under }

// unpaired returns an error if no dominating pair is known for m, so that [Compose] cannot account
// for it.
func (m repeated) unpaired() error {
	if m.pure > 0 {
		return nil
	}
	return fmt.Errorf("%v: no dominating pair is known, Renyi orders only", m)
}

// grouped returns the mechanism for a group of k records that change together: the same law of
// repetitions, with the group's bounds for one run.
func (m repeated) grouped(k int) (Mechanism, error) {
	parts := make([]Composed, len(m.runs.parts))
	for i, p := range m.runs.parts {
		g, err := Group(p.Mechanism, k)
		if err != nil {
			return nil, err
		}
		parts[i] = Composed{g, p.Count}
	}
	return newRepeatAndSelect(context.Background(), m.times, parts)
}
