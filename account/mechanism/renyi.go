package mechanism

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
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

// ZCDP returns a rho such that the events together are rho-zCDP, rounded up. The rho of one release is mu^2/2 for a
// Gaussian, epsilon^2/2 for pure DP and epsilon^2/8 for bounded range. The rho of the releases add (Bun & Steinke 2016;
// Cesar & Rogers 2021). It is an error for mechanisms without a useful finite rho, such as sampled Gaussians.
func ZCDP(ctx context.Context, events []Composed) (float64, error) {
	if _, err := gather(ctx, events, 1e-3); err != nil { // for its checks
		return 0, err
	}
	var sum float64
	for i, e := range events {
		var rho float64
		if g, ok := asGaussian(e.Mechanism); ok {
			mu := round.DivUp(g.sensitivity, g.multiplier)
			rho = round.MulUp(mu, mu) / 2
		} else if b, ok := e.Mechanism.(boundedMechanism); ok {
			rho = round.MulUp(b.epsilon, b.epsilon) / 2
			if b.rangeOnly {
				rho /= 4
			}
		} else if d, ok := e.Mechanism.(discreteGaussian); ok {
			rho = d.rho()
		} else {
			return 0, fmt.Errorf("account: event %d: %v: no zCDP bound", i, e.Mechanism)
		}
		sum = round.AddUp(sum, round.MulUp(float64(e.Count), rho))
	}
	if math.IsInf(sum, 1) {
		return 0, fmt.Errorf("account: rho: must be small enough for a float64")
	}
	return sum, nil
}

func (m gaussianMechanism) renyi(order float64) (float64, error) {
	mu := round.DivUp(m.sensitivity, m.multiplier)
	return round.MulUp(order, round.MulUp(mu, mu)/2), nil
}

func (m gaussianMixture) renyi(float64) (float64, error) {
	return 0, fmt.Errorf("%v: no Renyi bound", m)
}

// renyi returns the Renyi divergence of order a of the Gaussian mechanism on a Poisson sample,
// ln(A)/(a-1). Here A = E (1 + w(X))^a for X standard normal, w(x) = q (e^(mu x - mu^2/2) - 1), q
// the sampling probability and mu = 1/multiplier. This is the divergence of the output with the
// record from the output without it. Mironov, Talwar & Zhang 2019 prove that the divergence in the
// opposite order is smaller. The logarithm of A - 1 is computed directly, without cancellation.
func (m sampledGaussian) renyi(order float64) (float64, error) {
	if m.under == ReplaceOne {
		return 0, fmt.Errorf("%v: no Renyi bound under replace-one; use Compose", m)
	}
	mu := round.DivUp(1, m.multiplier)
	always := round.MulUp(order, round.MulUp(mu, mu)/2)
	if order > integerOrders {
		return always, nil
	}
	var log float64 // ln A
	low := math.Floor(order)
	switch {
	case order == low:
		log = logOnePlusExp(m.integerMoment(int(order)))
	case order <= fractionalOrders && m.rule(order).points() <= momentPoints:
		log = logOnePlusExp(m.moment(order))
	default:
		var a float64 // ln A is 0 at order 1
		if low > 1 {
			a = logOnePlusExp(m.integerMoment(int(low)))
		}
		b := logOnePlusExp(m.integerMoment(int(low) + 1))
		log = a + (order-low)*(b-a)
	}
	if math.IsNaN(log) { // terms of the sum were too small for float64
		return always, nil
	}
	return log / (order - 1) * (1 + renyiSlack), nil
}

// The moment of the likelihood ratio is computed in one of four ways, by the Renyi order. Integer orders up to
// integerOrders use an exact sum. Fractional orders up to fractionalOrders are integrated numerically, if momentPoints
// nodes are enough. Other fractional orders up to integerOrders are interpolated between integer orders: ln A, the
// logarithm of the moment, is convex in the order and 0 at order 1. Orders above integerOrders are bounded by the
// divergence of a record that is always sampled.
const fractionalOrders, integerOrders, momentPoints = 64, 1 << 16, 20_000

// momentLabour bounds the work of computing one divergence of the given order.
func momentLabour(order float64) float64 {
	if order > integerOrders {
		return 10
	}
	return 2*momentPoints + 16*order
}

// logOnePlusExp returns ln(1 + e^y).
func logOnePlusExp(y float64) float64 {
	if y > 40 {
		return y + math.Exp(-y)
	}
	return math.Log1p(math.Exp(y))
}

// logExpm1 returns ln(e^y - 1) for y > 0.
func logExpm1(y float64) float64 {
	if y > 40 {
		return y + math.Log1p(-math.Exp(-y))
	}
	return math.Log(math.Expm1(y))
}

