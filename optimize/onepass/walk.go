package onepass

import (
	"iter"
	"math/bits"
)

// vertex is one of a complete binary tree. The root and left children are not
// right.
type vertex struct {
	depth int
	right bool
}

// depthFirst visits the vertices of a complete binary tree of the given depth,
// parents before children, left before right: what Arora et al. 2023 write
// DFS[D], with the root put first.
//
// Leaf k > 0, counted from 0, is reached through the right child at depth D
// less the number of k's trailing zeros, and left children below that.
func depthFirst(depth int) iter.Seq[vertex] {
	return func(yield func(vertex) bool) {
		for k := range uint64(1) << depth {
			top := vertex{}
			if k > 0 {
				top = vertex{depth - bits.TrailingZeros64(k), true}
			}
			if !yield(top) {
				return
			}
			for j := top.depth + 1; j <= depth; j++ {
				if !yield(vertex{depth: j}) {
					return
				}
			}
		}
	}
}
