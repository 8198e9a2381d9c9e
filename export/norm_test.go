package export

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestNeverLong tests, for rows at and just within their bounds, that the division by the norm does not change a
// feature where neverLong says so, and that neverLong is false for a row that is shortened. The test fails if
// neverLong allows a sum that exceeds 1 by more than rounding.
func TestNeverLong(t *testing.T) {
	coin := rand.New(rand.NewPCG(52, 4))
	spared := 0
	for n := 2; n < 400; n++ {
		g := &graph{form: &form{share: 1 / math.Sqrt(float64(n))}}
		if (&graph{form: &form{share: 1 / math.Sqrt(.99*float64(n))}}).neverLong(n) {
			t.Fatalf("%d features of norm above 1 are not divided", n)
		}
		if !g.neverLong(n) {
			continue
		}
		spared++
		for range 200 {
			v, sum := make([]float64, n), 0.
			for i := range v {
				v[i] = g.share
				if coin.IntN(2) == 0 {
					v[i] = g.share * (1 - float64(coin.IntN(4))*0x1p-53*float64(coin.IntN(n)))
				}
				sum += float64(v[i] * v[i])
			}
			for _, x := range v {
				if sum > 1 && float32(x/math.Sqrt(sum)) != float32(x) {
					t.Fatalf("%d features: %v is %v after the division", n, float32(x), float32(x/math.Sqrt(sum)))
				}
			}
		}
	}
	if spared < 380 {
		t.Errorf("the division is left out for %d of 398 numbers of features", spared)
	}
}