// integerMoment returns ln(A - 1) for an integer order a, where A is the moment E (1 + w(X))^a of the likelihood ratio.
// With q the sampling probability and mu = 1/multiplier, and since the binomial weights sum to 1,
//
//	A - 1 = sum_{k=2}^a binom(a,k) (1-q)^(a-k) q^k (e^((k^2-k) mu^2/2) - 1).
func (m sampledGaussian) integerMoment(order int) float64 {
	a := float64(order)
	q, mu := m.sampling, 1/m.multiplier
	logs := make([]float64, 0, order)
	logBinomial := math.Log(a) // ln binom(a, 1)
	for k := 2; k <= order; k++ {
		f := float64(k)
		logBinomial += math.Log((a - f + 1) / f)
		y := f * (f - 1) / 2 * mu * mu
		logs = append(logs, logBinomial+(a-f)*math.Log1p(-q)+f*math.Log(q)+logExpm1(y))
	}
	return logSum(logs)
}

func logSum(logs []float64) float64 {
	top := vector.Most(logs, func(l float64) float64 { return l })
	if math.IsInf(top, 0) {
		return top
	}
	sum := vector.Sum(logs, func(l float64) float64 { return math.Exp(l - top) })
	return top + math.Log(sum)
}

// moment returns ln(A - 1) by the trapezoidal rule, where A = E (1 + w(X))^a for X standard normal
// and w(x) = q (e^(mu x - mu^2/2) - 1). Since E w = 0,
//
//	A - 1 = E h(w(X)),   h(w) = (1+w)^a - 1 - a w >= 0.
//
// Take a strip |Im x| <= s with s <= pi/(2 mu). In this strip 1 + w has no zero, and its modulus is at most 1 + w(Re
// x). The normal density phi grows by at most e^(s^2/2). The error of the rule with step d is therefore at most
//
//	4 e^(s^2/2) (A + 1 + 2a)/(e^(2 pi s/d) - 1)
//
// (Trefethen & Weideman 2014, theorem 5.1). The method rule chooses d so that this error is below e^-35
// (A - 1). For this it uses the bound A - 1 >= a(a-1)/2 q^2 (e^(mu^2) - 1) c, where c = (1-q)^a.
func (m sampledGaussian) moment(order float64) float64 {
	a, q, mu := order, m.sampling, 1/m.multiplier
	r := m.rule(order)
	top := math.Inf(-1)
	var sum float64
	for x := math.Floor(r.lo/r.step) * r.step; x <= r.hi; x += r.step {
		y := logPowerRest(a, q, mu*x-mu*mu/2) - x*x/2
		switch {
		case y > top+40:
			sum = sum*math.Exp(top-y) + 1
			top = y
		default:
			sum += math.Exp(y - top)
		}
	}
	return top + math.Log(sum*r.step) - math.Log(2*math.Pi)/2
}

// trapezoid is a trapezoidal rule: a range of x and the step between its nodes.
type trapezoid struct{ lo, hi, step float64 }

func (t trapezoid) points() float64 { return (t.hi - t.lo) / t.step }

func (m sampledGaussian) rule(order float64) trapezoid {
	a, q, mu := order, m.sampling, 1/m.multiplier
	small := math.Log(a*(a-1)/2) + 2*math.Log(q) + logExpm1(mu*mu) + a*math.Log1p(-q)
	need := 38 + math.Log(4+2*a) + max(0, -small)
	strip := min(math.Pi/(2*mu), 3)
	step := 2 * math.Pi * strip / (need + strip*strip/2)
	reach := math.Sqrt(2 * need)
	return trapezoid{-reach - mu, a*mu + reach, step}
}

// logPowerRest returns ln((1+w)^a - 1 - a w), where w = q (e^y - 1).
func logPowerRest(a, q, y float64) float64 {
	var log1p float64
	w := math.Inf(1)
	if y > 300 {
		log1p = y + math.Log(q) + math.Log1p((1-q)/q*math.Exp(-y))
	} else {
		w = q * math.Expm1(y)
		log1p = math.Log1p(w)
	}
	z := a * log1p
	switch {
	case z > 300: // 1 + a w is negligible unless a is close to 1
		if rest := math.Log(a) + log1p; rest < z-40 {
			return z
		}
		return z + math.Log1p(-a*math.Exp(log1p-z))
	case math.Abs(a*w) < 0.05 && math.Abs(w) < 0.05:
		// sum over n >= 2 of binom(a,n) w^n.
		term, sum := a*(a-1)/2*w*w, 0.0
		for n := 2; n < 40 && math.Abs(term) > 0x1p-60*math.Abs(sum); n++ {
			sum += term
			term *= (a - float64(n)) / float64(n+1) * w
		}
		return math.Log(sum)
	}
	return math.Log(max(math.Expm1(z)-a*w, 0))
}
