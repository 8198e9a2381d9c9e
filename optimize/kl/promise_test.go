package kl_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestPromisesByHand works the bounds of the theorems of Menart et al. 2024 out by hand, with their unstated constants
// set to 1, from L0, L1, F0, d, n and rho = mu^2/2, and the condition F - min F <= (gamma ||grad F||)^kappa.
func TestPromisesByHand(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		o := optimizetest.New(p.Config(budget(t), 3000, 5))
		public := o.Problem(p.Public)
		for _, records := range []float64{9000, 4e6} {
			public.Records = records
			c, n, d, rho := public.Constants, records, float64(public.Dim()), public.Mu*public.Mu/2
			l1 := public.Smoothness()
			root := n * math.Sqrt(rho)
			log := func(T float64) float64 {
				return math.Max(1, 2*math.Log(n)+2*math.Log(math.Log(2*T/.05))-math.Log(d)-math.Log(.05/T))
			}
			const lambda, T = .3, 3.
			most := (1 + 8*1.69*l1) * (math.Log(c.InitialGap) + 3/2.5*math.Log(root/(1.3*c.Lipschitz)))
			wide := math.Log(root / .1)
			adaptive := math.Pow(1.3*c.Lipschitz*math.Sqrt(d*wide*most)/root, 3/2.5) +
				math.Pow(1.69*c.Lipschitz*c.Lipschitz*wide/(math.Min(l1, 1)*root), .75) + math.Pow(most/root, 3)
			for name, x := range map[string]struct {
				of      optimize.Algorithm
				kappa   float64
				theorem string
				want    float64
			}{
				"strongly convex": {kl.StronglyConvex{Theorem: true, Lambda: lambda, Steps: 50}, 1.5, "Theorem 9 (Menart et al. 2024)",
					d * c.Lipschitz * c.Lipschitz / (root * root) * log(1) / lambda},
				"proximal": {kl.Proximal{Rounds: T, Steps: 7, Lambda: lambda, Theorem: true}, 2.5, "Theorem 2 (Menart et al. 2024)",
					math.Pow(1.3*c.Lipschitz*math.Sqrt(d*T*log(T))/root, 2.5)},
				"adaptive": {kl.Adaptive{Theorem: true, Failure: .1}, 1.5, "Theorem 4 (Menart et al. 2024)", adaptive},
			} {
				public.KL = optimize.KL{Kappa: x.kappa, Gamma: 1.3}
				plan, err := x.of.Plan(ctx, public)
				if err != nil {
					t.Fatalf("%s, %s: %v", p.Name, name, err)
				}
				got := plan.Summary().Promise
				if !close(got.Bound, x.want, 1e-9) || got.Theorem != x.theorem ||
					got.Of != "excess risk" || got.Start != c.InitialGap {
					t.Errorf("%s, %s, %v records: %+v: must be %v", p.Name, name, records, got, x.want)
				}
			}
		}
	}
}
