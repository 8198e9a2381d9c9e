package optimize_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestRowsSquare compares mean squares along eigenvectors with values computed by hand. With an edge of 4
// the eigenvalue 5 must count as 3. With an edge of 12 the eigenvalues 13 and 15 must count as 5 and 9.
// Eigenvalues below the edge must be replaced by their mean, and the part of the mean row must be
// subtracted. The test fails if a row of the matrix of eigenvectors is used as an eigenvector, or if the
// mean row's part is not subtracted.
func TestRowsSquare(t *testing.T) {
	const c, s = .6, .8
	r := &optimize.Rows{Values: []float64{1, 5}, Vectors: []float64{c, -s, s, c}, Edge: 4} // columns (c, s) and (-s, c)
	for _, test := range []struct {
		v    []float64
		want float64
	}{{[]float64{c, s}, 1}, {[]float64{-s, c}, 3}, {[]float64{1, 0}, 3*s*s + c*c}, {[]float64{0, 0}, 0},
		{[]float64{1}, 0}} {
		if got := r.Square(test.v); !(math.Abs(got-test.want) <= 1e-12) {
			t.Errorf("along %v: %v: must be %v", test.v, got, test.want)
		}
	}
	centred := &optimize.Rows{Values: []float64{13, 15}, Vectors: []float64{1, 0, 0, 1}, Edge: 12, Mean: []float64{0, 1},
		MeanWeight: 3}
	if got := centred.Square([]float64{1, 1}); !(math.Abs(got-(5+9-3)) <= 1e-12) {
		t.Errorf("about the mean: %v: must be 11", got)
	}
	if got := (*optimize.Rows)(nil).Square([]float64{1}); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
