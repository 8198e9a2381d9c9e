package engine

import (
	"iter"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// filled lists the nonzero features of a tile's rows. In most tables most features of a row are
// zero, and zeros add nothing to sums of products.
type filled struct {
	index []int32
	value []float64
	// next[i] and end[i] bound the features of row i that are left.
	rows      int
	next, end [tileRows]int
	writer    writer
}

// gather lists the nonzero features of the rows of a tile.
func (f *filled) gather(b row.Block) {
	l := f.writer.layout
	f.index, f.value, f.rows = f.index[:0], f.value[:0], len(b.Targets)
	for i := range f.rows {
		f.next[i] = len(f.index)
		x := b.Rows[i*l.Stride():][:l.Numbers()]
		switch {
		case b.Codes.Wide != nil:
			gatherCoded(f, l, x, b.Levels[i], b.Codes.Wide[i*l.Groups():])
		case b.Codes.Narrow != nil:
			gatherCoded(f, l, x, b.Levels[i], b.Codes.Narrow[i*l.Groups():])
		default:
			for j, v := range x {
				f.add(j, v)
			}
		}
		f.end[i] = len(f.index)
	}
}

// gatherCoded lists the nonzero features of one row with groups, in the order of features.
func gatherCoded[C code](f *filled, l *row.Layout, x []float32, level float32, codes []C) {
	for _, s := range l.Slots() {
		if s.Group {
			f.add(s.Feature+int(codes[s.At]), level)
		} else {
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

// from iterates over the rows whose next feature is j. It yields the row's number and its remaining
// features, of which j is the first, and then removes j from them. It must be called for every j in
// increasing order.
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

// run holds features and their indices.
type run struct {
	index []int32
	value []float64
}

// dense reports whether so many features are not zero that a loop over all features is faster than
// a loop over the listed ones. Both loops have the same result to the bit.
func (f *filled) dense() bool { return 3*len(f.index) >= f.rows*f.writer.layout.Dim() }

// addPairs adds round(c[i] svec(x x')) for the rows x of a tile. svec lists the entries on and
// above the diagonal, row after row, and multiplies the entries above it by sqrt 2. The outer loop
// is over the rows of the matrix, so that the sums being added to stay in the first-level cache.
func (p *pass) addPairs(c []float64, b row.Block) {
	for _, v := range c {
		Round(float64(v * math.Sqrt2)) // no product with features of a row is larger
	}
	f, acc, dim := p.filled, p.acc, p.layout.Dim()
	f.gather(b)
	if f.dense() {
		addAllPairs(acc, c, f.writer.out(b), p.layout.Full(), dim)
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

// addRow adds round(c x_j x_k), times sqrt 2 if k > j, to sums[k-j] for all k >= j. j is the first
// feature of x.
func addRow(sums []int64, c float64, x run) {
	j, first := int(x.index[0]), x.value[0]
	sums[0] += round(float64(float64(c*first) * first))
	c = float64(float64(c*math.Sqrt2) * first)
	index, value := x.index[1:], x.value[1:len(x.index)]
	for t, k := range index {
		sums[int(k)-j] += round(float64(c * value[t]))
	}
}

// addAllPairs is addPairs for rows most of whose features are not zero. A feature that is zero adds
// zeros.
func addAllPairs(acc []int64, c []float64, x []float32, stride, dim int) {
	var times [tileRows]float64
	for j := range dim {
		for i, v := range c {
			first := float64(x[i*stride+j])
			acc[0] += round(float64(float64(v*first) * first))
			times[i] = float64(float64(v*math.Sqrt2) * first)
		}
		addColumns(acc[1:dim-j], times[:len(c)], x, stride, j+1)
		acc = acc[dim-j:]
	}
}

// addColumns adds sum_i round(c[i] * row i) to acc, for the features from the given one on.
func addColumns(acc []int64, c []float64, x []float32, stride, from int) {
	row := func(i int) []float32 { return x[i*stride+from:][:len(acc)] }
	i := 0
	for ; i <= len(c)-4; i += 4 {
		addRounded4(acc, (*[4]float64)(c[i:]), row(i), row(i+1), row(i+2), row(i+3))
	}
	for ; i < len(c); i++ {
		for k, v := range row(i) {
			acc[k] += round(float64(c[i] * float64(v)))
		}
	}
}
