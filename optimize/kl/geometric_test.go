package kl_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestNoiseFollowsTheExcess: the noise of step t must have norm 10 Phi_t^(1/kappa)/gamma, up to the common
// factor for which the charges sum to mu^2. Phi_t must be F0/c^t for kappa = 2, and otherwise fall by the
// factor c in T_k steps. The result must be the average weighted by charge. The test fails if charges grow
// by the factor c in each step, or if kappa is left out.
func TestNoiseFollowsTheExcess(t *testing.T) {
	p := optimizetest.Problems()[1]
	for _, known := range []optimize.KL{{Kappa: 2, Gamma: 3}, {Kappa: 1, Gamma: 20}, {Kappa: 4. / 3, Gamma: 20}} {
		_, o, r, public := asked(t, kl.Geometric{KL: known, StepScale: 1}, p, 20000, 0)
		w, answers, sigma := points(o, query.Gradient)
		at, average, sum := make([]float64, public.Dim()), make([]float64, public.Dim()), 0.
		q := math.Pow(1.02, 1/known.Kappa) // for norms
		phi := public.Constants.InitialGap
		for s := range w {
			if !same(w[s], at) {
				t.Fatalf("question %d is at %v: want %v", s, w[s], at)
			}
			norm := sigma[s] * math.Sqrt(float64(public.Dim()))
			if want := 10 * math.Pow(phi, 1/known.Kappa) / known.Gamma; !(norm <= want*q*(1+1e-9) && norm >= want/q*(1-1e-9)) {
				t.Fatalf("kappa %v, step %d: noise of norm %v: want %v within a factor %v", known.Kappa, s, norm, want, q)
			}
			phi /= 1 + .02*math.Pow(phi/public.Constants.InitialGap, (2-known.Kappa)/known.Kappa)
			charge := o.Asked[s].Question.Charge()
			average, sum = add(average, charge, at), sum+charge
			at = descend(public, at, answers[s], optimizetest.StepSize(public, 1))
		}
		if !same(r.W, add(make([]float64, len(at)), 1/sum, average)) {
			t.Errorf("kappa %v: the result is %v: want %v", known.Kappa, r.W, average)
		}
	}
}

// TestShortBudget: if the budget does not even pay for the noise of the first step, the run must have the
// least number of steps, 2/log(q). Over these steps charges must grow by a factor of e^2, and all charges
// must sum to mu^2.
func TestShortBudget(t *testing.T) {
	p := optimizetest.Problems()[1]
	plan, o, _, public := asked(t, kl.Geometric{KL: optimize.KL{Kappa: 2, Gamma: 1e5}}, p, 200, 0)
	if want := int(math.Ceil(2 / math.Log(1.02))); plan.Summary().Steps != want {
		t.Errorf("%d steps: want %d", plan.Summary().Steps, want)
	}
	_, charged := charges(o.Asked)
	withinBudget(t, public.Mu, charged)
}

// TestFewSteps: with a small number of steps, set by the user, the charges must sum to mu^2, although steps
// with the rule's noise would cost less. The test fails if charges are scaled down to the budget but not up
// to it.
func TestFewSteps(t *testing.T) {
	_, o, _, public := asked(t, kl.Geometric{KL: optimize.KL{Kappa: 2, Gamma: 3}, Steps: 3}, optimizetest.Problems()[1],
		20000, 0)
	if len(o.Asked) != 3 {
		t.Errorf("%d questions: want 3", len(o.Asked))
	}
	_, charged := charges(o.Asked)
	withinBudget(t, public.Mu, charged)
	plan, err := kl.Geometric{KL: optimize.KL{Kappa: 2, Gamma: 3}, Steps: 3}.Plan(ctx, public)
	if err != nil {
		t.Fatal(err)
	}
	of := func(i int) float64 { return o.Asked[i].Question.Charge() / (public.Mu * public.Mu) }
	if want := fmt.Sprintf("growing from %.3g to %.3g of mu^2; ", of(0), of(2)); !strings.HasPrefix(plan.Summary().Charges, want) || public.Mu == 1 {
		t.Errorf("%s: must begin with %q", plan.Summary().Charges, want)
	}
}

