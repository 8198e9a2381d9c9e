package mechanism

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// Renyi is the composition of mechanisms in Renyi differential privacy (Mironov 2017). Its bounds
// add in closed form and are looser than the brackets of [Composition]. A Renyi is immutable.
type Renyi struct{ parts []Composed }

// ComposeRenyi returns the composition of events in Renyi DP. It returns an error if mechanisms were made for different
// relations, or if no valid bound is known for a mechanism. No bound is known for Gaussian mixtures, for the Gaussian
// on a sample of fixed size, for groups of records on a Poisson sample, and for the sampled Gaussian under replace-one.
// The divergence of the sampled Gaussian under replace-one differs from its divergence under add-or-remove.
func ComposeRenyi(ctx context.Context, events []Composed) (*Renyi, error) {
	if _, err := gather(ctx, events, 1e-3); err != nil { // for its checks
		return nil, err
	}
	var a Renyi
	for i, e := range events {
		if _, err := e.Mechanism.renyi(2); err != nil {
			return nil, fmt.Errorf("account: event %d: %w", i, err)
		}
		if e.Count > 0 {
			a.parts = append(a.parts, e)
		}
	}
	return &a, nil
}

// divergence returns the Renyi divergence of the composition at the given order, rounded up. order must be
// finite and > 1. The result is +Inf only if it exceeds the float64 range.
func (a *Renyi) divergence(ctx context.Context, order float64) (float64, error) {
	if !(order > 1) || math.IsInf(order, 0) {
		return 0, fmt.Errorf("account: order = %v: must be finite and > 1", order)
	}
	return a.at(newEffort(ctx, effortMost), order)
}

func (a *Renyi) at(e *effort, order float64) (float64, error) {
	var sum float64
	for _, p := range a.parts {
		if err := e.spend(momentLabour(order)); err != nil {
			return 0, err
		}
		r, err := p.Mechanism.renyi(order)
		if err != nil {
			return 0, err
		}
		sum = round.AddUp(sum, round.MulUp(float64(p.Count), r))
	}
	return sum, nil
}

// Epsilon returns an epsilon >= 0 with which the composition is (epsilon, delta)-DP, rounded up. With R(a) the Renyi
// divergence of order a, it is the minimum over the orders a tried of (Canonne, Kamath & Steinke 2020, proposition 12)
//
//	R(a) + ln((a-1)/a) - (ln delta + ln a)/(a-1).
//
// delta must be in (0, 1). It is an error if no finite epsilon is found.
func (a *Renyi) Epsilon(ctx context.Context, delta float64) (float64, error) {
	if err := probabilityDelta(delta); err != nil {
		return 0, err
	}
	if len(a.parts) == 0 {
		return 0, nil
	}
	least, err := a.minimise(ctx, func(order, r float64) float64 {
		return r + math.Log1p(-1/order) - (math.Log(delta)+math.Log(order))/(order-1)
	})
	if err != nil {
		return 0, err
	}
	if math.IsInf(least, 1) {
		return 0, fmt.Errorf("account: delta = %v: no finite epsilon found", delta)
	}
	return max(0, least+renyiSlack*(1+math.Abs(least))), nil
}

// Delta returns a delta <= 1 with which the composition is (epsilon, delta)-DP, rounded up. With
// R(a) the Renyi divergence of order a, it is the minimum over the orders a tried of exp((a-1)(R(a)
// - epsilon))/(a-1) (1-1/a)^a. epsilon must be finite and >= 0.
func (a *Renyi) Delta(ctx context.Context, epsilon float64) (float64, error) {
	if err := gaussianNonNegative("epsilon", epsilon); err != nil {
		return 0, err
	}
	if len(a.parts) == 0 {
		return 0, nil
	}
	least, err := a.minimise(ctx, func(order, r float64) float64 {
		return (order-1)*(r-epsilon) - math.Log(order-1) + order*math.Log1p(-1/order)
	})
	if err != nil {
		return 0, err
	}
	if math.IsInf(least, 1) {
		return 1, nil
	}
	return min(1, max(math.SmallestNonzeroFloat64, math.Exp(least+renyiSlack*(1+math.Abs(least))))), nil
}

// minimise returns the least bound over the Renyi orders that it tries. It first tries the orders 1 + e^t on a grid of
// t in [-6, 14], and then searches by golden section around the best grid point. Every order gives a valid bound, so
// minimise returns the least bound found if the work allowed runs out.
func (a *Renyi) minimise(ctx context.Context, bound func(order, r float64) float64) (float64, error) {
	e := newEffort(ctx, effortSearch)
	least := math.Inf(1)
	var failed error
	try := func(t float64) float64 {
		if failed != nil {
			return math.Inf(1)
		}
		order := 1 + math.Exp(t)
		r, err := a.at(e, order)
		if err != nil {
			failed = err
		}
		if failed != nil || math.IsInf(r, 1) {
			return math.Inf(1)
		}
		v := bound(order, r)
		if math.IsNaN(v) { // bound subtracted infinities
			return math.Inf(1)
		}
		least = min(least, v)
		return v
	}
	const lo, hi, step = -6.0, 14.0, 0.25
	best, at := math.Inf(1), lo
	for t := lo; t <= hi; t += step {
		v := try(t)
		if failed != nil {
			break
		}
		if v < best {
			best, at = v, t
		}
		if v-best > 3*math.Abs(best) { // far past the minimum; large orders are slow
			break
		}
	}
	x, y := at-step, at+step
	ratio := (math.Sqrt(5) - 1) / 2
	c, d := y-ratio*(y-x), x+ratio*(y-x)
	fc, fd := try(c), try(d)
	for range 25 {
		if fc < fd {
			y, d, fd = d, c, fc
			c = y - ratio*(y-x)
			fc = try(c)
		} else {
			x, c, fc = c, d, fd
			d = x + ratio*(y-x)
			fd = try(d)
		}
	}
	if failed == errEffort && !math.IsInf(least, 1) {
		failed = nil // every order tried gives a valid bound
	}
	return least, failed
}

func (m gaussianMechanism) renyi(order float64) (float64, error) {
	mu := round.DivUp(m.sensitivity, m.multiplier)
	return round.MulUp(order, round.MulUp(mu, mu)/2), nil
}

func (m gaussianMixture) renyi(float64) (float64, error) {
	return 0, fmt.Errorf("%v: no Renyi bound", m)
}
