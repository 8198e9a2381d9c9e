package engine

import (
	"iter"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// nonzeros lists the nonzero features of a tile's rows. In most tables most features of a row are zero, and
// zeros add nothing to sums of products.
type nonzeros struct {
	index []int32
	value []float64
	// rows is the number of rows. The features of row i that are yet to be processed have the indices
	// index[next[i]:end[i]] and the values value[next[i]:end[i]].
	rows      int
	next, end [tileRows]int
	writer    writer
	weighed   weighed
	inside    run // see featureBlock
}

// gather lists the nonzero features of the rows of a tile in f, in place of the former list.
func (f *nonzeros) gather(b row.Block) {
	l := f.writer.layout
	f.index, f.value, f.rows = f.index[:0], f.value[:0], len(b.Targets)
	for i := range f.rows {
		f.next[i] = len(f.index)
		x := b.Rows[i*l.Stride():][:l.Numbers()]
		switch {
		case b.Codes.Wide != nil:
			gatherCoded(f, l, x, b.Levels[i], b.Codes.Wide[i*l.Groups():], b.Edges, i*l.Edges())
		case b.Codes.Narrow != nil:
			gatherCoded(f, l, x, b.Levels[i], b.Codes.Narrow[i*l.Groups():], b.Edges, i*l.Edges())
		case l.Edges() > 0:
			gatherCoded[uint16](f, l, x, 0, nil, b.Edges, i*l.Edges())
		default:
			for j, v := range x {
				f.add(j, v)
			}
		}
		f.end[i] = len(f.index)
	}
}

// gatherCoded adds the nonzero features of one row with one-hot groups or hats (values of curves' basis functions), in
// the order of features. first is the index of the row's first pair of nonzero hats in edges.
func gatherCoded[C code](f *nonzeros, l *row.Layout, x []float32, level float32, codes []C, edges row.Edges, first int) {
	for _, s := range l.Slots() {
		switch {
		case s.Group:
			f.add(s.Feature+int(codes[s.At]), level)
		case s.Edges > 0:
			for e := first + s.At; e < first+s.At+s.Edges; e++ {
				at := s.Feature + int(edges.At[e])
				f.add(at, edges.By[2*e])
				f.add(at+1, edges.By[2*e+1])
			}
		default:
			f.add(s.Feature, x[s.At])
		}
	}
}

func (f *nonzeros) add(j int, v float32) {
	if v != 0 {
		f.index = append(f.index, int32(j))
		f.value = append(f.value, float64(v))
	}
}

// from iterates over the rows whose next nonzero feature is j. For each of them it yields the row's index
// in the tile and the row's remaining nonzero features, of which j is the first. It also removes feature j
// from the remaining features. The caller must call from for every feature j, in increasing order of j.
func (f *nonzeros) from(j int) iter.Seq2[int, run] {
	return func(yield func(int, run) bool) {
		for i := range f.rows {
			at, end := f.next[i], f.end[i]
			if at == end || int(f.index[at]) != j {
				continue
			}
			f.next[i]++
			if !yield(i, run{f.index[at:end], f.value[at:end]}) {
				return
			}
		}
	}
}

// run holds some nonzero features of a row: their indices, in increasing order, and their values.
type run struct {
	index []int32
	value []float64
}

// dense lists the nonzero features of the rows of a tile in f, in place of the former list, and reports whether there
// are so many of them that a loop over all features is faster than a loop over the listed features. Both loops have the
// same result to the bit. If it reports true the list may be the former one, since counting is faster than listing.
func (f *nonzeros) dense(b row.Block) bool {
	l := f.writer.layout
	enough := func(n int) bool { return 3*n >= len(b.Targets)*l.Dim() }
	n := len(b.Targets) * (l.Groups() + l.Edges())
	for _, v := range b.Rows[:len(b.Targets)*l.Stride()] { // behind a row's features are zeros
		if v != 0 {
			n++
		}
	}
	if enough(n) {
		return true
	}
	f.gather(b)
	return enough(len(f.index))
}

// addPairs adds round(c[i] svec(x x')) for the rows x of a tile. svec lists the entries of a symmetric matrix on and
// above the diagonal, row after row, and multiplies the entries above the diagonal by sqrt 2. The outer loop is over
// the rows of the matrix, so that the sums in use stay in the first-level cache.
func (p *pass) addPairs(c []float64, b row.Block) {
	for _, v := range c {
		Round(float64(v * math.Sqrt2)) // in tests, checks a bound on all products of this row
	}
	f, acc, dim := p.filled, p.acc, p.layout.Dim()
	if f.dense(b) {
		p.hold(c, f.writer.out(b), p.layout.Full(), dim)
		return
	}
	for j := range dim {
		sums := acc[:dim-j]
		acc = acc[dim-j:]
		for i, features := range f.from(j) {
			addRow(sums, c[i], features)
		}
	}
}

// pairRows is the number of rows whose products of features are added together. There is a sum for each pair, and all
// sums of many features leave the second-level cache from one addition to the next.
const pairRows = 128

// held holds rows with few zeros, and their coefficients, until there are pairRows of them. A row has as many numbers
// as it has features.
type held struct {
	rows []float32
	c    []float64

	scratch paired
}

// hold adds round(c[i] svec(x x')) for the rows x of a tile, once there are enough of them. The method let adds those
// that are left.
func (p *pass) hold(c []float64, x []float32, stride, dim int) {
	if len(p.held.c)+len(c) > pairRows {
		p.let()
	}
	p.held.c = append(p.held.c, c...)
	for i := range c {
		p.held.rows = append(p.held.rows, x[i*stride:][:dim]...)
	}
}

// let adds the products of the rows that are held.
func (p *pass) let() {
	if h := &p.held; len(h.c) > 0 {
		dim := len(h.rows) / len(h.c)
		p.kernel.pairs(&h.scratch, p.acc, h.c, h.rows, dim, dim)
		h.rows, h.c = h.rows[:0], h.c[:0]
	}
}

// addRow adds round(c x_j x_k), times sqrt 2 if k > j, to sums[k-j] for all k >= j. j is the first feature of
// x.
func addRow(sums []int64, c float64, x run) {
	j, first := int(x.index[0]), x.value[0]
	sums[0] += roundProduct(float64(c*first), first)
	c = float64(float64(c*math.Sqrt2) * first)
	index, value := x.index[1:], x.value[1:len(x.index)]
	for t, k := range index {
		sums[int(k)-j] += roundProduct(c, value[t])
	}
}

// addAllPairs adds round(c[i] svec(x x')) for all rows x, where svec lists the upper triangle of a
// symmetric matrix, with entries above the diagonal times sqrt 2. It computes the same sums as
// addPairs and is faster for rows with few zeros.
func addAllPairs(_ *paired, acc []int64, c []float64, x []float32, stride, dim int) {
	var times [pairRows]float64
	for j := range dim {
		for i, v := range c {
			first := float64(x[i*stride+j])
			acc[0] += roundProduct(float64(v*first), first)
			times[i] = float64(float64(v*math.Sqrt2) * first)
		}
		addColumns(acc[1:dim-j], times[:len(c)], x, stride, j+1)
		acc = acc[dim-j:]
	}
}

// addColumns adds round(c[i] * row i) for all rows i to acc, for the features whose index is at least
// from.
func addColumns(acc []int64, c []float64, x []float32, stride, from int) {
	row := func(i int) []float32 { return x[i*stride+from:][:len(acc)] }
	i := 0
	for ; i <= len(c)-4; i += 4 {
		addRounded4(acc, (*[4]float64)(c[i:]), row(i), row(i+1), row(i+2), row(i+3))
	}
	for ; i < len(c); i++ {
		for k, v := range row(i) {
			acc[k] += roundProduct(c[i], float64(v))
		}
	}
}

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
func (b *featureBlock) of(f *nonzeros, i int) run {
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
func (r *ruler) diagonals(dst []float64, f *nonzeros) {
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