// TestManySteps: with more steps than the noise rule needs, charges must grow from the first charge and
// then stay constant, with the sum mu^2. The test fails if charges grow to the end: in a long run the
// first charges would then be too small for a query.
func TestManySteps(t *testing.T) {
	const T = 20_000
	_, o, _, public := asked(t, kl.Geometric{KL: optimize.KL{Kappa: 2, Gamma: 3}, Steps: T}, optimizetest.Problems()[1],
		20000, 0)
	_, charged := charges(o.Asked)
	withinBudget(t, public.Mu, charged)
	first, last := o.Asked[0], o.Asked[len(o.Asked)-1]
	if len(o.Asked) != T || !close(o.Asked[T/2].Question.Charge(), last.Question.Charge(), 1e-12) {
		t.Errorf("%d questions, charges of %v halfway and %v at the end", len(o.Asked), o.Asked[T/2].Question.Charge(),
			last.Question.Charge())
	}
	want := 10 * math.Sqrt(public.Constants.InitialGap) / 3
	if norm := first.Answer.Sigma * math.Sqrt(float64(public.Dim())); !(norm <= want*1.01 && norm >= want/1.01) {
		t.Errorf("the first noise has the norm %v: want %v", norm, want)
	}
}

// TestGeometricWithoutCondition: if no KL condition is stated, every step must have at least its part of a fifth of
// the budget, there must be at most as many steps as the rule of firstorder.GD chooses, and the average must have the
// weights Phi^(-2/kappa). The test fails if charges are weights: an average over early points would then be worse.
func TestGeometricWithoutCondition(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		plan, o, r, public := asked(t, kl.Geometric{}, p, 2000, 0)
		T := plan.Summary().Steps
		if most := public.StepsUpTo(optimize.RuleSteps, 4, public.StepScale()); T > most {
			t.Errorf("%s: %d steps: want at most %d", p.Name, T, most)
		}
		for i, a := range o.Asked {
			if c := a.Question.Charge(); !(c >= .2*public.Charge()/float64(T)*(1-1e-9)) {
				t.Fatalf("%s: step %d is charged %v of %v in %d steps", p.Name, i, c, public.Charge(), T)
			}
			if i > 0 && !close(r.Trace.Weights[i]/r.Trace.Weights[i-1], 1.02, 1e-9) {
				t.Fatalf("%s: weights %v: want to grow by 1.02", p.Name, r.Trace.Weights[i-1:i+1])
			}
		}
		_, charged := charges(o.Asked)
		withinBudget(t, public.Mu, charged)
	}
}

// TestShrinkCounts: with kappa 2 each weight is the stated factor times the one before, and the charges of a few steps are in
// proportion to them. The factor lies between 1 + 2^-20 and 2.
func TestShrinkCounts(t *testing.T) {
	for stated, want := range map[float64]float64{0: 1.02, 1.25: 1.25, 2: 2} {
		_, o, _, _ := asked(t, kl.Geometric{KL: optimize.KL{Kappa: 2, Gamma: 1e5}, Steps: 3, Shrink: stated}, optimizetest.Problems()[1], 200, 0)
		if got := o.Asked[1].Question.Charge() / o.Asked[0].Question.Charge(); !close(got, want, 1e-9) {
			t.Errorf("shrink %v: charges grow by %v: must by %v", stated, got, want)
		}
	}
	for shrink, sound := range map[float64]bool{1: false, 1 + 0x1p-21: false, 1 + 0x1p-20: true, 2: true, 2.001: false, -1.5: false} {
		_, err := kl.Geometric{Shrink: shrink, Steps: 3}.Plan(ctx, optimizetest.New(optimizetest.Problems()[1].Config(budget(t), 4, 5)).Problem(optimizetest.Problems()[1].Public))
		if want := fmt.Sprintf("shrink = %v: must be > 1 + 2^-20 and <= 2, or left out for 1.02", shrink); (err == nil) != sound || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("shrink %v: %v", shrink, err)
		}
	}
}
