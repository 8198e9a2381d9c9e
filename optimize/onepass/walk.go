package onepass

import (
	"iter"
	"math/bits"
)

// vertex is a vertex of a complete binary tree. right is true for right children, and false for left
// children and the root.
type vertex struct {
	depth int
	right bool
}

// depthFirst yields the vertices of a complete binary tree of the given depth D, parents before children
// and left before right. The root comes first. The other vertices have the order DFS[D] of Arora et al.
// 2023, Algorithm 2.
//
// Number the leaves from 0, and let z be the number of trailing zeros of k in binary. Leaf k > 0 is
// reached through a right child at depth D - z, and from there through left children only.
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
