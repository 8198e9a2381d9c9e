package kl_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestAdaptiveIsAlgorithm3 recomputes a run by Menart et al. 2024, Algorithm 3. A step must release the
// norm N of the gradient, regularizer included, and then a gradient with sigma = N/sqrt(k d). The
// gradient's charge must fit the rest of the adaptive part's budget and be at least an eighth of the norm's
// charge. In the landing (the final gradient descent), charges must be proportional to t, and so must the
// weights in the average over the later half. The test fails if the norm leaves out the regularizer, if the
// noise has d in place of sqrt(d), or if the average is over all steps.
func TestAdaptiveIsAlgorithm3(t *testing.T) {
	const k, norm, landing, share, h = 3, .004, 20, .6, .5
	for _, p := range optimizetest.Problems() {
		a := kl.Adaptive{Proportion: k, NormCharge: norm, Landing: share, LandingSteps: landing, StepScale: h}
		_, o, r, public := asked(t, a, p, 6000, 0)
		whole, d := public.Charge(), float64(public.Dim())
		at, average := make([]float64, public.Dim()), make([]float64, public.Dim())
		var charged, weights float64
		landed := 0
		for i := 0; i < len(o.Asked); i++ {
			x := o.Asked[i]
			term := x.Question.Terms()[0]
			if !same(term.Point(), at) {
				t.Fatalf("%s: question %d is at %v: want %v", p.Name, i, term.Point(), at)
			}
			if term.Kind() == query.Norm {
				shift := make([]float64, public.Dim())
				public.AddRegularizer(shift, at)
				if !same(term.Shift(), shift) || !close(x.Question.Charge(), norm*whole, 1e-9) || landed > 0 {
					t.Fatalf("%s: a norm of charge %v with shift %v: want %v, %v", p.Name, x.Question.Charge(), term.Shift(),
						norm*whole, shift)
				}
				charged += x.Answer.Charge
				left := (1-share)*whole - charged
				N := math.Max(x.Answer.Mean[0], 0)
				sigma := N / math.Sqrt(k*d)
				want := math.Pow(2*public.Constants.Lipschitz/(public.Records*sigma), 2)
				if want >= left { // the landing begins
					continue
				}
				i++
				got := o.Asked[i].Question.Charge()
				if want = math.Max(want, norm*whole/8); !close(got, want, 1e-6) ||
					o.Asked[i].Question.Terms()[0].Kind() != query.Gradient {
					t.Fatalf("%s: after norm %v a charge of %v: want %v of the %v left", p.Name, N, got, want, left)
				}
			} else {
				// share of the rest of the budget: landed/(landed + ... + landing), where landed is the step's number
				landed++
				rest := float64(landing*(landing+1)-landed*(landed-1)) / 2
				if want := (whole - charged) * float64(landed) / rest; !close(x.Question.Charge(), want, 1e-6) {
					t.Fatalf("%s: landing step %d is charged %v: want %v", p.Name, landed, x.Question.Charge(), want)
				}
				if 2*landed >= landing {
					average, weights = add(average, float64(landed), at), weights+float64(landed)
				}
			}
			charged += o.Asked[i].Answer.Charge
			at = descend(public, at, o.Asked[i].Answer.Mean, optimizetest.StepSize(public, h))
		}
		if want := add(make([]float64, len(at)), 1/weights, average); landed != landing || !same(r.W, want) {
			t.Errorf("%s: %d landing steps, result %v: want %d, %v", p.Name, landed, r.W, landing, want)
		}
	}
}

// TestTheorem4Settings: the run must have the constants of Theorem 4 (Menart et al. 2024), no landing, and
// the last iterate as its result, and the last query must be charged the rest of the budget. The test fails
// if the norm of the paper's line 3 has the noise of a vector, or if line 6 charges only half.
func TestTheorem4Settings(t *testing.T) {
	p := optimizetest.Problems()[2]
	_, o, r, public := asked(t, kl.Adaptive{Theorem: true, Failure: .1}, p, 600_000, 0)
	rho := public.Mu * public.Mu / 2
	n, l0, d := public.Records, public.Constants.Lipschitz, float64(public.Dim())
	last := make([]float64, public.Dim())
	for i := 0; i+1 < len(o.Asked); i += 2 {
		norm, gradient := o.Asked[i], o.Asked[i+1]
		if want := l0 / (math.Sqrt(n) * math.Pow(rho, .25)); !close(norm.Answer.Sigma, want, 1e-6) {
			t.Fatalf("norm's noise %v: want %v", norm.Answer.Sigma, want)
		}
		// mu n/sqrt(2) is n sqrt(rho)
		want := norm.Answer.Mean[0] / math.Sqrt(d*math.Log(n*math.Sqrt(rho)/.1))
		cheapest := 2 * l0 / n / math.Sqrt(norm.Question.Charge()/8)
		if i+2 < len(o.Asked) && !close(gradient.Answer.Sigma, min(want, cheapest), 1e-6) {
			t.Fatalf("noise %v after norm %v: want %v", gradient.Answer.Sigma, norm.Answer.Mean[0], want)
		}
		last = descend(public, gradient.Question.Terms()[0].Point(), gradient.Answer.Mean, .5/public.Smoothness())
	}
	if !same(r.W, last) || len(o.Asked) < 10 {
		t.Errorf("result %v after %d questions: want %v", r.W, len(o.Asked), last)
	}
	_, charged := charges(o.Asked)
	withinBudget(t, public.Mu, charged)
}

// TestSmallestByReleasedNorm: with output smallest and no landing, the result must be the point with
// the smallest released norm, not the point with the smallest noisy gradient.
func TestSmallestByReleasedNorm(t *testing.T) {
	p := optimizetest.Problems()[1]
	_, o, r, _ := asked(t, kl.Adaptive{Theorem: true, Proportion: .05, Output: optimize.Smallest}, p, 600_000, 0)
	w, norms, _ := points(o, query.Norm)
	best, noisier := 0, false
	for i := range w {
		if norms[i][0] > 0 && norms[i][0] < norms[best][0] {
			best = i
		}
	}
	_, estimates, _ := points(o, query.Gradient)
	for i := range estimates {
		if length(estimates[i]) < length(estimates[best]) && !same(w[i], w[best]) {
			noisier = true
		}
	}
	if !noisier {
		t.Error("the least estimate is where the least norm is: nothing is tested")
	}
	if !same(r.W, w[best]) {
		t.Errorf("result %v: want %v, of norm %v", r.W, w[best], norms[best])
	}
}
