package secondorder_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestPerturbedReadsAsItsPage recomputes a run from its released answers by Ganesh et al. 2023, Algorithm
// 1. The first query must be a gradient (anchor). A later query must be an anchor if the differences since
// the last anchor have together at least the anchor's noise variance, or if a perturbation is due. Every
// other query must be the gradient difference from the previous point. Each step must follow the sum of the
// anchor and the differences exactly. Only a step after an anchor that a perturbation required may deviate,
// and such anchors must be more than Gamma steps apart. The charges must sum to at most mu^2. The test
// fails if every small estimate causes a perturbation.
func TestPerturbedReadsAsItsPage(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		oracle, p := spikes(t, 3000, relation)
		plan, err := secondorder.Perturbed{Gap: .5, Steps: 120, StepScale: 1}.Plan(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		o := &witness{Oracle: oracle}
		var steps [][]float64
		result, err := plan.Run(context.Background(), o, func(s optimize.Step) { steps = append(steps, slices.Clone(s.W)) })
		if err != nil {
			t.Fatal(err)
		}
		if len(o.seen) != 120 || len(steps) != 120 || !slices.Equal(result.W, steps[119]) {
			t.Fatalf("%v: %d questions, %d steps", relation, len(o.seen), len(steps))
		}
		eta := plan.Summary().StepSize
		gamma := int(math.Ceil(8 / (eta * .5)))
		var estimate []float64
		var first, drift, charged float64
		anchors, perturbed, last, small := 0, 0, -gamma-1, false
		w, before := make([]float64, p.Dim()), []float64(nil)
		for k, r := range o.seen {
			charged += r.answer.Charge
			if !optimizetest.Same(r.term.Point(), w) {
				t.Fatalf("%v, step %d: asked at %v: want %v", relation, k, r.term.Point(), w)
			}
			due := k == 0 || drift >= first || small && k-last > gamma
			if anchors < 8 && due != (r.term.Kind() == query.Gradient) {
				t.Fatalf("%v, step %d: a %v after differences of variance %v on %v, small %v", relation, k, r.term.Kind(), drift,
					first, small)
			}
			switch r.term.Kind() {
			case query.Gradient:
				estimate, first, drift = slices.Clone(r.answer.Mean), r.answer.Sigma*r.answer.Sigma, 0
				anchors++
			case query.Difference:
				if !optimizetest.Same(r.term.Previous(), before) {
					t.Fatalf("%v, step %d: a difference from %v: want %v", relation, k, r.term.Previous(), before)
				}
				estimate = optimizetest.Add(estimate, 1, r.answer.Mean)
				drift += r.answer.Sigma * r.answer.Sigma
			}
			along := optimizetest.Descend(p, w, estimate, eta)
			if small && k-last > gamma && r.term.Kind() == query.Gradient {
				// The norm of zeta is outside these limits with probability 1e-9, and the seed is
				// fixed.
				moved := optimize.Apart(along, steps[k]) / (eta * r.answer.Sigma)
				if !(moved > .01 && moved < 10) {
					t.Fatalf("%v, step %d: perturbed by %v times an anchor's noise a coordinate", relation, k, moved)
				}
				perturbed, last = perturbed+1, k
			} else if !optimizetest.Same(steps[k], along) {
				t.Fatalf("%v, step %d: leads to %v, want %v", relation, k, steps[k], along)
			}
			full := slices.Clone(estimate)
			p.AddRegularizer(full, w)
			small = optimize.Norm(full) <= 1.5*math.Sqrt(float64(len(full))*(first+drift))
			w, before = steps[k], w
		}
		if perturbed == 0 || anchors > 8 || anchors == 120 || !(charged <= p.Mu*p.Mu) {
			t.Errorf("%v: %d perturbations, %d anchors, charged %v of %v", relation, perturbed, anchors, charged, p.Mu*p.Mu)
		}
	}
}

// TestPerturbedRefuses: the error for each invalid setting must name the field, its value and its limits.
func TestPerturbedRefuses(t *testing.T) {
	_, p := spikes(t, 100, account.ReplaceOne)
	for want, c := range map[string]secondorder.Perturbed{
		"perturbed-gd: gap = -1: must be finite and > 0": {Gap: -1},
		"perturbed-gd: step scale = NaN: must be finite": {StepScale: math.NaN()},
		"perturbed-gd: steps = -1: must be between 0":    {Steps: -1},
		"ball fraction = 2":                              {Ball: optimize.DifferenceBall{Fraction: 2}},
	} {
		if _, err := c.Plan(context.Background(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v: want %q", c, err, want)
		}
	}
}
