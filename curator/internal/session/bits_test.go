package session

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestGridsToTheLastBit compares what a grid states with exact arithmetic: sigma is not above the deviation of the noise in
// steps over the steps of one, the sensitivity is not below that of the sums and of their rounding, and the two cost at most
// the charge. None of the three may be off by what a float64 is rounded to.
func TestGridsToTheLastBit(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 3))
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	all := query.NewCohort(account.Everyone, 1)
	slackest := [3]float64{}
	check := func(what string, g grid, factor, column, clip float64, d int, charge float64) {
		t.Helper()
		root := new(big.Float).Sqrt(exact(float64(d)))
		longer := exact(0x1p-20) // of rows that are rounded, and of sums in the engine
		longer.Add(longer, exact(float64(d+16)*0x1p-50)).Add(longer, exact(1)).Mul(longer, exact(clip))
		sigma := exact(math.Ldexp(1, g.bits))
		sigma.Quo(sigma, exact(g.scale))
		least := new(big.Float).Quo(root, exact(g.scale))
		least.Add(least, longer.Mul(longer, exact(factor))).Mul(least, exact(column))
		ratio := new(big.Float).Quo(least, sigma)
		cost, _ := ratio.Mul(ratio, ratio).Quo(ratio, exact(charge)).Float64()
		s, _ := new(big.Float).Quo(exact(g.sigma), sigma).Float64()
		m, _ := new(big.Float).Quo(exact(g.sensitivity), least).Float64()
		if exact(g.sigma).Cmp(sigma) > 0 || exact(g.sensitivity).Cmp(least) < 0 || cost > 1 || s < 1-0x1p-49 || m > 1+0x1p-47 {
			t.Fatalf("%s: sigma %v of the exact one, sensitivity %v of it, cost %v of the charge", what, s, m, cost)
		}
		slackest = [3]float64{max(slackest[0], 1-s), max(slackest[1], m-1), max(slackest[2], 1-cost)}
	}
	for range 2000 {
		d := 1 + r.IntN(40)
		clip, charge := math.Exp(4*r.NormFloat64()), math.Exp(3*r.NormFloat64()-4)
		for relation, factor := range map[account.Relation]float64{account.ReplaceOne: 2, account.AddOrRemove: 1} {
			q := question(t, charge, query.GradientAt(all, make([]float64, d), clip))
			g, err := newGrid(q, relation, 1000)
			if err != nil {
				t.Fatal(err)
			}
			check("a gradient", g, factor, 1, q.Clip(), d, q.Charge())
		}
		spec := query.Prefix{Factorization: query.Tree, Items: 1 + r.IntN(60), Sensitivity: clip, Charge: charge}
		if r.IntN(2) == 0 {
			spec.Factorization = query.Toeplitz
		}
		m := newMechanism(spec)
		g, err := newPrefixGrid(spec, m, account.ReplaceOne, d, 1000)
		if err != nil {
			t.Fatal(err)
		}
		shift, square := m.law()
		check("a prefix sum", g, 1, math.Ldexp(math.Sqrt(float64(square)), -shift)*(1-0x1p-52), spec.Sensitivity, d, charge)
	}
	for i, s := range slackest {
		if !(s > 0) {
			t.Errorf("number %d has no room", i)
		}
	}
}
