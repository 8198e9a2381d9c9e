package engine

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestClip tests that a vector with a NaN or an infinity at any place is refused, whatever the other numbers, and that
// any other vector is at most as long as the radius afterwards and has its direction, from the least to the largest numbers.
func TestClip(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	for range 20_000 {
		v, least := make([]float64, 1+r.IntN(9)), []int{-1074, -600, -20, 0, 500, 1000}[r.IntN(6)]
		for i := range v {
			v[i] = math.Ldexp(r.Float64()-.5, least+r.IntN(20))
		}
		radius := math.Ldexp(1, r.IntN(400)-200)
		bad := append([]float64(nil), v...)
		bad[r.IntN(len(v))] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
		if clip(bad, radius) {
			t.Fatalf("%v at the radius %v is taken", bad, radius)
		}
		got := append([]float64(nil), v...)
		if !clip(got, radius) {
			t.Fatalf("%v is refused", v)
		}
		given, norm := 0., 0. // in units of the radius
		for i := range v {
			given, norm = math.Hypot(given, v[i]/radius), math.Hypot(norm, got[i]/radius)
		}
		if norm > 1+1e-14 || given > 1.01 && norm < 1-1e-14 {
			t.Fatalf("%v at the radius %v has the norm %v", v, radius, norm)
		}
		for i := range v {
			want := v[i] / radius / max(given, 1)
			if given < 1e300 && !(math.Abs(got[i]/radius-want) <= 1e-14) {
				t.Fatalf("%v at the radius %v: %v", v, radius, got)
			}
		}
	}
}
