package dataset

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestNorm tests that rows are divided by the schema's norm, that longer rows are scaled down to
// length 1 in the same direction, and that the written schema gives the same map. The test fails if long
// rows stay long.
func TestNorm(t *testing.T) {
	columns := []Column{{Name: "a", Kind: Number, Low: -4, High: 4}, {Name: "b", Kind: Number, Low: -4, High: 4},
		{Name: "c", Kind: Number, Low: 0, High: 1}}
	def := Definition{Columns: columns, Target: Target{Column: "y", Kind: Number, Low: 0, High: 1}, Norm: 1.25}
	s, err := New(def)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Schema
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Schema{s, &again} {
		m, err := s.Bind([]string{"a", "b", "c", "y"})
		if err != nil {
			t.Fatal(err)
		}
		for cells, want := range map[string][4]float64{
			"1,0,.5,0":  {.25 / 1.25, 0, 0, 1 / 1.25},
			"4,-4,1,0":  {.5, -.5, .5, .5},
			"4,0,.5,.5": {1 / math.Sqrt2, 0, 0, 1 / math.Sqrt2},
		} {
			row := make([]float32, 4)
			if _, ok := m.Encode(row, strings.Split(cells, ",")); !ok {
				t.Fatal(cells)
			}
			var square float64
			for j, v := range row {
				square += float64(v) * float64(v)
				if !(math.Abs(float64(v)-want[j]) <= 1e-7) {
					t.Errorf("%s: %v: want %v", cells, row, want)
					break
				}
			}
			if math.Sqrt(square) > NormBound {
				t.Errorf("%s: norm %v", cells, math.Sqrt(square))
			}
		}
	}
	// These rows are longer than 1 by a tiny excess.
	for _, excess := range []float64{1e-9, 1e-7, 3e-7, 5e-7, 1e-6} {
		near, err := New(Definition{
			Columns: []Column{{Name: "a", Kind: Number, Low: -4, High: 4}}, Target: def.Target,
			Norm: math.Sqrt(2 / (1 + excess)),
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := near.Bind([]string{"a", "y"})
		if err != nil {
			t.Fatal(err)
		}
		row := make([]float32, 2)
		m.Encode(row, []string{"4", "0"})
		if norm := math.Hypot(float64(row[0]), float64(row[1])); !(norm <= NormBound) {
			t.Errorf("a row of squared norm 1 + %v is written with norm %v", excess, norm)
		}
	}
	for _, norm := range []float64{-1, 1e-4, 2.01, math.NaN(), math.Inf(1)} {
		def.Norm = norm
		if _, err := New(def); err == nil || !strings.Contains(err.Error(), "norm = ") ||
			!strings.Contains(err.Error(), "must be between 0.001 and 2") {
			t.Errorf("norm %v: %v", norm, err)
		}
	}
}
