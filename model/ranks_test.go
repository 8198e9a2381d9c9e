package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRanksByHand tests ranks with ties at the beginning, in the middle and at the end, and the rank correlation against
// Pearson's correlation of ranks that are counted: numbers below, and half of the others that are equal.
func TestRanksByHand(t *testing.T) {
	list, want := []float64{5, 1, 7, 1, 3, 7, 1}, []float64{4, 1, 5.5, 1, 3, 5.5, 1}
	for i, r := range ranks(list) {
		if r != want[i] {
			t.Errorf("rank of %v in %v is %v: must be %v", list[i], list, r, want[i])
		}
	}
	if r := rankCorrelation([]float64{1, 2, 3, 4}, []float64{10, 30, 20, 40}); math.Abs(r-.8) > 1e-15 {
		t.Errorf("rank correlation %v: must be .8", r)
	}
	if r := rankCorrelation([]float64{1, 2, 3}, []float64{4, 4, 4}); r == r {
		t.Errorf("rank correlation with equal numbers is %v: must be NaN", r)
	}
	coin := rand.New(rand.NewPCG(3, 8))
	counted := func(list []float64) (out []float64, mean float64) {
		for _, v := range list {
			below, equal := 0., -1.
			for _, other := range list {
				if other < v {
					below++
				} else if other == v {
					equal++
				}
			}
			out, mean = append(out, below+equal/2), mean+(below+equal/2)/float64(len(list))
		}
		return out, mean
	}
	for range 200 {
		n := 3 + coin.IntN(12)
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			a[i], b[i] = float64(coin.IntN(6)), float64(coin.IntN(9))*.5
		}
		x, mx := counted(a)
		y, my := counted(b)
		var xy, xx, yy float64
		for i := range n {
			xy, xx, yy = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my)
		}
		want, got := xy/math.Sqrt(xx*yy), rankCorrelation(a, b)
		if xx*yy > 0 && !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%v, %v: rank correlation %v: must be %v", a, b, got, want)
		}
	}
}
