package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// addSquares adds round(c[i] x_j^2) for every feature x_j of the rows x of a tile, and round(c[i] x_j x_k), times sqrt 2,
// for the pairs of features in a block. In float64 the square of a float32 is exact. Features that are zero add zero and
// are left out.
func (p *pass) addSquares(c []float64, b row.Block) {
	f, pairs := p.filled, p.acc[p.filled.writer.layout.Dim():]
	f.gather(b)
	for i, v := range c {
		Round(float64(v * math.Sqrt2)) // in tests, checks a bound on all products of this row
		for at := f.next[i]; at < f.end[i]; at++ {
			x := f.value[at]
			p.acc[f.index[at]] += roundProduct(v, x*x)
		}
		x := p.block.of(f, i)
		for t, j := range x.index {
			// The pairs of place j begin after those of the j places before it.
			first := int(j)*(2*p.block.size-int(j)-1)/2 - int(j) - 1
			by := float64(float64(v*math.Sqrt2) * x.value[t])
			for u, k := range x.index[t+1:] {
				pairs[first+int(k)] += roundProduct(by, x.value[t+1+u])
			}
		}
	}
}

// featureBlock lists the features of rows that are in a block, by their places in it.
type featureBlock struct {
	place []int32 // of each feature, counted from 1; 0 for those outside
	size  int
}

// newBlock returns the block of the given features, or nil if there are none.
func newBlock(whole []int, features int) *featureBlock {
	if len(whole) == 0 {
		return nil
	}
	b := &featureBlock{place: make([]int32, features), size: len(whole)}
	for i, j := range whole {
		b.place[j] = int32(i + 1)
	}
	return b
}

// of returns the features of row i of a tile that are not zero and in the block. They are valid until the next call
// with f.
func (b *featureBlock) of(f *filled, i int) run {
	if b == nil {
		return run{}
	}
	in := run{f.inside.index[:0], f.inside.value[:0]}
	for at := f.next[i]; at < f.end[i]; at++ {
		if place := b.place[f.index[at]]; place > 0 {
			in.index, in.value = append(in.index, place-1), append(in.value, f.value[at])
		}
	}
	f.inside = in
	return in
}

// newDiagonalRuler returns a ruler for a metric whose matrix R is zero off its diagonal and a block. A ruler computes the
// lengths ||R x|| of rows x. The lengths equal, to the bit, the lengths in the metric of the same matrix stored in
// full.
func newDiagonalRuler(m query.Metric, by kernel) *ruler {
	d := m.Dim()
	r := &ruler{dim: d, step: m.Step(), diagonal: make([]float64, d)}
	whole, inner := m.Block()
	for j := range r.diagonal {
		v := float64(m.Entry(j))
		r.diagonal[j] = v * v
		r.largest = max(r.largest, r.diagonal[j])
	}
	if len(whole) > 0 {
		within := newRuler(inner, by, len(whole))
		r.block, r.square, r.largest = newBlock(whole, d), within.square, max(r.largest, within.largest)
	}
	r.lost = lostOf(d, r.largest)
	return r
}

// lostOf returns the bound on the rounding error of a squared length ||R x||^2 in d features, where
// sum is the largest sum of absolute values along a row of the matrix R^2.
func lostOf(d int, sum float64) float64 { return 2 * float64(2*d+4) * 0x1p-53 * sum }

// diagonals adds to dst the squared lengths ||R x||^2 of a tile's rows x, for a matrix R that is zero off its diagonal
// and a block. Terms are added in the order of the features, as they would be for the full matrix.
func (r *ruler) diagonals(dst []float64, f *filled) {
	for i := range dst {
		in := r.block.of(f, i)
		for at := f.next[i]; at < f.end[i]; at++ {
			x, j := f.value[at], f.index[at]
			if r.block != nil && r.block.place[j] > 0 {
				dst[i] += quadratic(r.square[in.index[0]], in)
				in = run{in.index[1:], in.value[1:]}
				continue
			}
			dst[i] += float64(x * float64(r.diagonal[j]*x))
		}
	}
}

// rooted returns a row's length, rounded up, from its squared length, given as a multiple of the
// square of the metric's rounding unit (step). The step is a power of two, so multiplying by it is
// exact. The root and the sum round once each.
func (r *ruler) rooted(square float64) float32 {
	return above(math.Sqrt(max(square, 0)+r.lost) * (1 + 0x1p-50) * r.step)
}
