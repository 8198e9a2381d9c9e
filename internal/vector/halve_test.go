package vector_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// TestHalve tests that both searches find where a condition begins to hold, from either side.
func TestHalve(t *testing.T) {
	t.Parallel()
	above := func(x float64) bool { return x >= 3 }
	for name, got := range map[string]float64{
		"up":    vector.Halve(-1, 10, 60, above),
		"down":  vector.Halve(10, -1, 60, func(x float64) bool { return x <= 3 }),
		"ratio": vector.HalveRatio(1e-9, 1e9, 60, above),
	} {
		if !(math.Abs(got-3) <= 1e-12) {
			t.Errorf("%s: %v, want 3", name, got)
		}
	}
	if got := vector.Halve(0, 1, 50, above); got != 1 {
		t.Errorf("where the condition holds nowhere else: %v, want the end 1", got)
	}
}
