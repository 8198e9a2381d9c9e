package kl_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestInnerSolversMakeProximalSteps: without noise each solver must come to the point that three exact proximal steps
// lead to, w_t = argmin F + L~ ||w - w_{t-1}||^2, which this test finds by gradient descent (Menart et al. 2024, Algorithm
// 2). The charges must be the whole budget, half of it in the last round, and steps must be counted through. The test
// fails for half of the proximal term, for a centre that does not move, for rounds of equal shares, and if the problem's
// regularizer is lost.
func TestInnerSolversMakeProximalSteps(t *testing.T) {
	const rounds, K, lambda = 3, 400, .3
	for i, p := range optimizetest.Problems() {
		for inner := kl.Inner(1); inner <= 3; inner++ {
			config := p.Config(budget(t), 3, 5)
			config.Noiseless = true
			o := optimizetest.New(config)
			public := o.Problem(p.Public)
			c := kl.Proximal{Inner: inner, Rounds: rounds, Steps: K, Lambda: lambda, StepScale: 1, KL: optimize.KL{Kappa: 2,
				Gamma: 5}}
			plan, err := c.Plan(ctx, public)
			if err != nil {
				t.Fatalf("%s, %v: %v", p.Name, inner, err)
			}
			var steps []optimize.Step
			r, err := plan.Run(ctx, o, func(s optimize.Step) { steps = append(steps, s) })
			if err != nil {
				t.Fatalf("%s, %v: %v", p.Name, inner, err)
			}
			want := public.StartPoint()
			for range rounds {
				centre := want
				for range 4000 {
					g := add(p.Gradient(want), 2*lambda, add(want, -1, centre))
					want = add(want, -1/(public.Smoothness()+2*lambda), g)
				}
			}
			if away := length(add(r.W, -1, want)); away > 1e-3 && (i < 3 || away > .02) {
				t.Errorf("%s, %v: %v from three proximal steps %v", p.Name, inner, away, want)
			}
			offered, _ := charges(o.Asked)
			withinBudget(t, public.Mu, offered)
			var last float64
			for _, m := range offered[len(offered)-K:] {
				last += m
			}
			if got := last / (public.Mu * public.Mu); !(math.Abs(got-.5) <= 1e-6) {
				t.Errorf("%s, %v: the last round has %v of the budget", p.Name, inner, got)
			}
			if n := len(steps); n != rounds*K || steps[n-1].Number != n || steps[n-1].Of != n || r.Steps != n ||
				plan.Summary().Steps != n || !plan.Properties().Restarted || r.Trace.Steps() != n || len(r.Trace.Rounds) != rounds ||
				!close(steps[n-1].Charged, public.Charge(), 1e-6) {
				t.Errorf("%s, %v: %d steps of %d, rounds %v", p.Name, inner, n, r.Steps, r.Trace.Rounds)
			}
		}
	}
	p := optimizetest.Problems()[0]
	public := optimizetest.New(p.Config(budget(t), 3, 5)).Problem(p.Public)
	for _, c := range []kl.Proximal{{Inner: 9}, {Inner: 1, Theorem: true}, {Inner: 2, Output: optimize.Smallest}} {
		if _, err := c.Plan(ctx, public); err == nil || !strings.Contains(err.Error(), "inner = ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
