package vector

import (
	"math"
	"testing"
)

// TestNorm tests vectors of sizes 1, 1e200 and 1e-200, whose squares overflow or underflow.
func TestNorm(t *testing.T) {
	for _, unit := range []float64{1, 1e200, 1e-200} {
		want := 13 * unit
		if got := Norm([]float64{3 * unit, -4 * unit, 12 * unit}); !(math.Abs(got-want) <= 4*0x1p-52*want) {
			t.Errorf("norm of (3, -4, 12) times %v is %v", unit, got)
		}
	}
	if got := Norm(nil); got != 0 {
		t.Errorf("norm of nothing is %v", got)
	}
	if got := Norm([]float64{1, math.NaN()}); !math.IsNaN(got) {
		t.Errorf("norm of NaN is %v", got)
	}
}
