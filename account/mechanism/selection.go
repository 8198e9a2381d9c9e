package mechanism

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/memo"
)

// selectionLeast and selectionMost are the least and the greatest Epsilon of a selection. Between
// these limits, the two probabilities that SelectionMu compares are far from the ends of the range
// of float64, and their rounding errors are far smaller than the difference that decides.
const selectionLeast, selectionMost = 0x1p-40, 16

// SelectionMu returns the least mu for which every mechanism of epsilon-bounded range is mu-GDP,
// rounded up. epsilon must be in [2^-40, 16].
//
//	mu = 2 Phi^-1(1/(1 + e^(-epsilon/2))),  about sqrt(pi/8) epsilon = 0.627 epsilon.
//
// On every pair of neighbouring tables, a mu-GDP mechanism is a post-processing of the Gaussian mechanism (Blackwell's
// theorem; Dong, Roth & Su 2022). Selections therefore compose with Gaussian releases under one filter.
//
// Proof. Between two neighbouring tables the loss log P/Q lies in [t - epsilon, t] for some t in
// [0, epsilon], so the trade-off function of P and Q is at least
//
//	f_t(a) = max(1 - e^(epsilon-t) a, e^(-t) (1 - a)).
//
// These are two segments from (0, 1) and (1, 0) that meet at a kink (a_t, b_t). G_mu, the trade-off
// function of mu-GDP, is convex and has the same ends, so on either segment it is below the chord.
// Hence G_mu <= f_t everywhere if and only if G_mu(a_t) <= b_t, that is mu >= Phi^-1(1-a_t) -
// Phi^-1(b_t). The odds of 1-a_t exceed the odds of b_t by a factor e^epsilon for every t. With
// g(x) = Phi^-1(1/(1+e^-x)) the bound is g(x+epsilon) - g(x) for some x. The odd function g is
// concave for x > 0, as shown below, so g' is even and decreases in |x|, and the difference is
// largest at x = -epsilon/2, where it is 2 g(epsilon/2).
//
// Concavity: with z = g(x) > 0, log g' = log p(1-p) + z^2/2 + constant for p = Phi(z), so g is concave if z Phi(z)
// Phi(-z) <= phi(z) (Phi(z) - Phi(-z)). Divided by Phi(z) Phi(-z) this is D(z) = r(z) - r(-z) - z >= 0 for the hazard r
// = phi/Phi(-.), whose derivative r' = r (r - z) increases strictly (Sampford 1953). D(0) = 0, D'(0) = 4/pi - 1 > 0,
// and D > 0 for large z, where r(z) - z ~ 1/z. Where D = 0, r(z) - z = r(-z) gives r'(z) = r(z) r(-z) = r'(-z), so D' =
// 2 r'(-z) - 1, which decreases in z. D therefore cannot cross zero downwards at one z and upwards at a later one, and
// is never negative. QED
func SelectionMu(epsilon float64) (float64, error) {
	if !(epsilon >= selectionLeast && epsilon <= selectionMost) {
		return 0, fmt.Errorf("account: selection: epsilon = %v: must be between 2^-40 and %v", epsilon,
			float64(selectionMost))
	}
	// The condition on mu is 2 Phi(mu/2) - 1 >= 2/(1 + e^(-epsilon/2)) - 1 = (e^y - 1)/(e^y + 1),
	// where y = epsilon/2. The left side is the delta of mu-GDP at epsilon = 0. gaussianDelta(mu,
	// 0) computes it and exceeds the exact value by less than 2^-51 of itself.
	y := dd{epsilon / 2, 0}
	var m dd
	if y.hi <= .25 {
		m = ddExpm1Small(y)
	} else {
		v, k := ddExp(y)
		m = v.scale(k).sub(dd{1, 0})
	}
	want := normalCeil(m.div(m.add(dd{2, 0})), 0)
	return selectionMus.Of(epsilon, func() (float64, error) {
		mu, _ := normalLeast(func(mu float64) bool {
			return float64(gaussianDelta(mu, 0)*(1-0x1p-50)) >= want
		})
		return mu, nil
	})
}

// selectionMus keeps results of SelectionMu by epsilon.
var selectionMus memo.Memo[float64, float64]
