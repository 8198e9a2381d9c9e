package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/model"
)

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*max(math.Abs(a), math.Abs(b))
}

// TestNoiseFollowsTheLaw compares the noise that derive computes from a law (the description of a
// run's steps) with noise computed by hand. The steps release a gradient, a difference of
// gradients, a mix of both, or a correction of the estimate two steps back. A column of the law
// with one entry must apply to every step.
func TestNoiseFollowsTheLaw(t *testing.T) {
	n, err := derive(&runrecord.Trace{Noise: []float64{3, 4, 1, 2}, Keep: []float64{0, 1, .5, 1}, Back: []int{1, 1, 1, 2},
		WeightNoise: 7})
	if err != nil || n.weight != 7 || n.loose != "" {
		t.Errorf("%+v, %v", n, err)
	}
	for i, want := range []float64{3, 5, math.Sqrt(25./4 + 1), math.Sqrt(25 + 4)} {
		if !near(n.estimate[i], want, 1e-12) {
			t.Errorf("step %d: %v: want %v", i+1, n.estimate[i], want)
		}
	}
	n, err = derive(&runrecord.Trace{Noise: []float64{3, 4, 12}, Keep: []float64{1}, WeightNoise: 1, Rounds: []int{1, 3}})
	if err != nil || !near(n.estimate[2], 13, 1e-12) || n.loose == "" {
		t.Errorf("%+v, %v", n, err)
	}
	for name, l := range map[string]*runrecord.Trace{
		"nothing": nil, "no weight": {Noise: []float64{1}, WeightNoise: math.Inf(1)},
		"forward": {Noise: []float64{1}, Back: []int{-1}, WeightNoise: 1},
	} {
		if n, err := derive(l); err == nil || n.weight != 0 {
			t.Errorf("%s: %v without an error", name, n.weight)
		}
	}
	for _, l := range []runrecord.Trace{{WeightNoise: 1, Move: 2}, {WeightNoise: 1, Chosen: 4}} {
		if n, err := derive(&l); err != nil || n.loose == "" {
			t.Errorf("%+v: %+v, %v: does not say that it is a bound", l, n, err)
		} else if n.absolute != (l.Move > 0) {
			t.Errorf("%+v: of each weight alone: %v", l, n.absolute)
		}
	}
}

// TestNoiseInTheUsersUnits tests the stated noise of coefficients. The standard deviations of a
// coefficient's effect and span must follow from the linear map from weights to effects, which the
// test finds by changing one weight at a time. The contributions of the weights must add as squares
// or, if the noises may be correlated, as absolute values. The span is the effect of going from a
// number's lower to its upper bound.
func TestNoiseInTheUsersUnits(t *testing.T) {
	columns := []dataset.Column{
		{Name: "a", Kind: dataset.Number, Low: -5, High: 90},
		{Name: "skip", Kind: dataset.Ignore},
		{Name: "b", Kind: dataset.Number, Low: 3, High: 1e5, Transform: dataset.Log1p},
		{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}},
		{Name: "d", Kind: dataset.Date, Low: 18262, High: 20089, Indicator: true},
	}
	for _, of := range []struct {
		target dataset.Target
		loss   string
	}{
		{dataset.Target{Column: "t", Kind: dataset.Category, Classes: []string{"0", "1"}}, "logistic"},
		{dataset.Target{Column: "t", Kind: dataset.Number, Low: -100, High: 700}, "huber(0.1)"},
	} {
		f := folder{schema: dataset.Definition{Columns: columns, Target: of.target}, loss: of.loss, software: "test",
			budget: budget(t, account.ReplaceOne)}
		w := []float64{1, -2, .5, .25, -3, 2, .7, 4}
		explained := func(w []float64, absolute bool) explanation {
			f.weights = func(j int) float64 { return w[j] }
			m, err := model.Parse(f.model(t))
			if err != nil {
				t.Fatal(err)
			}
			e, ok := (&Fit{Model: m}).explained(runNoise{noise: noise{weight: .7, absolute: absolute}, convex: true})
			if !ok || e.how != bounded {
				t.Fatalf("%+v, %v", e, ok)
			}
			return e
		}
		for _, absolute := range []bool{false, true} {
			got := explained(w, absolute).list
			sums, spans := make([]float64, len(got)), make([]float64, len(got))
			for j := range w {
				moved := slices.Clone(w)
				moved[j]++
				for k, c := range explained(moved, absolute).list {
					if absolute {
						sums[k] += .7 * math.Abs(c.effect-got[k].effect)
						spans[k] += .7 * math.Abs(c.span-got[k].span)
						continue
					}
					sums[k] = math.Hypot(sums[k], .7*(c.effect-got[k].effect))
					spans[k] = math.Hypot(spans[k], .7*(c.span-got[k].span))
				}
			}
			for k, c := range got {
				if !near(c.effectSD, sums[k], 1e-9) || !near(c.spanSD, spans[k], 1e-9) {
					t.Errorf("%v: %s: deviations %v, %v: want %v, %v", of.loss, c.name, c.effectSD, c.spanSD, sums[k], spans[k])
				}
			}
			f.weights = func(j int) float64 { return w[j] }
			m, err := model.Parse(f.model(t))
			if err != nil {
				t.Fatal(err)
			}
			plain := m.Schema().Explain(w, false)
			// a, log1p(b), c=x, c=y, c=other, d, d=missing, intercept; c=x is the reference.
			want := []struct {
				name, per    string
				effect, span float64
			}{
				{"a", "one unit more", plain[0].Value, 95 * plain[0].Value},
				{"b", "each doubling of 1 + x", plain[1].Value * math.Ln2, plain[1].Value * math.Log(100001./4)},
				{"c=y", "against c=x", plain[3].Value - plain[2].Value, plain[3].Value - plain[2].Value},
				{"c=other", "against c=x", plain[4].Value - plain[2].Value, plain[4].Value - plain[2].Value},
				{"d", "one year more, from 2020-01-01", plain[5].Value * 365.2425, plain[5].Value * 1827},
				{"d=missing", "against the midpoint of its bounds", plain[6].Value, plain[6].Value},
				{"intercept", "", plain[7].Value + plain[2].Value, plain[7].Value + plain[2].Value},
			}
			if len(got) != len(want) {
				t.Fatalf("%d coefficients: want %d", len(got), len(want))
			}
			for k, c := range got {
				if x := want[k]; c.name != x.name || c.per != x.per || !near(c.effect, x.effect, 1e-9) ||
					!near(c.span, x.span, 1e-9) || c.intercept != (c.name == "intercept") {
					t.Errorf("%+v: want %+v", c, x)
				}
			}
		}
	}
}

// TestUnstatedNoiseIsSaidToBe tests a law, the description of a run, that is marked Unstated
// because the noise in its weights is not known: derive must return an error and no noise, whatever
// numbers the law has.
func TestUnstatedNoiseIsSaidToBe(t *testing.T) {
	l := &runrecord.Trace{Noise: []float64{1}, StepSizes: []float64{1}, WeightNoise: 1, Unstated: true}
	if n, err := derive(l); err == nil || n.weight != 0 || !strings.Contains(err.Error(), "does not state") {
		t.Errorf("%+v, %v", n, err)
	}
}
