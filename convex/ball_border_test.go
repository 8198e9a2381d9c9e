package convex

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestBallEndsAtItsRadius compares Contains with exact distances: a point that is outside by a few
// roundings must be outside, and a point that is inside by a few roundings must be inside, for any
// dimension, centre and scale.
func TestBallEndsAtItsRadius(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 300 {
		d, scale := 1+r.IntN(20), math.Ldexp(1, r.IntN(200)-100)
		var centre []float64
		if r.IntN(2) == 0 {
			centre = make([]float64, d) // as large as the ball, so that differences are exact enough
			for j := range centre {
				centre[j] = float64(r.IntN(9)-4) * scale
			}
		}
		w, sum := make([]float64, d), new(big.Float).SetPrec(300)
		for j := range w {
			w[j] = r.NormFloat64() * scale
			c := 0.0
			if centre != nil {
				c = centre[j]
			}
			x := new(big.Float).SetPrec(300).Sub(big.NewFloat(w[j]), big.NewFloat(c))
			sum.Add(sum, x.Mul(x, x))
		}
		exact, _ := sum.Sqrt(sum).Float64()
		if exact == 0 {
			continue
		}
		// Each coordinate, each square, the root and the product are rounded once.
		roundings := float64(d+8) * 0x1p-53
		for _, inside := range []bool{true, false} {
			radius := exact * (1 - 2*roundings)
			if inside {
				radius = exact * (1 + 2*roundings)
			}
			b, err := NewBall(centre, radius)
			if err != nil {
				t.Fatal(err)
			}
			if b.Contains(w) != inside {
				t.Errorf("%d coordinates at %v: in a ball of radius %v: %v", d, exact, radius, !inside)
			}
		}
	}
}
