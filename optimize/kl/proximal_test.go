package kl_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestProximalIsAlgorithm2 recomputes a run by Menart et al. 2024, Algorithms 2 and 4. Every round must
// descend F + L~ ||w - w_{t-1}||^2 from w_{t-1} with steps 1/(L~ s), projected on a ball around w_{t-1}.
// The result of a round must be the average, with weights s, of the points at which its steps s end. All
// charges must be equal. The test fails for half of the proximal term, for a centre that does not move, and
// if step sizes do not start again in each round.
func TestProximalIsAlgorithm2(t *testing.T) {
	const rounds, K, lambda = 3, 7, .3
	for _, p := range optimizetest.Problems() {
		_, o, r, public := asked(t, kl.Proximal{Rounds: rounds, Steps: K, Lambda: lambda, Theorem: true}, p, 600, 0)
		w, answers, sigma := points(o, query.Gradient)
		at, centre, i, outside := public.StartPoint(), public.StartPoint(), 0, 0
		for range rounds {
			average := make([]float64, len(at))
			about := make([]float64, len(at))
			public.AddRegularizer(about, centre)
			radius := (public.Constants.Lipschitz + length(about)) / (2 * lambda)
			if public.Regularizer != nil {
				radius = (public.Constants.Lipschitz + length(about)) / (2*lambda + .05)
			}
			for s := 1; s <= K; s++ {
				if !same(w[i], at) {
					t.Fatalf("%s: question %d is at %v: want %v", p.Name, i, w[i], at)
				}
				g := add(answers[i], 2*lambda, add(at, -1, centre))
				at = descend(public, at, g, 1/(lambda*float64(s)))
				if away := add(at, -1, centre); length(away) > radius {
					at = add(centre, radius/length(away), away)
					outside++
				}
				average = add(average, 2*float64(s)/(K*(K+1)), at)
				if want := 2 * public.Constants.Lipschitz / public.Records * math.Sqrt(rounds*K) / public.Mu; !close(sigma[i], want,
					1e-8) {
					t.Errorf("%s: noise %v: want %v", p.Name, sigma[i], want)
				}
				i++
			}
			at, centre = average, average
		}
		if i != len(w) || !same(r.W, at) {
			t.Errorf("%s: %d of %d questions, result %v: want %v", p.Name, i, len(w), r.W, at)
		}
		if len(r.Trace.Rounds) != rounds || len(r.Trace.Weights) != rounds*K+1 {
			t.Errorf("%s: the law has rounds %v and %d weights", p.Name, r.Trace.Rounds, len(r.Trace.Weights))
		}
	}
}

// TestTheorem2Settings: the number of rounds must be T = (1 + 32 F0^((kappa-2)/kappa) gamma^2 L~)(log
// F0 + kappa log(n sqrt(rho)/(gamma L0 sqrt(d)))), where L~ is the objective's weak convexity if it is
// positive. The test fails for the wrong sign of the exponent or a missing sqrt(d).
func TestTheorem2Settings(t *testing.T) {
	p := optimizetest.Problems()[3] // tanh: its curvature is at least -.77; the regularizer adds .05
	o := optimizetest.New(p.Config(budget(t), 1000, 5))
	public := o.Problem(p.Public)
	known := optimize.KL{Kappa: 3, Gamma: .9}
	plan, err := kl.Proximal{KL: known, Theorem: true, Steps: 2}.Plan(ctx, public)
	got := resolve(t, plan, err).Summary()
	weak := -(public.Constants.Curvature.Lo + .05)
	rho, F0 := public.Mu*public.Mu/2, public.Constants.InitialGap
	T := math.Ceil((1 + 32*math.Cbrt(F0)*known.Gamma*known.Gamma*weak) *
		(math.Log(F0) +
			known.Kappa*math.Log(public.Records*math.Sqrt(rho)/(known.Gamma*public.Constants.Lipschitz*math.Sqrt(float64(public.Dim()))))))
	if got.Steps != 2*int(T) || !close(got.StepSize, 1/weak, 1e-12) {
		t.Errorf("%d steps from %v: want %v rounds of two from %v", got.Steps, got.StepSize, T, 1/weak)
	}
}

