package table

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestShortestDecimals compares the shortest decimal of a 32-bit float with the float's parsed text, for
// random bits, floats with few decimals, their neighbours, powers of two and integers near 2^24.
func TestShortestDecimals(t *testing.T) {
	n := 2_000_000
	if testing.Short() {
		n = 300_000
	}
	r := rand.New(rand.NewPCG(32, 1))
	s, kept := new(shortest), 0
	for i := range n {
		var x float32
		switch i % 6 {
		case 0:
			x = math.Float32frombits(r.Uint32())
		case 1:
			x = float32(r.NormFloat64())
		case 2, 3:
			x = float32(math.Round(r.NormFloat64()*1e6) / tens[r.IntN(9)])
		case 4:
			x = float32(math.Ldexp(1, r.IntN(60)-30))
		default:
			x = float32(1<<24 - 50 + r.IntN(100))
		}
		if i%6 == 3 {
			x = math.Nextafter32(x, float32(r.IntN(3)-1))
		}
		got, want := s.number(x), parsed(x)
		if math.Float64bits(got) != math.Float64bits(want) && (x == x || got == got) {
			t.Fatalf("%v (%#x): %v, want %v", x, math.Float32bits(x), got, want)
		}
		if _, _, sure := decimalOf(math.Abs(float64(x)), 0); sure {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no decimal was found without its text")
	}
}

// TestShortestOfAllNear tests all 32-bit floats in some intervals. The intervals contain ties
// between decimals and midpoints between floats.
func TestShortestOfAllNear(t *testing.T) {
	s := new(shortest)
	for _, from := range []float32{1e-6, .1, .3, .999, 1.5, 9.9999, 2.5e3, 8.388e6, 16777000} {
		x := from
		for range 20_000 {
			if got, want := s.number(x), parsed(x); got != want {
				t.Fatalf("%v: %v, want %v", x, got, want)
			}
			x = math.Nextafter32(x, math.MaxFloat32)
		}
	}
}
