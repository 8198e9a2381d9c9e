package secondorder_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestPerturbedReadsAsItsPage recomputes a run from its released answers by Ganesh et al. 2023, Algorithm
// 1: the practical rule with anchors at every q-th step, and the settings of the paper's proof with anchors
// after a path or for a perturbation. Every other query must be the gradient difference from the previous point.
// Each step must follow the sum of the anchor and the differences exactly. Only a step may deviate before which
// the estimate was small, more than Gamma steps after another such step, and in the practical rule a step with an
// anchor. The charges must sum to at most mu^2. A run by the theorem may end before its last step only where it
// needs an anchor more than the plan has. The test fails if every small estimate causes a perturbation.
func TestPerturbedReadsAsItsPage(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, theorem := range []bool{false, true} {
			c, n := secondorder.Perturbed{Gap: .5, Steps: 120, StepScale: 1, Output: optimize.Last}, 3000
			if theorem { // fewer records, and so fewer steps
				c, n = secondorder.Perturbed{Theorem: true, Output: optimize.Last}, 300
			}
			replayPerturbed(t, n, relation, c)
		}
	}
}

// TestTheoremSettlesTheRest tests that each setting that the theorem settles is refused beside it, and that others are not.
func TestTheoremSettlesTheRest(t *testing.T) {
	_, p := spikes(t, 300, account.ReplaceOne)
	for key, c := range map[string]secondorder.Perturbed{
		"gap": {Gap: .5}, "step scale": {StepScale: 1}, "period": {Period: 3}, "": {Steps: 7},
	} {
		c.Theorem, c.Output = true, optimize.Last
		plan, err := c.Plan(context.Background(), p)
		switch {
		case key == "" && (err != nil || plan.Summary().Steps != 7):
			t.Errorf("steps: %v", err)
		case key != "" && (err == nil || !strings.Contains(err.Error(), ": "+key+": must not be set beside theorem")):
			t.Errorf("%s: %v", key, err)
		}
	}
}

func replayPerturbed(t *testing.T, n int, relation account.Relation, c secondorder.Perturbed) {
	t.Helper()
	oracle, p := spikes(t, n, relation)
	plan, err := c.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	title := fmt.Sprintf("%v, theorem %v", relation, c.Theorem)
	o := &witness{Oracle: oracle}
	var steps [][]float64
	result, err := plan.Run(context.Background(), o, func(s optimize.Step) { steps = append(steps, slices.Clone(s.W)) })
	if err != nil {
		t.Fatal(err)
	}
	T := plan.Summary().Steps
	if len(o.seen) != len(steps) || len(steps) > T || len(steps) < T && !c.Theorem || !result.Complete ||
		!slices.Equal(result.W, steps[len(steps)-1]) {
		t.Fatalf("%s: %d questions, %d steps of %d", title, len(o.seen), len(steps), T)
	}
	eta, M, N := plan.Summary().StepSize, p.Smoothness(), p.Effective()
	// The practical rule: Gamma = 8/(eta gap), and q of N and the number of steps.
	gamma, q, path, limit := int(math.Ceil(8/(eta*.5))), int(min(.02*N*N/120, 120./8)), math.Inf(1), 0.
	if k := p.Constants; c.Theorem {
		a := 2 / N
		limit = math.Cbrt(k.InitialGap*k.Lipschitz*M*a*a) + k.Lipschitz*a
		path = k.Lipschitz * limit / (M * M)
		gamma, q = int(math.Ceil(M/math.Sqrt(k.HessianLipschitz*limit))), math.MaxInt
	}
	most := int(plan.Workload().Kinds[query.Gradient].Queries)
	var estimate []float64
	var first, more, drift, charged float64
	anchors, perturbed, last, small := 0, 0, -gamma-1, false
	w, before := make([]float64, p.Dim()), []float64(nil)
	due := func(k int) bool { return k%q == 0 || drift >= path }
	for k, r := range o.seen {
		charged += r.answer.Charge
		if before != nil {
			drift += math.Pow(optimize.Apart(w, before), 2)
		}
		if !optimizetest.Same(r.term.Point(), w) {
			t.Fatalf("%s, step %d: asked at %v: want %v", title, k, r.term.Point(), w)
		}
		if due(k) != (r.term.Kind() == query.Gradient) {
			t.Fatalf("%s, step %d: a %v after moves of %v on %v, small %v", title, k, r.term.Kind(), drift, path, small)
		}
		switch r.term.Kind() {
		case query.Gradient:
			estimate, first, more, drift = slices.Clone(r.answer.Mean), r.answer.Sigma*r.answer.Sigma, 0, 0
			anchors++
		case query.Difference:
			if !optimizetest.Same(r.term.Previous(), before) {
				t.Fatalf("%s, step %d: a difference from %v: want %v", title, k, r.term.Previous(), before)
			}
			estimate = optimizetest.Add(estimate, 1, r.answer.Mean)
			more += r.answer.Sigma * r.answer.Sigma
		}
		along := optimizetest.Descend(p, w, estimate, eta)
		if small && k-last > gamma && (c.Theorem || r.term.Kind() == query.Gradient) {
			// The norm of zeta is outside these limits with probability 1e-9, and the seed is
			// fixed.
			moved := optimize.Apart(along, steps[k]) / (eta * math.Sqrt(first))
			if !(moved > .01 && moved < 10) {
				t.Fatalf("%s, step %d: perturbed by %v times an anchor's noise a coordinate", title, k, moved)
			}
			perturbed, last = perturbed+1, k
		} else if !optimizetest.Same(steps[k], along) {
			t.Fatalf("%s, step %d: leads to %v, want %v", title, k, steps[k], along)
		}
		full := slices.Clone(estimate)
		p.AddRegularizer(full, w)
		small = optimize.Norm(full) <= max(limit, 1.5*math.Sqrt(float64(len(full))*(first+more)))
		if c.Theorem {
			small = optimize.Norm(full) <= limit
		}
		w, before = steps[k], w
	}
	drift += math.Pow(optimize.Apart(w, before), 2)
	if perturbed == 0 || anchors > most || anchors == len(steps) || !(charged <= p.Mu*p.Mu) {
		t.Errorf("%s: %d perturbations, %d anchors of %d, charged %v of %v", title, perturbed, anchors, most, charged,
			p.Mu*p.Mu)
	}
	if len(steps) < T && (anchors < most || !due(len(steps))) {
		t.Errorf("%s: %d steps of %d, %d anchors of %d", title, len(steps), T, anchors, most)
	}
}

