package dataset

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestMarginsLieInTheirRange draws schemas, weights and rows, and tests that every row's margin lies in the range of
// margins. It fails if a column, an interaction, the scale of hats, missing cells, effects or a stated norm is
// forgotten.
func TestMarginsLieInTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema().Draw(t, "schema")
		if rapid.Bool().Draw(t, "norm") {
			def := s.definition()
			def.Norm = rapid.Float64Range(.1, 2).Draw(t, "stated")
			if shorter, err := New(def); err == nil {
				s = shorter
			}
		}
		if rapid.Bool().Draw(t, "effects") {
			if with, err := s.WithEffects(anyEffects(t, s)); err == nil {
				s = with
			}
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w := make([]float64, s.Dim())
		for j := range w {
			w[j] = random.NormFloat64() * math.Exp(2*random.NormFloat64())
		}
		low, high := s.MarginRange(w)
		m := mustBindRapid(t, s, fullHeader(s))
		x := make([]float32, s.Dim())
		for range 20 {
			if _, ok := m.Encode(x, anyCells(t, s)); !ok {
				continue
			}
			margin := 0.
			for j, v := range x {
				margin += w[j] * float64(v)
			}
			if !(margin >= low && margin <= high) {
				t.Fatalf("margin %v: must lie in [%v, %v]", margin, low, high)
			}
		}
	})
}

// TestMarginRangeIsAttained compares the range with the margins of all rows of a table whose columns are a number, a
// number with an indicator, a curve and a category: both ends must be margins of rows, up to the stated rounding.
func TestMarginRangeIsAttained(t *testing.T) {
	s, err := New(Definition{
		Columns: []Column{{Name: "a", Kind: Number, Low: 0, High: 1}, {Name: "b", Kind: Number, Low: 0, High: 1, Indicator: true},
			{Name: "c", Kind: Number, Low: 0, High: 1, Indicator: true, Curve: 4},
			{Name: "d", Kind: Category, Categories: []string{"u", "v"}}},
		Target: Target{Column: "y", Kind: Number, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := mustBind(t, s, fullHeader(s)...)
	random := rand.New(rand.NewPCG(7, 1))
	for range 50 {
		w := make([]float64, s.Dim())
		for j := range w {
			w[j] = 3 * random.NormFloat64()
		}
		least, most := math.Inf(1), math.Inf(-1)
		x := make([]float32, s.Dim())
		for _, a := range []string{"0", "1"} {
			for _, b := range []string{"0", "1", ""} {
				for _, c := range []string{"0", "0.33333333", "0.66666667", "1", ""} {
					for _, d := range []string{"u", "v", ""} {
						m.Encode(x, []string{".5", a, b, c, d})
						margin := 0.
						for j, v := range x {
							margin += w[j] * float64(v)
						}
						least, most = min(least, margin), max(most, margin)
					}
				}
			}
		}
		low, high := s.MarginRange(w)
		if !(low <= least && low > least-1e-4 && high >= most && high < most+1e-4) {
			t.Fatalf("range [%v, %v]: must be [%v, %v]", low, high, least, most)
		}
	}
}
