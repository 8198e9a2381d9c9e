package engine

import (
	"iter"
	"math"
)

// filled lists the features of a tile's rows that are not zero: of the usual tables
// most are, and what they would add to sums of products is zero.
type filled struct {
	index []int32
	value []float64
	// What is left of row i's begins at next[i] and ends at end[i].
	rows      int
	next, end [tileRows]int
}

// gather lists the first dim features of n rows that start at x.
func (f *filled) gather(n int, x []float32, stride, dim int) {
	f.index, f.value, f.rows = f.index[:0], f.value[:0], n
	for i := range n {
		f.next[i] = len(f.index)
		for j, v := range x[i*stride : i*stride+dim] {
			if v != 0 {
				f.index = append(f.index, int32(j))
				f.value = append(f.value, float64(v))
			}
		}
		f.end[i] = len(f.index)
	}
}

// from goes through the rows whose next feature is j and takes it from them: their
// numbers, and what is left of their features with j the first. It is called for
// every j in turn.
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

// run are features and where they are.
type run struct {
	index []int32
	value []float64
}

// dense reports whether so many of the features that were gathered are not zero that
// going through all of them is quicker than finding those. What comes out is the same
// to the bit, whichever way is taken.
func (f *filled) dense(dim int) bool { return 3*len(f.index) >= f.rows*dim }

// addPairs adds round(c[i] svec(x x')) for the len(c) rows x of dim features that
// start at x: the entries on and above the diagonal, row after row, those off it
// times sqrt 2. It goes through the rows of the matrix and adds to each what all of
// the tile has for it, so that what is being added to stays in the first-level cache.
func addPairs(acc []int64, c []float64, f *filled, x []float32, stride, dim int) {
	f.gather(len(c), x, stride, dim)
	if f.dense(dim) {
		addAllPairs(acc, c, x, stride, dim)
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

// addRow adds round(c x_j x_k) for all k >= j, times sqrt 2 where k > j, to
// sums[k-j]; j is the first feature.
func addRow(sums []int64, c float64, x run) {
	j, first := int(x.index[0]), x.value[0]
	sums[0] += Round(float64(float64(c*first) * first))
	c = float64(float64(c*math.Sqrt2) * first)
	index, value := x.index[1:], x.value[1:len(x.index)]
	for t, k := range index {
		sums[int(k)-j] += Round(float64(c * value[t]))
	}
}

// addAllPairs is addPairs for rows of which most features are not zero: one that is
// adds zeros.
func addAllPairs(acc []int64, c []float64, x []float32, stride, dim int) {
	var times [tileRows]float64
	for j := range dim {
		for i, v := range c {
			first := float64(x[i*stride+j])
			acc[0] += Round(float64(float64(v*first) * first))
			times[i] = float64(float64(v*math.Sqrt2) * first)
		}
		addColumns(acc[1:dim-j], times[:len(c)], x, stride, j+1)
		acc = acc[dim-j:]
	}
}

// addColumns adds sum_i round(c[i] * row i) to acc, of the rows' features from the
// given one on.
func addColumns(acc []int64, c []float64, x []float32, stride, from int) {
	row := func(i int) []float32 { return x[i*stride+from:][:len(acc)] }
	i := 0
	for ; i <= len(c)-4; i += 4 {
		addRounded4(acc, (*[4]float64)(c[i:]), row(i), row(i+1), row(i+2), row(i+3))
	}
	for ; i < len(c); i++ {
		for k, v := range row(i) {
			acc[k] += Round(float64(c[i] * float64(v)))
		}
	}
}
