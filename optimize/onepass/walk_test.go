package onepass_test

import (
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"slices"
	"testing"
)

// branch is a vertex of a tree with pointers to its children.
type branch struct {
	depth       int
	isRight     bool
	left, right *branch
}

func grow(depth, D int, right bool) *branch {
	b := &branch{depth: depth, isRight: right}
	if depth < D {
		b.left, b.right = grow(depth+1, D, false), grow(depth+1, D, true)
	}
	return b
}

func (b *branch) visit(list *[]branch) {
	if b != nil {
		*list = append(*list, branch{depth: b.depth, isRight: b.isRight})
		b.left.visit(list)
		b.right.visit(list)
	}
}

// TestDepthFirst compares depthFirst with a tree that is built and walked by recursion, and for D = 2
// with the order of DFS[D] printed in Arora et al. 2023, Algorithm 2. The test fails if right comes
// before left, a child comes before its parent, or a level is missing.
func TestDepthFirst(t *testing.T) {
	for D := range 9 {
		var want, got []branch
		grow(0, D, false).visit(&want)
		for depth, right := range onepass.DepthFirst(D) {
			got = append(got, branch{depth: depth, isRight: right})
		}
		if !slices.Equal(got, want) {
			t.Errorf("depth %d: %v: want %v", D, got, want)
		}
	}
	// In the paper's names: u_0, u_00, u_01, u_1, u_10, u_11, after the root.
	printed := []branch{{depth: 0}, {depth: 1}, {depth: 2}, {depth: 2, isRight: true}, {depth: 1, isRight: true},
		{depth: 2}, {depth: 2, isRight: true}}
	var got []branch
	for depth, right := range onepass.DepthFirst(2) {
		got = append(got, branch{depth: depth, isRight: right})
	}
	if !slices.Equal(got, printed) {
		t.Errorf("depth 2: %v: want %v", got, printed)
	}
}

// TestDepthFirstStops: the sequence must end when its reader stops.
func TestDepthFirstStops(t *testing.T) {
	for stop := 1; stop <= 31; stop++ {
		var seen int
		for range onepass.DepthFirst(4) {
			if seen++; seen == stop {
				break
			}
		}
		if seen != stop {
			t.Errorf("%d vertices: want %d", seen, stop)
		}
	}
}