// TestPerturbedTheorem compares plans with the proof for all records, without logarithms. The number of steps is
// F0 L1/alpha^2 for the accuracy alpha = (F0 L0 L1 a^2)^(1/3) + L0 a, where a = 2 sqrt(d)/(n mu), so that alpha
// falls like n^(-2/3). An anchor's noise has the norm alpha, up to the factor 2 for the budget's half and what
// rounding the number of anchors up adds. The test fails if a is the noise of one record.
func TestPerturbedTheorem(t *testing.T) {
	_, p := spikes(t, 3000, account.ReplaceOne)
	var before float64
	for _, n := range []float64{3000, 30_000} {
		p.Records = n
		plan, err := secondorder.Perturbed{Theorem: true}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		s, k := plan.Summary(), p.Constants
		a := 2 * math.Sqrt(float64(p.Dim())) / (n * p.Mu)
		alpha := math.Cbrt(k.InitialGap*k.Lipschitz*p.Smoothness()*a*a) + k.Lipschitz*a
		if want := math.Ceil(k.InitialGap * p.Smoothness() / (alpha * alpha)); float64(s.Steps) != want ||
			!strings.HasPrefix(s.Output, "random") || s.StepSize*p.Smoothness() != 1 {
			t.Errorf("n = %v: %+v: want %v steps of size 1/L1 and a random result", n, s, want)
		}
		if exponent := math.Log10(float64(s.Steps) / max(before, 1)); before > 0 && !(math.Abs(exponent-4./3) <= .1) {
			t.Errorf("n = %v: %d steps after %v: the exponent is %v", n, s.Steps, before, exponent)
		}
		before = float64(s.Steps)
		anchors := plan.Workload().Kinds[query.Gradient].Queries
		if ratio := k.Lipschitz * a * math.Sqrt(2*anchors) / alpha; !(ratio > 1 && ratio < 2) {
			t.Errorf("n = %v: %v anchors, whose noise has %v times the norm of the accuracy %v", n, anchors, ratio, alpha)
		}
	}
	p.Constants.HessianLipschitz = math.Inf(1)
	if _, err := (secondorder.Perturbed{Theorem: true}).Plan(t.Context(), p); err == nil {
		t.Error("accepted for a loss whose Hessian has no Lipschitz constant")
	}
}

// TestPerturbedRefuses: the error for each invalid setting must name the field, its value and its limits.
func TestPerturbedRefuses(t *testing.T) {
	_, p := spikes(t, 100, account.ReplaceOne)
	for want, c := range map[string]secondorder.Perturbed{
		"perturbed-gd: gap = -1: must be finite and > 0": {Gap: -1},
		"perturbed-gd: step scale = NaN: must be finite": {StepScale: math.NaN()},
		"perturbed-gd: steps = -1: must be between 1":    {Steps: -1},
		"perturbed-gd: period = -1: must be between 1":   {Period: -1},
		"perturbed-gd: gap: must not be set beside":      {Theorem: true, Gap: .1},
		"ball fraction = 2":                              {Ball: optimize.DifferenceBall{Fraction: 2}},
	} {
		if _, err := c.Plan(context.Background(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v: want %q", c, err, want)
		}
	}
}

// TestPerturbedStatesTheScaleOfTheoremC1 works out the scales of Liu and Talwar 2025, Theorem C.1, by hand from the
// public numbers. The test fails if the words of the plan have other numbers.
func TestPerturbedStatesTheScaleOfTheoremC1(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []float64{1e4, 4e4, 1e6} {
		p, err := optimize.NewProblem(loss.Tanh(), b, optimize.Stated(50, n))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := secondorder.Perturbed{}.Plan(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		c := p.Constants
		M := max(-c.Curvature.Lo, c.Curvature.Hi)
		r := min(c.Lipschitz/M, M/c.HessianLipschitz) * math.Sqrt(50/n)
		s := math.Sqrt(50 / n * math.Log(math.Sqrt(50)/(.01*r)))
		want := fmt.Sprintf("the gradient is longer by about %.2g at most, and an eigenvalue of the Hessian lower by %.2g",
			c.Lipschitz*s, M*s)
		if got := plan.Summary().Charges; !strings.HasSuffix(got, want) {
			t.Errorf("n = %v: %q: want %q", n, got, want)
		}
	}
}
