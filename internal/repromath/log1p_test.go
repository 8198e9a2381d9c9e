package repromath

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLog1p(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(
			rapid.Float64Range(-1+0x1p-40, 1),
			rapid.Float64Range(1, math.MaxFloat64),
			rapid.Map(rapid.Float64Range(-100, 3), func(e float64) float64 { return math.Pow(2, e) }),
		).Draw(t, "x")
		got, want := Log1p(x), math.Log1p(x)
		if ulp := math.Abs(math.Nextafter(want, math.Inf(1)) - want); !(math.Abs(got-want) <= 2*ulp) {
			t.Fatalf("Log1p(%v) = %v: want %v, off by %v ulp", x, got, want, (got-want)/ulp)
		}
	})
}

// TestLog1pExact tests points where the result is a multiple of log 2 or the argument itself.
func TestLog1pExact(t *testing.T) {
	for x, want := range map[float64]float64{
		0:                           0,
		1:                           math.Ln2,
		3:                           2 * math.Ln2,
		-0.5:                        -math.Ln2,
		0x1p-60:                     0x1p-60,
		0x1p1000:                    1000 * math.Ln2,
		math.Nextafter(-1, 0):       -53 * math.Ln2,
		math.SmallestNonzeroFloat64: math.SmallestNonzeroFloat64,
	} {
		if got := Log1p(x); got != want {
			t.Errorf("Log1p(%v) = %v: want %v", x, got, want)
		}
	}
}
