package nonsmooth

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestTheoremsByHand works out the parameters of Theorems 4.1 and 6.1 of Kornowski, Liu and Talwar 2024. Settings that are given take
// the place of the rules, up to the number of steps.
func TestTheoremsByHand(t *testing.T) {
	k := loss.Ramp().Constants()
	const n, mu, d = 2000., .8, 4.
	p := optimize.Problem{Shape: optimize.Shape{Features: d, Margins: 1}, Constants: k, Records: n, Mu: mu, Relation: account.ReplaceOne, Start: make([]float64, d)}
	Φ, L := k.InitialGap, k.Lipschitz
	for _, radius := range []float64{.05, .4} {
		α := radius / 2
		var g o2ncPlan
		if err := (O2NC{Oracle: MultiPass, Radius: radius}).theorem(&g, p); err != nil {
			t.Fatal(err)
		}
		near := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got/want-1) < 1e-9) {
				t.Errorf("radius %v: %s: %v: must be %v", radius, what, got, want)
			}
		}
		β := math.Cbrt(Φ * L * L * math.Pow(d, 1.5) / (n * n * mu * mu * α))
		D := α * math.Pow(min(β/L, 1), 2)
		T := math.Ceil(Φ / (D * β))
		near("step of a move", g.D, D)
		near("steps", float64(g.T), T)
		near("block", float64(g.M), min(max(math.Floor(α/D), 1), T))
		near("period", float64(g.period), min(max(math.Ceil(α/(D*2)), 1), T))
		near("curvature", g.base, L)

		if err := (O2NC{Oracle: SinglePass, Radius: radius}).theorem(&g, p); err != nil {
			t.Fatal(err)
		}
		T = n / 2
		D = min(math.Cbrt(Φ*Φ*α/(L*L*T*T*2)), math.Cbrt(Φ*Φ*α/(L*L*T*T)), math.Sqrt(Φ*α*mu/(d*L*T)), math.Pow(math.Pow(Φ/(L*T), 3)*α*α*mu/8, .2))
		near("step of a move in a single pass", g.D, D)
		Σ := min(max(math.Ceil(math.Pow(α/(mu*D), 2./3)+α/(D*2)), 1), T)
		near("period in a single pass", float64(g.period), min(Σ, math.Floor(min(T, math.Floor(n/(2*Σ-1))*Σ))))
		near("steps in a single pass", float64(g.T), math.Floor(min(T, max(math.Floor(n/(2*Σ-1)), 1)*Σ)))
		near("block in a single pass", float64(g.M), min(max(math.Floor(α/(4*D)), 1), T))
	}
	for _, c := range []struct{ steps, block, period, M, every int }{{100, 3, 5, 3, 5}, {4, 7, 2, 4, 2}, {4, 2, 9, 2, 4}} {
		var g o2ncPlan
		if err := (O2NC{Oracle: MultiPass, Radius: .4, Steps: c.steps, Block: c.block, Period: c.period}).theorem(&g, p); err != nil {
			t.Fatal(err)
		}
		if g.T != c.steps || g.M != c.M || g.period != c.every {
			t.Errorf("%+v: %d steps in blocks of %d and periods of %d", c, g.T, g.M, g.period)
		}
	}
	var g o2ncPlan
	for factor, valid := range map[float64]bool{1.99: true, 2.01: false} {
		if err := (O2NC{Oracle: MultiPass, Radius: factor * Φ / L, Steps: 10}).theorem(&g, p); (err == nil) != valid {
			t.Errorf("a radius of %v F0/L0: %v", factor, err)
		}
	}
}

// TestBoundsOfTheoremsByHand works out the bounds of Theorems 3.1, 4.1 and 6.1 at record numbers at which they are above and far
// below the Lipschitz constant. A bound in a single pass is the root of a cubic: at it the theorem needs exactly the records.
func TestBoundsOfTheoremsByHand(t *testing.T) {
	k := loss.Ramp().Constants()
	const mu, d, radius = .8, 4., .4
	Φ, L, α := k.InitialGap, k.Lipschitz, radius/2
	for _, n := range []float64{20, 2e3, 2e6, 2e12} {
		p := optimize.Problem{Shape: optimize.Shape{Features: d, Margins: 1}, Constants: k, Records: n, Mu: mu, Relation: account.ReplaceOne}
		for _, order := range []Order{FirstOrder, ZeroOrder} {
			β := O2NC{Oracle: SinglePass, Radius: radius, Order: order}.theoremBound(p)
			if needed := Φ*L*L*math.Sqrt(d)/(α*math.Pow(β, 3)) + Φ*L*d/(mu*α*β*β); !(math.Abs(needed/n-1) <= 1e-9) {
				t.Errorf("%v records, order %v: at the bound %v the theorem needs %v", n, order, β, needed)
			}
		}
		β := O2NC{Oracle: MultiPass, Radius: radius}.theoremBound(p)
		if want := math.Cbrt(math.Pow(math.Sqrt(Φ)*L*math.Pow(d, .75)/(n*mu*math.Sqrt(α)), 2)); !(math.Abs(β/want-1) <= 1e-12) {
			t.Errorf("%v records: %v with several passes: must be %v", n, β, want)
		}
	}
}

// TestSubgradientsHaveTheirNoise works out the noise and the sizes that a plan of subgradient descent states for its steps: of all
// records alike, and of disjoint cohorts, each with the whole budget, with falling sizes.
func TestSubgradientsHaveTheirNoise(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(loss.Hinge(), b, optimize.Stated(4, 5000))
	if err != nil {
		t.Fatal(err)
	}
	for _, onePass := range []bool{false, true} {
		made, err := Subgradient{Steps: 20, OnePass: onePass}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		rule, asked, charge, l0 := made.(interface{ UpdateRule() optimize.UpdateRule }).UpdateRule(), 5000., p.Charge()/20, p.Constants.Lipschitz
		if onePass {
			asked, charge = 250, p.Charge()
		}
		for step := range 20 {
			K, fresh := rule.Answer(step, 1, 1)
			want := optimize.Variance{Noise: math.Pow(2*l0/asked, 2) / charge}
			if onePass {
				want.Sampling = l0 * l0 / asked / float64(p.Dim())
				if size := rule.Eta(step) / rule.Eta(0); !(math.Abs(size-(1-float64(step)/20)) <= 1e-9) {
					t.Errorf("step %d has %v of the first size", step, size)
				}
			} else if rule.Eta(step) != rule.Eta(0) {
				t.Errorf("step %d has the size %v", step, rule.Eta(step))
			}
			if K != 1 || !(math.Abs(fresh.Noise/want.Noise-1) <= 1e-9) || !(math.Abs(fresh.Sampling-want.Sampling) <= 1e-12) {
				t.Errorf("one pass %v, step %d: %v of %+v: must be %+v", onePass, step, K, fresh, want)
			}
		}
	}
}
