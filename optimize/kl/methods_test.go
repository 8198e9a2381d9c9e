package kl_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestConvergesWithoutNoise: without noise every method must reach the known minimum of every shared
// problem. The test fails for a wrong sign, step or estimate.
func TestConvergesWithoutNoise(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		for _, m := range methods {
			c := p.Config(budget(t), 1_000_000, 0)
			c.Noiseless = true
			o := optimizetest.New(c)
			plan, err := m.of.Plan(ctx, o.Problem(p.Public))
			r := run(t, resolve(t, plan, err), o)
			if gap := p.Objective(r.W) - p.Minimum; !(math.Abs(gap) <= 2e-4) || !r.Complete {
				t.Errorf("%s, %s: %.2g above the minimum after %d steps, at %v: want %v", p.Name, m.name, gap, r.Steps, r.W,
					p.Minimiser)
			}
		}
	}
}

// TestWholeBudget: each plan must charge the whole budget and no more, even if its charges adapt.
func TestWholeBudget(t *testing.T) {
	for _, p := range optimizetest.Problems()[2:] {
		for _, m := range methods {
			_, o, r, public := asked(t, m.of, p, 6000, 0)
			_, charged := charges(o.Asked)
			withinBudget(t, public.Mu, charged)
			if !r.Complete || r.Steps == 0 || len(o.Asked) < r.Steps {
				t.Errorf("%s, %s: %d steps, %d questions, complete %t", p.Name, m.name, r.Steps, len(o.Asked), r.Complete)
			}
		}
	}
}

// TestStopsAndHandsBack: if a query fails, the run must end with an error that names the method, and must
// return the last point. A refusal by the privacy filter must be an error, except for methods whose charges
// adapt: for these methods a refusal is the regular end (Menart et al. 2024, Algorithm 3, line 2).
func TestStopsAndHandsBack(t *testing.T) {
	broken := errors.New("broken")
	p := optimizetest.Problems()[3]
	for _, m := range methods {
		adapts := m.name == "adaptive-gd" || m.name == "kl-spider"
		for _, stop := range []int{0, 1, 6} {
			c := p.Config(budget(t), 100, 6)
			c.Script = func(k int) error {
				if k == stop {
					return broken
				}
				return nil
			}
			o := optimizetest.New(c)
			plan, err := m.of.Plan(ctx, o.Problem(p.Public))
			r, err := resolve(t, plan, err).Run(context.Background(), o, nil)
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), m.name) || r.Complete || len(r.W) != p.Public.Dim() {
				t.Errorf("%s at %d: %+v, %v", m.name, stop, r, err)
			}
		}
		o := optimizetest.New(p.Config(budget(t), 100, 6))
		public := o.Problem(p.Public)
		public.Mu *= 1.5 // more than the budget
		plan, err := m.of.Plan(ctx, public)
		r, err := resolve(t, plan, err).Run(context.Background(), o, nil)
		var over *account.BudgetError
		if adapts != (err == nil) || adapts != r.Complete || !adapts && !errors.As(err, &over) ||
			o.Charged() > o.Size().Mu*o.Size().Mu {
			t.Errorf("%s over budget: %+v, %v, charged %v", m.name, r, err, o.Charged())
		}
	}
}

// TestRandomStrategiesKeepToTheFilter: ten thousand random strategies choose charges, points and the time
// to stop from earlier releases, and continue after refusals. No strategy may be charged more than mu^2
// (Menart et al. 2024, Theorem 3, with the filter of Koskela, Tobaben and Honkela 2022). The test fails if
// the filter admits a charge beyond the budget, or if the oracle charges after the answer.
func TestRandomStrategiesKeepToTheFilter(t *testing.T) {
	p, b := optimizetest.Problems()[0], budget(t)
	most := b.Mu() * b.Mu()
	refused, strategies := 0, 10_000
	if testing.Short() {
		strategies /= 10
	}
	for seed := range strategies {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		o := optimizetest.New(p.Config(b, 100, uint64(seed)))
		public := o.Problem(p.Public)
		public.Mu *= 1 + r.Float64()
		a := kl.Adaptive{
			Proportion: math.Exp(4 * r.NormFloat64()), NormCharge: .3 * math.Exp(-3*r.Float64()), LandingSteps: 1 + r.IntN(9),
			Landing: .01 + .98*r.Float64(), StepScale: math.Exp(r.NormFloat64()), Output: optimize.Last,
		}
		plan, err := a.Plan(ctx, public)
		result, err := resolve(t, plan, err).Run(ctx, o, nil)
		if err != nil || !result.Complete {
			t.Fatalf("%+v: %+v, %v", a, result, err)
		}
		// further queries, with charges that depend on answers, also after refusals
		stubborn := *o
		for range 2 {
			plan, err := kl.Geometric{Steps: 1 + int(8*math.Abs(result.W[0]))%7}.Plan(ctx, public)
			resolve(t, plan, err).Run(ctx, &stubborn, nil)
		}
		for _, x := range o.Asked {
			if x.Err != nil {
				refused++
			}
		}
		if c := o.Charged(); c > most {
			t.Fatalf("strategy %d: charged %v of %v", seed, c, most)
		}
	}
	if refused == 0 {
		t.Error("nothing was ever refused: the strategies are too modest")
	}
}
