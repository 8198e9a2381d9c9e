package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDenseRowsAsOthers: sums over pairs, and lengths in a metric, are the same to the bit whether
// zeros are skipped or added, for rows of any number and width with some zeros. A row's length must
// depend on this row alone, although the choice between the two loops depends on the rows beside
// it: otherwise a length would reveal other rows. It fails if the dense loop has another order of
// sums or leaves rows out.
func TestDenseRowsAsOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 5))
	for range 200 {
		n, d := 1+r.IntN(tileRows), 1+r.IntN(40)
		stride := d + r.IntN(3)
		x, c := make([]float32, n*stride), make([]float64, n)
		for i := range n {
			c[i] = r.NormFloat64() * 0x1p40
			for j := range d {
				if r.IntN(4) > 0 {
					x[i*stride+j] = float32(r.NormFloat64() / math.Sqrt(float64(d)) / 4)
				}
			}
		}
		f, b := numbers(t, x, stride, d)
		f.gather(b)
		sparse, dense := make([]int64, d*(d+1)/2), make([]int64, d*(d+1)/2)
		acc := sparse
		for j := range d {
			for i, features := range f.from(j) {
				addRow(acc[:d-j], c[i], features)
			}
			acc = acc[d-j:]
		}
		if addAllPairs(dense, c, x, stride, d); !slices.Equal(sparse, dense) {
			t.Fatalf("%d rows of %d features: %v: want %v", n, d, dense, sparse)
		}
		for _, m := range metrics(t, r, d, x[:d]) {
			ruler := newRuler(m)
			squares, want := make([]float64, n), make([]float64, n)
			ruler.quadratics(squares, x, stride)
			f.gather(b)
			for j := range d {
				for i, features := range f.from(j) {
					want[i] += quadratic(ruler.square[j], features)
				}
			}
			for i := range want {
				if math.Float64bits(squares[i]+0) != math.Float64bits(want[i]+0) {
					t.Fatalf("%d rows of %d features: length %d is %v: want %v", n, d, i, squares[i], want[i])
				}
			}
		}
	}
}
