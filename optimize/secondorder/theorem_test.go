package secondorder

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestTheoremByHand works out the parameters of Theorem 3.17 and the numbers of records of Lemmas 3.14 and 3.15, term by term, for
// accuracies at which other terms are the largest.
func TestTheoremByHand(t *testing.T) {
	l := loss.Tanh().Constants()
	const d, records, mu = 9, 20_000., .7
	for relation, moves := range map[account.Relation]float64{account.ReplaceOne: 2, account.AddOrRemove: 1} {
		p := optimize.Problem{Shape: optimize.Shape{Features: d, Margins: 1}, Constants: l, Records: records, Mu: mu, Relation: relation,
			Start: make([]float64, d)}
		G, M, rho, B := l.Lipschitz, max(-l.Curvature.Lo, l.Curvature.Hi), l.HessianLipschitz, l.InitialGap
		root := 3 * moves / mu
		for _, alpha := range []float64{.002, .05, .9, 4} {
			c := at(p, alpha)
			near := func(what string, got, want float64) {
				t.Helper()
				if !(math.Abs(got/want-1) <= 1e-12) {
					t.Errorf("%v, accuracy %v: %s: %v: must be %v", relation, alpha, what, got, want)
				}
			}
			xi, gamma := math.Sqrt(alpha/rho), math.Ceil(M/math.Sqrt(rho*alpha)*math.Log(math.E+d*records))
			kappa := max(alpha*root, math.Pow(B*G*M, 1./3))
			tau := math.Floor(max(1, kappa*math.Sqrt(rho)/(math.Sqrt(alpha)*M)))
			near("root", c.root, root)
			near("xi", c.xi, xi)
			near("gamma", c.gamma, gamma)
			near("kappa", c.kappa, kappa)
			near("tau", c.tau, tau)
			fresh := G*root/alpha + math.Pow(G/alpha, 2) + M*xi*math.Sqrt(gamma*tau)*root/alpha + M*M/(rho*alpha)
			near("records of a fresh estimate", c.fresh(), fresh)
			for _, move := range []float64{1e-9, .01, 3} {
				near("records of a difference", c.batch(move), max(1, M*move*root/alpha, kappa*M*move/(alpha*alpha), rho*kappa*move/(M*alpha),
					rho*move*xi*math.Sqrt(gamma*tau)*root/alpha))
			}
			near("records of a run", c.need(), fresh*max(1, B*M/(kappa*alpha))+B*M/(alpha*alpha)*(root+kappa/alpha+rho*kappa/(M*M)+1))
		}
	}
}

// TestEstimatesBeginAnew: forecasts assume a fresh estimate at the first item of each prefix sum, with its noise, and none between.
func TestEstimatesBeginAnew(t *testing.T) {
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(loss.Tanh(), b, optimize.Stated(4, 40_000))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Spider{Rounds: 3, Items: 5, WithoutProducts: true}.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	rule, fresh := made.(*spiderPlan).UpdateRule(), 0
	for step := range made.Summary().Steps {
		K, noise := rule.Answer(step, 1, 1)
		begins := step%5 == 0
		if begins {
			fresh++
		}
		if (K == 1) != begins || (noise != optimize.Variance{}) != begins {
			t.Errorf("step %d: the part %v is fresh, with %+v", step, K, noise)
		}
	}
	if fresh != made.Summary().Steps/5 || fresh < 3 {
		t.Errorf("%d fresh estimates in %d steps", fresh, made.Summary().Steps)
	}
}
