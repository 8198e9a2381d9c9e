package report

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestRareLevelsShrinkByHand tests what is left of the second moment of a level and a number. The level's share is the
// mean of its square and twice its product with the intercept: .12 of a squared intercept of .64. Were both independent,
// the product would be .12*.3/.64 = .05625. It moves there from .09, but for .01125 parts of .01625: the number varies by
// .12/.64*.12*.5, and the noise by .1^2/2.
func TestRareLevelsShrinkByHand(t *testing.T) {
	g := mat.NewSymDense(3, []float64{.5, .09, .3, .09, .10, .13, .3, .13, .64})
	structure{levels: []bool{false, true, false}, shared: .8}.shrink(g, .1)
	for _, x := range []struct {
		j, k int
		want float64
	}{{0, 1, .05625 + .03375*.01125/.01625}, {0, 0, .5}, {0, 2, .3}, {1, 1, .10}, {1, 2, .13}, {2, 2, .64}} {
		if got := g.At(x.j, x.k); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("entry %d, %d is %v: must be %v", x.j, x.k, got, x.want)
		}
	}
}
