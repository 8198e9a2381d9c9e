package vector

import (
	"math"
	"testing"
)

// Squares of 1e200 overflow and those of 1e-200 vanish: 3, 4, 12 and 13 scale.
func TestNorm(t *testing.T) {
	for _, unit := range []float64{1, 1e200, 1e-200} {
		want := 13 * unit
		if got := Norm([]float64{3 * unit, -4 * unit, 12 * unit}); math.Abs(got-want) > 4*0x1p-52*want {
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
