package onepass

import (
	"iter"
	"math/bits"
)

// vertex is a vertex of a complete binary tree. right is false for the root and for left children.
type vertex struct {
	depth int
	right bool
}

// depthFirst yields the vertices of a complete binary tree of the given depth, parents before
// children and left before right. This is DFS[D] of Arora et al. 2023, with the root put first.
//
// Counted from 0, leaf k > 0 is reached through the right child at depth D less the number of k's
// trailing zeros, and from there through left children.
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
