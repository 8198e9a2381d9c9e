package engine

import "math"

// pairs adds multiples of x x', as vectors (svec): the entries on and above the
// diagonal, row after row, those off it times sqrt 2.
//
// Features that are zero are skipped, as the products of which they are part would
// round to zero: of the usual tables most are.
type pairs struct {
	dim int
	// The features of a tile's rows that are not zero, and where each row's begin
	// and end.
	index []int32
	value []float64
	next  [tileRows]int
	end   [tileRows]int
}

func newPairs(dim int) *pairs { return &pairs{dim: dim} }

// add adds round(c[i] svec(x x')) for the len(c) rows x that start at x. It goes
// through the rows of the matrix and adds to each what all of the tile has for it,
// so that what is being added to stays in the first-level cache.
func (p *pairs) add(acc []int64, c []float64, x []float32, stride int) {
	p.gather(c, x, stride)
	for j := range p.dim {
		sums := acc[:p.dim-j]
		acc = acc[p.dim-j:]
		for i, c := range c {
			at, end := p.next[i], p.end[i]
			if at == end || int(p.index[at]) != j {
				continue
			}
			p.next[i]++
			addPairs(sums, c, p.index[at:end], p.value[at:end])
		}
	}
}

// gather lists the features that are not zero, of rows that count.
func (p *pairs) gather(c []float64, x []float32, stride int) {
	p.index, p.value = p.index[:0], p.value[:0]
	for i := range c {
		p.next[i] = len(p.index)
		if c[i] != 0 {
			for j, v := range x[i*stride : i*stride+p.dim] {
				if v != 0 {
					p.index = append(p.index, int32(j))
					p.value = append(p.value, float64(v))
				}
			}
		}
		p.end[i] = len(p.index)
	}
}

// addPairs adds round(c x_j x_k) for all k >= j, times sqrt 2 where k > j, to
// sums[k-j]: j is the first of index, and value are the features there.
func addPairs(sums []int64, c float64, index []int32, value []float64) {
	j, first := int(index[0]), value[0]
	sums[0] += Round(float64(float64(c*first) * first))
	c = float64(float64(c*math.Sqrt2) * first)
	index, value = index[1:], value[1:len(index)]
	for t, k := range index {
		sums[int(k)-j] += Round(float64(c * value[t]))
	}
}
