package engine

import (
	"iter"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// filled lists the nonzero features of a tile's rows. In most tables most features of a row are zero, and
// zeros add nothing to sums of products.
type filled struct {
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
func (f *filled) gather(b row.Block) {
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

// gatherCoded adds the nonzero features of one row with one-hot groups or hats (values of curves'
// basis functions), in the order of features. first is the index of the row's first pair of nonzero
// hats in edges.
func gatherCoded[C code](f *filled, l *row.Layout, x []float32, level float32, codes []C, edges row.Edges, first int) {
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

func (f *filled) add(j int, v float32) {
	if v != 0 {
		f.index = append(f.index, int32(j))
		f.value = append(f.value, float64(v))
	}
}

// from iterates over the rows whose next nonzero feature is j. For each of them it yields the row's index
// in the tile and the row's remaining nonzero features, of which j is the first. It also removes feature j
// from the remaining features. The caller must call from for every feature j, in increasing order of j.
func (f *filled) from(j int) iter.Seq2[int, run] {
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
func (f *filled) dense(b row.Block) bool {
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

// addPairs adds round(c[i] svec(x x')) for the rows x of a tile. svec lists the entries of a
// symmetric matrix on and above the diagonal, row after row, and multiplies the entries above the
// diagonal by sqrt 2. The outer loop is over the rows of the matrix, so that the sums in use stay
// in the first-level cache.
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
