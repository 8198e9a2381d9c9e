package report

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestCoefficientsByClass tests the coefficients of a model with three classes. For any row, the terms of a
// class must add up to the class's margin minus the mean margin of all classes, and the noise of a term
// must be the noise of one class's weight minus the mean of the three classes' weights.
func TestCoefficientsByClass(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 10},
			{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}}},
		Target: dataset.Target{Column: "colour", Kind: dataset.Category, Classes: []string{"red", "green", "blue"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const d, sd = 5, .25
	weights := make([]float64, 3*d)
	for j := range weights {
		weights[j] = math.Sin(float64(3*j + 1))
	}
	file, err := json.Marshal(map[string]any{
		"format": "stillpoint model", "version": 2, "software": "test", "complete": true,
		"loss": "softmax(3)", "regularizer": "none", "schema": s, "features": s.Features(), "weights": weights,
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
	e, ok := (&Fit{Model: m}).explained(runNoise{noise: noise{weight: sd}, convex: true})
	list := e.list
	if !ok || len(list) != 3*(d-1) { // the reference level has no coefficient
		t.Fatalf("%d coefficients, %v", len(list), ok)
	}
	// The features of the row a = 3, c = y, as the schema encodes it.
	scale := math.Sqrt(3)
	margins, mean := make([]float64, 3), 0.
	for k := range 3 {
		w := weights[k*d:]
		margins[k] = (w[0]*(2*.3-1) + w[2] + w[4]) / scale
		mean += margins[k] / 3
	}
	for k, class := range []string{"red", "green", "blue"} {
		sum := 0.
		for _, c := range list {
			if c.class != class {
				continue
			}
			switch {
			case c.name == "a":
				sum += 3 * c.effect
				if want := 2 / scale / 10 * sd * math.Sqrt(2./3); !(math.Abs(c.effectSD-want) <= 1e-12) {
					t.Errorf("noise %v, want %v", c.effectSD, want)
				}
			case c.name == "c=y" || c.intercept:
				sum += c.effect
			}
		}
		if want := margins[k] - mean; !(math.Abs(sum-want) <= 1e-12) {
			t.Errorf("%s: %v, want %v", class, sum, want)
		}
	}
}
