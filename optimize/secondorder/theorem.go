package secondorder

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// theorem has the parameters of Theorem 3.17 of Liu and Talwar 2025, with the theorem's unstated
// constants set to 1. G is the Lipschitz constant of the loss, M the smoothness, rho the Lipschitz
// constant of the Hessian and B a bound on F(w_0) - min F. root = sqrt(d) neighbours/mu stands for
// the paper's sqrt(d)/epsilon; here neighbours is 2 for replace-one and 1 for add-or-remove. With a
// cohort of root records, the noise in the cohort's mean gradient has about the norm G.
//
// The paper's formulas mix units in some places. Here they are corrected as the proofs need: the
// cohort sizes b (fresh estimate) and b_t (difference) have terms for Hessian-vector products at the
// distance Xi, b_t grows with the distance moved, and tau is a number of escapes.
type theorem struct {
	alpha, G, M, rho, B, root float64
	// kappa, xi, gamma and tau are defined in [walk].
	kappa, xi, gamma, tau float64
}

// at returns the parameters of Theorem 3.17 (Liu and Talwar 2025) for the problem p and the accuracy
// alpha.
func at(p optimize.Problem, alpha float64) theorem {
	c := theorem{
		alpha: alpha, G: p.Constants.Lipschitz, M: p.Smoothness(), rho: p.Constants.HessianLipschitz,
		B:    p.Constants.InitialGap,
		root: math.Sqrt(float64(p.Dim())) * p.Neighbours() / p.Mu,
	}
	c.xi = math.Sqrt(alpha / c.rho)
	c.gamma = math.Ceil(c.M / math.Sqrt(c.rho*alpha) * math.Log(math.E+float64(p.Dim())*p.Records))
	c.kappa = max(alpha*c.root, math.Cbrt(c.B*c.G*c.M))
	c.tau = math.Floor(max(1, c.kappa*math.Sqrt(c.rho/alpha)/c.M))
	return c
}

// fresh returns b, the number of records for a fresh gradient estimate (Liu and Talwar 2025, Lemma
// 3.14).
func (c theorem) fresh() float64 {
	return c.G*c.root/c.alpha + c.G*c.G/(c.alpha*c.alpha) + c.M*c.xi*math.Sqrt(c.gamma*c.tau)*c.root/c.alpha +
		c.M*c.M/(c.rho*c.alpha)
}

// batch returns b_t, the smallest number of records with which the difference of gradients over a step of length
// distance is accurate enough (Liu and Talwar 2025, Lemma 3.14). The result is at least 1.
func (c theorem) batch(distance float64) float64 {
	move := c.M * distance
	return max(move*c.root/c.alpha, c.kappa*move/(c.alpha*c.alpha), c.rho*c.kappa*distance/(c.M*c.alpha),
		c.rho*distance*c.xi*math.Sqrt(c.gamma*c.tau)*c.root/c.alpha, 1)
}

// need returns a number of records that is enough for a run with the parameters of c (Liu and Talwar 2025,
// Lemma 3.15).
func (c theorem) need() float64 {
	square := c.alpha * c.alpha
	return c.fresh()*max(1, c.B*c.M/(c.kappa*c.alpha)) +
		c.B*c.M*(c.root/square+c.kappa/(square*c.alpha)+c.rho*c.kappa/(c.M*c.M*square)+1/square)
}

// smallest returns the smallest accuracy alpha, up to 1e6 times the Lipschitz constant, that the given number of
// records allows, found by bisection; infinity if there is none.
func smallest(p optimize.Problem, records float64) float64 {
	lo, hi := 1e-12*p.Constants.Lipschitz, 1e6*p.Constants.Lipschitz
	if at(p, hi).need() > records {
		return math.Inf(1)
	}
	for range 200 {
		if mid := math.Sqrt(lo * hi); at(p, mid).need() > records {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// mostItems is the largest number of items of a prefix sum. It limits the size of a plan's Law.
const mostItems = 1 << 12

// byTheorem sets the parameters of Theorem 3.17 (Liu and Talwar 2025) for the smallest accuracy alpha
// that the given number of records allows, found by bisection. It returns an error if no alpha up to
// 1e6 times the Lipschitz constant is possible, or if the Hessian's Lipschitz constant is unknown.
func (r *settings) byTheorem(p optimize.Problem, records float64, escapes bool) error {
	const name = "second-order"
	if !optimize.Positive(p.Constants.HessianLipschitz) {
		return fmt.Errorf("optimize: %s: Lipschitz constant of the Hessian = %v: must be finite and > 0 for theorem", name,
			p.Constants.HessianLipschitz)
	}
	alpha := smallest(p, records)
	if math.IsInf(alpha, 1) {
		return fmt.Errorf("optimize: %s: %v records: are not enough for theorem at any accuracy", name, records)
	}
	c := at(p, alpha)
	r.theorem, r.factorization = &c, query.Tree
	r.gap, r.eta, r.short = math.Sqrt(c.rho*c.alpha), p.StepSize(1), p.StepSize(1)
	r.root = whole(p, c.fresh())
	r.rounds = max(int(records/r.root), 1)
	// The number of items has three upper limits: the number of records, since each item needs a record, the
	// paper's number of steps, and mostItems. It is at least 1, also if fewer than one record is expected, as
	// is possible under add-or-remove.
	items := max(min(records, math.Ceil(c.B*c.M/(c.alpha*c.alpha)), mostItems), 1)
	r.walk = walk{kappa: c.kappa, items: int(items), xi: c.xi, gamma: int(min(c.gamma, mostItems))}
	r.item = p.Charge()
	if escapes {
		r.walk.tau = int(min(c.tau, 16))
		r.share(p.Charge() / 2)
	}
	return nil
}
