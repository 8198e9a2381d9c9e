package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/runrecord"
)

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*max(math.Abs(a), math.Abs(b))
}

// TestNoiseFollowsTheLaw: estimates by hand: a gradient, a difference, a mix, and
// a correction of the estimate two steps back; columns of one entry are for all.
func TestNoiseFollowsTheLaw(t *testing.T) {
	n, err := derive(&runrecord.Law{Noise: []float64{3, 4, 1, 2}, Keep: []float64{0, 1, .5, 1}, Back: []int{1, 1, 1, 2}, WeightNoise: 7})
	if err != nil || n.weight != 7 || n.loose != "" {
		t.Errorf("%+v, %v", n, err)
	}
	for i, want := range []float64{3, 5, math.Sqrt(25./4 + 1), math.Sqrt(25 + 4)} {
		if !near(n.estimate[i], want, 1e-12) {
			t.Errorf("step %d: %v: want %v", i+1, n.estimate[i], want)
		}
	}
	n, err = derive(&runrecord.Law{Noise: []float64{3, 4, 12}, Keep: []float64{1}, WeightNoise: 1, Rounds: []int{1, 3}})
	if err != nil || !near(n.estimate[2], 13, 1e-12) || n.loose == "" {
		t.Errorf("%+v, %v", n, err)
	}
	for name, l := range map[string]*runrecord.Law{
		"nothing": nil, "no weight": {Noise: []float64{1}, WeightNoise: math.Inf(1)}, "forward": {Noise: []float64{1}, Back: []int{-1}, WeightNoise: 1},
	} {
		if n, err := derive(l); err == nil || n.weight != 0 {
			t.Errorf("%s: %v without an error", name, n.weight)
		}
	}
	if n, err := derive(&runrecord.Law{Noise: []float64{1}, WeightNoise: 2, Scales: []float64{3, 1}}); err != nil || n.in(0) != 6 || n.in(1) != 2 {
		t.Errorf("in a metric: %+v, %v", n, err)
	}
	for _, l := range []runrecord.Law{{WeightNoise: 1, Move: 2}, {WeightNoise: 1, Chosen: 4}} {
		if n, err := derive(&l); err != nil || n.loose == "" {
			t.Errorf("%+v: %+v, %v: does not say that it is a bound", l, n, err)
		}
	}
}

// TestNoiseInTheUsersUnits: the deviation of each effect is that of the linear
// map from weights to effects, taken apart weight by weight.
func TestNoiseInTheUsersUnits(t *testing.T) {
	columns := []dataset.Column{
		{Name: "a", Kind: dataset.Number, Low: -5, High: 90},
		{Name: "skip", Kind: dataset.Ignore},
		{Name: "b", Kind: dataset.Number, Low: 3, High: 1e5, Transform: dataset.Log1p},
		{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}},
		{Name: "d", Kind: dataset.Date, Low: 18262, High: 20089, Indicator: true},
	}
	for _, target := range []dataset.Target{
		{Column: "t", Kind: dataset.Category, Classes: []string{"0", "1"}},
		{Column: "t", Kind: dataset.Number, Low: -100, High: 700},
	} {
		s, err := dataset.New(dataset.Definition{Columns: columns, Target: target})
		if err != nil {
			t.Fatal(err)
		}
		n := noise{weight: .7, scales: []float64{1, .5, 2, 3, 1, 2, .3, .1}}
		w := []float64{1, -2, .5, .25, -3, 2, .7, 4}
		got := explain(s, w, n, false)
		variance, spanVariance := make([]float64, len(w)), make([]float64, len(w))
		for j := range w {
			moved := append([]float64(nil), w...)
			moved[j]++
			for k, c := range explain(s, moved, n, false) {
				variance[k] += math.Pow((c.effect-got[k].effect)*n.in(j), 2)
				spanVariance[k] += math.Pow((c.span-got[k].span)*n.in(j), 2)
			}
		}
		for k, c := range got {
			if !near(c.effectSD, math.Sqrt(variance[k]), 1e-9) || !near(c.spanSD, math.Sqrt(spanVariance[k]), 1e-9) {
				t.Errorf("%v: %s: deviations %v, %v: want %v, %v", target.Kind, c.name, c.effectSD, c.spanSD, math.Sqrt(variance[k]), math.Sqrt(spanVariance[k]))
			}
		}
		plain := s.Explain(w)
		if !near(got[0].effect, plain[0].Value, 1e-12) || !near(got[0].span, 95*plain[0].Value, 1e-12) ||
			!near(got[1].effect, plain[1].Value*math.Ln2, 1e-12) || !near(got[1].span, plain[1].Value*math.Log(100001./4), 1e-12) ||
			got[2].effect != plain[2].Value || got[7].effect != plain[7].Value || !got[7].intercept ||
			got[5].per != "one year more, from 2020-01-01" || !near(got[5].effect, plain[5].Value*365.2425, 1e-12) || !near(got[5].span, 1827*plain[5].Value, 1e-12) ||
			got[6].per != "this value" || got[6].effect != plain[6].Value {
			t.Errorf("%v: effects %+v of %+v", target.Kind, got, plain)
		}
	}
}

// TestUnstatedNoiseIsSaidToBe: a law that says it has no words for its run has no noise,
// whatever its columns hold.
func TestUnstatedNoiseIsSaidToBe(t *testing.T) {
	l := &runrecord.Law{Noise: []float64{1}, StepSizes: []float64{1}, WeightNoise: 1, Unstated: true}
	if n, err := derive(l); err == nil || n.weight != 0 || !strings.Contains(err.Error(), "does not state") {
		t.Errorf("%+v, %v", n, err)
	}
}
