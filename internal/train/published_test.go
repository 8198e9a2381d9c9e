package train

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestIntervalsKeepTheFit tests a fit with confidence intervals: the comparison with the best
// constant must not replace its weights, since the intervals belong to them.
func TestIntervalsKeepTheFit(t *testing.T) {
	for _, asked := range []*Inference{nil, {Level: .9}} {
		c := config(t, 4000)
		c.Inference = asked
		if asked != nil {
			c.Train.Algorithm, c.Train.Settings = "", nil
			c.Model.Regularizer, c.Model.Radius = "", 0
		}
		p, err := c.prepare(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if k := p.planned.Compare; k == nil || k.Keep != (asked != nil) {
			t.Errorf("intervals %v: comparison %+v", asked, k)
		}
		p.close()
	}
}

// TestPlansSayWhatFollowsFromTheBaseRate: a plan announces that steps and charges follow from it, and of a metric for classes and
// counts the clip, which is larger for a rare class.
func TestPlansSayWhatFollowsFromTheBaseRate(t *testing.T) {
	const usual, classes = "Steps and charges follow from it", `classes: ["0", "1"]`
	three := []string{classes, `classes: ["0", "1", "2"]`, "loss: logistic", "loss: softmax"}
	for want, changes := range map[string][][]string{
		usual + ", and for a class of less than 24% of the rows a larger clip of gradients": {nil},
		usual: {{"relation: replace-one}", "relation: replace-one}\ntrain: {algorithm: gd}"}, {classes, "number: [0, 1]", "loss: logistic", "loss: huber(0.1)"}},
		"Steps, charges and the clip of gradients follow from it": {three, {classes, "number: [0, 9]", "loss: logistic", "loss: poisson(1)"}},
	} {
		for _, change := range changes {
			p, err := config(t, 20_000, change...).Plan(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Follows(); got != want || p.Base == nil {
				t.Errorf("%q, %s: %q: must be %q", change, p.Summary.Algorithm, got, want)
			}
		}
	}
}

// TestPlansSayWhatTheComparisonDecides tests that a plan announces the publication rule that applies to its
// fit. A fit moves toward the constant only if Compared.Decide does so for the plan's objective.
func TestPlansSayWhatTheComparisonDecides(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		convex  bool
	}{
		"logistic": {nil, true},
		"tanh":     {[]string{"loss: logistic", "loss: tanh"}, false},
		"penalty":  {[]string{"loss: logistic", "loss: logistic, regularizer: nonconvex(0.1)"}, false},
	} {
		conf := config(t, 20_000, c.changes...)
		p, err := conf.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		problem, _, err := conf.Problem(p.Budget, p.Records)
		if err != nil {
			t.Fatal(err)
		}
		unclear := optimize.Compared{Difference: .015, Sigma: .01}
		unclear.Decide(problem.Convex(), 0, 0)
		says := strings.Contains(p.Decides(), "moves toward the constant")
		if problem.Convex() != c.convex || says != (unclear.Shrunk > 0) || p.Decides() == "" {
			t.Errorf("%s: convex %t, an unclear fit is shrunk by %v, the plan says %q", name, problem.Convex(),
				unclear.Shrunk, p.Decides())
		}
		kept := optimize.Compare{Keep: true}
		if p.Compare = &kept; !strings.Contains(p.Decides(), "with intervals") {
			t.Errorf("%s, with intervals: %q", name, p.Decides())
		}
		if p.Compare = nil; p.Decides() != "" {
			t.Errorf("%s, without a comparison: %q", name, p.Decides())
		}
	}
}

// TestFilesHoldWhatTheComparisonDecides tests that the model's file has the weights that follow
// from the comparison with the best constant: the weights of the fit, of the constant with the
// released margin, or of the point halfway between. The test fails if the file always has the fit's
// own weights.
func TestFilesHoldWhatTheComparisonDecides(t *testing.T) {
	c := config(t, 300)
	p, err := c.prepare(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	h, err := c.head("test", 1, p.planned, p.loss, nil)
	if err != nil {
		t.Fatal(err)
	}
	fit := []float64{8, -6, 4, -2, 1}
	constant := make([]float64, len(fit))
	constant[len(fit)-1] = .25 / (1 / c.Schema.Scale()) // a margin of .25 for every row
	for shrunk, want := range map[float64][]float64{0: fit, 1: constant,
		.5: {4, -3, 2, -1, (1 + constant[len(fit)-1]) / 2}} {
		m, _, err := h.Files(Released{Weights: fit, Run: runrecord.Run{
			Plan: h.Plan, Compared: &optimize.Compared{Difference: .1, Sigma: .01, Margins: []float64{.25}, Shrunk: shrunk},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Weights(); !slices.Equal(got, want) {
			t.Errorf("shrunk by %v: weights %v: must be %v", shrunk, got, want)
		}
	}
}
