package report

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
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
		if got := g.At(x.j, x.k); !(math.Abs(got-x.want) <= 1e-12) {
			t.Errorf("entry %d, %d is %v: must be %v", x.j, x.k, got, x.want)
		}
	}
}

// TestNumbersShrinkByHand tests where the squares and the product of two numbers move, between which a level and a hat lie.
// Usual squares are the squared mean and .11 of a squared intercept of .64, and differ by .08 of it; the usual product is
// that of the means, and differs by .4 of the root of the squares. A noise of .1 counts squared, and by half in products.
func TestNumbersShrinkByHand(t *testing.T) {
	g := mat.NewSymDense(5, nil)
	for _, x := range []struct {
		j, k int
		v    float64
	}{{0, 0, .2}, {0, 1, .05}, {0, 2, .07}, {0, 3, .03}, {0, 4, .3}, {1, 1, .12}, {1, 2, .02}, {1, 3, .01}, {1, 4, .13}, {2, 2, .1},
		{2, 3, .04}, {2, 4, -.1}, {3, 3, .15}, {3, 4, .2}, {4, 4, .64}} {
		g.SetSym(x.j, x.k, x.v)
	}
	want := mat.DenseCopyOf(g)
	structure{levels: []bool{false, true, false, false, false}, hats: []dataset.Hats{{First: 3, Width: 1}}, shared: .8}.shrinkNumbers(g, .1)
	towards := func(v, usual, apart, noise float64) float64 { return usual + (v-usual)*apart/(apart+noise) }
	varied := .08 * .64 * .08 * .64
	first := towards(.2, .3*.3/.64+.11*.64, varied, .01)
	second := towards(.1, .1*.1/.64+.11*.64, varied, .01)
	want.Set(0, 0, first)
	want.Set(2, 2, second)
	want.Set(0, 2, towards(.07, -.1*.3/.64, .4*.4*first*second, .005))
	for j := range 5 {
		for k := j; k < 5; k++ {
			if got := g.At(j, k); !(math.Abs(got-want.At(j, k)) <= 1e-12) {
				t.Errorf("entry %d, %d is %v: must be %v", j, k, got, want.At(j, k))
			}
		}
	}
}

// TestPossibleMomentsAreBounded tests the number of second moments of which a mean is taken: 16 of few features, and 4 of
// many: 10^8 over the third power of their number.
func TestPossibleMomentsAreBounded(t *testing.T) {
	for d, want := range map[int]int{2: 16, 190: 14, 300: 4} {
		rows := mat.NewSymDense(d, nil)
		for j := range d {
			rows.SetSym(j, j, 1)
		}
		list, err := possible(rows, rows, nil, nil, .01)
		if err != nil || len(list) != want {
			t.Errorf("%d features: %d moments, %v: must be %d", d, len(list), err, want)
		}
	}
}
