package report

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestOrderedInNumbers computes the thresholds of ordered classes from the weights of a model, by the definition of
// the loss, and compares the text of the page and the numbers of the terms.
func TestOrderedInNumbers(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 10}},
		Target:  dataset.Target{Column: "grade", Kind: dataset.Category, Classes: []string{"low", "fair", "good", "best"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	weights := []float64{.75, -.5, 2, -1} // of a, of the intercept, and of two gaps
	file, err := json.Marshal(map[string]any{
		"format": "stillpoint model", "version": 2, "software": "test", "complete": true,
		"loss": "ordered(4)", "regularizer": "none", "schema": s, "features": s.Features(), "weights": weights,
		"privacy": map[string]any{"epsilon": 1, "delta": 1e-6, "relation": "replace-one", "neighbour": "a row",
			"certificate": "c.json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	unit := 1 / (2 * math.Sqrt2) // of four classes
	first := math.Log(1 + math.Exp(2*unit))
	want := []float64{0, first, first + math.Log(1+math.Exp(-unit))}
	f := &Fit{Model: m}
	got := f.thresholds()
	if len(got) != 3 || slices.ContainsFunc([]int{0, 1, 2}, func(k int) bool { return math.Abs(got[k]-want[k]) > 1e-12 }) {
		t.Fatalf("thresholds = %v, want %v", got, want)
	}
	text := " The log-odds of a class or a higher class are the score minus the threshold of the class. The thresholds are 0 from " +
		"fair, 1.11 from good, 1.64 from best on. They are in order in every model of this loss."
	if f.ordering() != text {
		t.Errorf("the page says%s\nwant%s", f.ordering(), text)
	}
	e, ok := f.explained(runNoise{noise: noise{weight: 1}, convex: true})
	if !ok || len(e.list) != 2 {
		t.Fatalf("%d terms, %v: must be the slope and the intercept", len(e.list), ok)
	}
	// The score of a row is (w u + v)/S for u = 2 a/10 - 1 and S = sqrt 2.
	if slope := e.list[0].effect; !(math.Abs(slope-.75*2/10/math.Sqrt2) <= 1e-12) {
		t.Errorf("slope of a = %v", slope)
	}
	c, err := f.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	if unit, odds := f.score(); unit != "log-odds of a higher class" || !odds || c.Unit != unit {
		t.Errorf("coefficients are in %q, %q", unit, c.Unit)
	}
	for k, v := range c.Thresholds {
		if !(math.Abs(v-want[k]) <= 1e-12) {
			t.Errorf("threshold %d = %v, want %v", k+1, v, want[k])
		}
	}
	if len(c.Thresholds) != 3 {
		t.Errorf("%d thresholds", len(c.Thresholds))
	}
}
