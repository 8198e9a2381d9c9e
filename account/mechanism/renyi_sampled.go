package mechanism

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

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
