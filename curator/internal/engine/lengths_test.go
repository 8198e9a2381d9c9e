package engine

import "testing"

// TestBlocksOfRows tests which block holds a row, for tables whose blocks are of equal and of unequal sizes, the first of
// them the smallest, the largest or empty.
func TestBlocksOfRows(t *testing.T) {
	for _, sizes := range [][]int{{4, 4, 4}, {4, 4, 2}, {1, 5, 3}, {7, 1, 2}, {0, 3, 2}, {2, 0, 3}, {9}} {
		l, of := &lengths{starts: []int{0}}, []int{}
		for b, n := range sizes {
			l.blocks = append(l.blocks, make([]float32, n))
			for i := range n {
				l.blocks[b][i] = float32(len(of))
				of = append(of, b)
			}
			l.starts = append(l.starts, len(of))
		}
		for m, want := range of {
			if got := l.blockOf(m); got != want {
				t.Errorf("blocks of %v: row %d is in block %d: must be in %d", sizes, m, got, want)
			} else if v := l.rows([]int32{int32(m)}); v[0] != float32(m) {
				t.Errorf("blocks of %v: row %d has the length of row %v", sizes, m, v[0])
			}
		}
	}
}
