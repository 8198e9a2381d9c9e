package engine

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLengthIsAnUpperBound: the length of a vector is above its norm by a millionth, which is more than the rounding of the sum
// of many squares.
func TestLengthIsAnUpperBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 7, 64, 1000} {
		v, sum, low := make([]float64, n), 0., 0.
		for i := range v {
			v[i] = math.Ldexp(r.NormFloat64(), r.IntN(40)-20)
			square := v[i] * v[i]
			next := sum + square
			low += square - (next - sum)
			sum = next
		}
		if got, norm := length(v), math.Sqrt(sum+low); !(math.Abs(got/norm-(1+0x1p-20)) <= 1e-12) {
			t.Errorf("%d coordinates: %v times the norm", n, got/norm)
		}
	}
	if got := length([]float64{3, -4}); got != 5*(1+0x1p-20) || length(nil) != 0 {
		t.Errorf("3 and -4 have the length %v, none have %v", got, length(nil))
	}
}
