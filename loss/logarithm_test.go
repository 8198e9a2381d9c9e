package loss

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// TestLogarithm tests that repromath.Log agrees with math.Log to an ulp or two. Softmax uses it for its
// initial gap, ln K for K classes.
func TestLogarithm(t *testing.T) {
	for n := 1; n <= mostMargins; n++ {
		if got, want := repromath.Log(float64(n)), math.Log(float64(n)); !(math.Abs(got-want) <= 0x1p-51*want) {
			t.Errorf("ln %d = %v, want %v", n, got, want)
		}
		if got, want := repromath.Log(1/float64(n)), -math.Log(float64(n)); !(math.Abs(got-want) <= 0x1p-51*max(1, -want)) {
			t.Errorf("ln 1/%d = %v, want %v", n, got, want)
		}
	}
}
