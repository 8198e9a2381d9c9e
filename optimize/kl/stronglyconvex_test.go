package kl_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestStronglyConvexIsAlgorithm4 recomputes a run by Menart et al. 2024, Algorithm 4. With the
// theorem's steps every iterate must be the last iterate minus the answer divided by lambda t,
// projected on the ball of radius L0/m around the regularizer's minimum. The result must be 2/(T(T+1))
// sum t w_t, and every answer must have the noise of the charge mu^2/T. The test fails for steps
// counted from 0 or 2, for equal weights, without the ball, or for the paper's doubled noise.
func TestStronglyConvexIsAlgorithm4(t *testing.T) {
	const T = 17
	for _, p := range []optimizetest.Problem{optimizetest.Problems()[0], optimizetest.Problems()[3]} {
		const lambda = .004
		_, o, r, public := asked(t, kl.StronglyConvex{Theorem: true, Lambda: lambda, Steps: T}, p, 600, 0)
		w, answers, sigma := points(o, query.Gradient)
		at, average := make([]float64, public.Dim()), make([]float64, public.Dim())
		l0, ended := public.Constants.Lipschitz, false
		for s := range w {
			if !same(w[s], at) {
				t.Fatalf("%s: question %d is at %v: want %v", p.Name, s, w[s], at)
			}
			average = add(average, 2*float64(s+1)/(T*(T+1)), at)
			at = descend(public, at, answers[s], 1/(lambda*float64(s+1)))
			if p.Public.Regularizer != nil { // l2(.05)
				if most := l0 / .05; length(at) > most {
					at, ended = add(make([]float64, len(at)), most/length(at), at), true
				}
			}
			if want := 2 * l0 / public.Records * math.Sqrt(T) / public.Mu; !close(sigma[s], want, 1e-8) {
				t.Errorf("%s: noise %v: want %v", p.Name, sigma[s], want)
			}
		}
		if len(w) != T || !same(r.W, average) {
			t.Errorf("%s: %d questions, result %v: want %d, %v", p.Name, len(w), r.W, T, average)
		}
		if p.Public.Regularizer != nil && !ended {
			t.Error("the first step, of 250, must leave the ball")
		}
	}
}

// TestTheorem9 compares the mean excess risk with its exact value on a loss of curvature 1 in every
// direction. There w_{t+1} - w* is minus the mean of t noise vectors. With r the noise level, the
// expected excess risk is (r^2/2) T sum_s (sum_{t>s} 2t/((t-1) T(T+1)))^2, which is O(r^2 log T), the
// rate of Theorem 9 (Menart et al. 2024). The mean over 400 runs is a sum of 400 d squares of normals,
// within Deviation(400) of its expectation except with probability 1e-6. The test fails for steps twice
// as long or equal weights.
func TestTheorem9(t *testing.T) {
	const T, runs = 40, 400
	p := optimizetest.Problems()[0]
	var mean, floor float64
	for seed := range runs {
		o := optimizetest.New(p.Config(budget(t), 50_000, uint64(seed)))
		public := o.Problem(p.Public)
		plan, err := kl.StronglyConvex{Theorem: true, Lambda: 1, Steps: T}.Plan(ctx, public)
		r := run(t, resolve(t, plan, err), o)
		mean += (p.Objective(r.W) - p.Minimum) / runs
		floor = public.Floor()
	}
	var squares float64
	for s := 1; s < T; s++ {
		var reach float64
		for u := s + 1; u <= T; u++ {
			reach += 2 * float64(u) / (float64(u-1) * T * (T + 1))
		}
		squares += reach * reach
	}
	// The first point is the starting point, with weight 2/(T(T+1)).
	start := p.Objective(make([]float64, p.Public.Dim())) - p.Minimum
	want := floor*floor/2*T*squares + start*math.Pow(2./(T*(T+1)), 2)
	if !close(mean, want, optimizetest.Deviation(runs)) {
		t.Errorf("excess risk %.4g: want %.4g", mean, want)
	}
	if bound := 4 * floor * floor * math.Log(T); want > bound {
		t.Errorf("%v is not within the theorem's %v", want, bound)
	}
}

// TestModulus: lambda must be the objective's known modulus of strong convexity. If none is known, it must
// be the modulus that a KL condition with kappa = 2 implies, and without this condition the smallest
// curvature that forecasts assume. The test reads lambda from the first step size.
func TestModulus(t *testing.T) {
	p := optimizetest.Problems()[1]
	o := optimizetest.New(p.Config(budget(t), 100, 1))
	public := o.Problem(p.Public)
	strong := public
	strong.Regularizer = optimizetest.L2(t, .5)
	steep := public
	steep.KL = optimize.KL{Kappa: 2, Gamma: .5} // modulus 2
	for want, q := range map[float64]optimize.Problem{1: public, .5: strong, 2: steep} {
		got, err := kl.StronglyConvex{Theorem: true, Steps: 3}.Plan(ctx, q)
		if step := resolve(t, got, err).Summary().StepSize; !close(step, 1/want, 1e-12) {
			t.Errorf("first step %v: want 1/%v", step, want)
		}
	}
}
