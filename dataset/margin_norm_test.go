package dataset

import "testing"

// TestMarginsOfShortenedRows: a row that is longer than schema.norm is shortened, intercept and all, so that its score
// comes closer to 0 than that of any row without the norm. The range of scores must hold it, on either side of 0.
func TestMarginsOfShortenedRows(t *testing.T) {
	const text = "schema:\n  columns: {a: {number: [0, 10]}}\n  target: {column: y, number: [0, 1]}\n"
	s, whole := mustLoad(t, text+"  norm: 0.5\n"), mustLoad(t, text)
	m, err := s.Bind([]string{"a", "y"})
	if err != nil {
		t.Fatal(err)
	}
	for _, sign := range []float64{1, -1} {
		w := []float64{.05 * sign, 1.1 * sign}
		low, high := s.MarginRange(w)
		for _, cell := range []string{"0", "3", "10"} {
			x := make([]float32, s.Dim())
			if _, ok := m.Encode(x, []string{cell, "0"}); !ok {
				t.Fatal(cell)
			}
			margin := 0.
			for j, v := range x {
				margin += w[j] * float64(v)
			}
			if !(margin >= low && margin <= high) {
				t.Errorf("%v at %s: not within [%v, %v]", margin, cell, low, high)
			}
		}
		if a, b := whole.MarginRange(w); a*b < 0 {
			t.Fatalf("rows without a norm have scores from %v to %v: the test shows nothing", a, b)
		}
	}
}
