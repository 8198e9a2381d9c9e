package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// addSquares adds round(c[i] x_j^2) for every feature x_j of the rows x of a tile. In float64 the square of a
// float32 is exact. Features that are zero add zero and are left out.
func (p *pass) addSquares(c []float64, b row.Block) {
	f := p.filled
	f.gather(b)
	for i, v := range c {
		Round(v) // in tests, checks a bound on all products of this row
		for at := f.next[i]; at < f.end[i]; at++ {
			x := f.value[at]
			p.acc[f.index[at]] += roundProduct(v, x*x)
		}
	}
}

// newDiagonalRuler returns a ruler for a metric with a diagonal matrix R. A ruler computes the lengths ||R
// x|| of rows x. The lengths equal, to the bit, the lengths in the metric of the same matrix stored in
// full.
func newDiagonalRuler(m query.Metric) *ruler {
	d := m.Dim()
	r := &ruler{dim: d, step: m.Step(), diagonal: make([]float64, d)}
	for j := range r.diagonal {
		v := float64(m.Entry(j))
		r.diagonal[j] = v * v
		r.lost = max(r.lost, lostOf(d, r.diagonal[j]))
	}
	return r
}

// lostOf returns the bound on the rounding error of a squared length ||R x||^2 in d features, where
// sum is the largest sum of absolute values along a row of the matrix R^2.
func lostOf(d int, sum float64) float64 { return 2 * float64(2*d+4) * 0x1p-53 * sum }

// diagonals adds to dst the squared lengths ||R x||^2 of a tile's rows x, for the diagonal matrix R
// of the metric.
func (r *ruler) diagonals(dst []float64, f *filled) {
	for i := range dst {
		for at := f.next[i]; at < f.end[i]; at++ {
			x := f.value[at]
			dst[i] += float64(x * float64(r.diagonal[f.index[at]]*x))
		}
	}
}

// rooted returns a row's length, rounded up, from its squared length, given as a multiple of the
// square of the metric's rounding unit (step). The step is a power of two, so multiplying by it is
// exact. The root and the sum round once each.
func (r *ruler) rooted(square float64) float32 {
	return above(math.Sqrt(max(square, 0)+r.lost) * (1 + 0x1p-50) * r.step)
}