// TestProximalArrives: the default must come as near to the minimum as noise allows, whatever the number of records.
// On the quadratics and the logistic problem the excess risk must be at most ten times (gamma r)^2, where r is the
// noise level, with ten thousand and with a million records. The test fails for a number of rounds that does not grow
// with the number of records.
func TestProximalArrives(t *testing.T) {
	for i, curvature := range []float64{1, .05, .02} { // the last a bound on the path to the minimum
		p := optimizetest.Problems()[i]
		known := optimize.KL{Kappa: 2, Gamma: 1 / math.Sqrt(2*curvature)}
		for _, records := range []int{10_000, 1_000_000} {
			_, _, r, public := asked(t, kl.Proximal{KL: known}, p, records, 0)
			noise := known.Gamma * public.Floor()
			if excess := p.Objective(r.W) - p.Minimum; !(excess <= 10*noise*noise) {
				t.Errorf("%s, %d records: excess risk %v: want at most %v", p.Name, records, excess, 10*noise*noise)
			}
		}
	}
}

// TestProximalRule: without settings the last round must have half of the steps and of the budget, L~ must be at most
// L1/(16 h) unless 1/(4 gamma^2) is larger, and each round must have at least 8 steps.
func TestProximalRule(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		plan, o, _, public := asked(t, kl.Proximal{KL: optimize.KL{Kappa: 2, Gamma: 5}, StepScale: 1}, p, 6000, 0)
		T, words := plan.Summary().Steps, plan.Summary().Charges
		var rounds, count int
		if _, err := fmt.Sscanf(words, "%d rounds, of which the last has %d steps", &rounds, &count); err != nil {
			t.Fatal(words, err)
		}
		sum, last := 0., 0.
		for i := range T {
			c := o.Asked[i].Question.Charge()
			if sum += c; i >= T-count {
				last += c
			}
		}
		lambda := max(min(-public.Constants.Curvature.Lo, public.Smoothness()/16), .01)
		if r := public.Regularizer; r != nil {
			lambda = max(min(-public.Constants.Curvature.Lo-r.Convexity(), public.Smoothness()/16), .01)
		}
		if !close(last, sum/2, 1e-6) || count != public.GradientSteps(4, 1)/2 {
			t.Errorf("%s: the last %d of %d steps have %v of the charge %v", p.Name, count, T, last, sum)
		}
		if want := fmt.Sprintf("L~ = %.3g,", lambda); !strings.Contains(words, want) {
			t.Errorf("%s: %s: want %s", p.Name, words, want)
		}
		if rounds < 2 || (T-count)/(rounds-1) < 8 {
			t.Errorf("%s: %s: %d steps", p.Name, words, T)
		}
	}
}

// TestProximalOfANonconvexRegularizer: a default L~ below half of the regularizer's weak convexity bounds no ball around a
// round's minimiser. The run must then make its steps and end below its start, by each solver, and so must a run with a
// stated L~. The test fails if a ball of negative radius ends the run after its first charge.
func TestProximalOfANonconvexRegularizer(t *testing.T) {
	p := optimizetest.Problems()[3]
	var err error
	if p.Public.Regularizer, err = loss.Nonconvex(.01); err != nil {
		t.Fatal(err)
	}
	start := p.Objective(make([]float64, p.Public.Dim()))
	for inner := kl.Inner(0); inner <= 3; inner++ {
		for _, c := range []kl.Proximal{{}, {Lambda: 1e-3}} {
			c.Inner, c.KL = inner, optimize.KL{Kappa: 2, Gamma: 30}
			plan, _, r, public := asked(t, c, p, 1_000_000, 0)
			if strong := 2*.01/4 + public.Regularizer.Convexity(); strong > 0 {
				t.Fatalf("the regularizer's convexity is %v", public.Regularizer.Convexity())
			}
			if !r.Complete || r.Steps != plan.Summary().Steps || !(p.Objective(r.W) < start) {
				t.Errorf("%+v: complete %t, %d steps, from %v to %v", c, r.Complete, r.Steps, start, p.Objective(r.W))
			}
		}
	}
}
