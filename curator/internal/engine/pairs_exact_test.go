package engine

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactly returns the integer nearest to the exact product a*b, ties to even.
func exactly(a, b float64) int64 {
	product := new(big.Float).SetPrec(120).Mul(big.NewFloat(a), big.NewFloat(b))
	near, _ := new(big.Float).SetPrec(53).Add(product, big.NewFloat(magic)).Float64()
	return int64(near - magic)
}

// TestPairsRoundExactProducts tests that sums over pairs and sums of squares round exact products to the grid, in every
// kernel and for rows with and without zeros. Products are so near to a half that a rounded product tells no more on
// which side. The test fails if a product of any place is rounded twice.
func TestPairsRoundExactProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(59, 6))
	var scratch paired
	for _, d := range []int{1, 2, 3, 4, 5, 9, 14, 23} {
		for _, n := range []int{1, 3, 7, 50, tileRows} {
			x, c, squared := make([]float32, n*d), make([]float64, n), make([]float64, n)
			want, squares := make([]int64, d*(d+1)/2), make([]int64, d)
			for i := range n {
				row := x[i*d:][:d]
				for j := range row {
					row[j] = float32(r.Float64()/2 + .25)
				}
				j, k := r.IntN(d), r.IntN(d)
				product, half := float64(row[j])*float64(row[k]), float64(r.IntN(1<<20))+.5
				squared[i] = half / (float64(row[j]) * float64(row[j]))
				if c[i] = half / product; j != k {
					c[i] /= math.Sqrt2
				}
				at := 0
				for j, v := range row {
					first := float64(v)
					want[at] += exactly(float64(c[i]*first), first)
					for l, u := range row[j+1:] {
						want[at+1+l] += exactly(float64(float64(c[i]*math.Sqrt2)*first), float64(u))
					}
					at += d - j
					squares[j] += exactly(squared[i], first*first)
				}
			}
			f, b := numbers(t, x, d, d)
			f.gather(b)
			got := make([]int64, len(want))
			for j, acc := 0, got; j < d; j++ {
				for i, features := range f.from(j) {
					addRow(acc[:d-j], c[i], features)
				}
				acc = acc[d-j:]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d rows of %d features: %v, want %v", n, d, got, want)
			}
			for _, k := range kernels() {
				clear(got)
				if k.pairs(&scratch, got, c, x, d, d); !slices.Equal(got, want) {
					t.Errorf("%s: %d rows of %d features: %v, want %v", k.name, n, d, got, want)
				}
			}
			p := pass{filled: f, acc: make([]int64, d)}
			if p.addSquares(squared, b); !slices.Equal(p.acc, squares) {
				t.Errorf("squares of %d rows of %d features: %v, want %v", n, d, p.acc, squares)
			}
		}
	}
}
