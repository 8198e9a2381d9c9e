package dataset

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// TestReferenceKnots tests which knot a curve's values are relative to: the middle one, or the lower of the two in the middle.
func TestReferenceKnots(t *testing.T) {
	for n, want := range map[int]int{3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 64: 31} {
		if got := referenceKnot(spline.Equal(n)); got != want {
			t.Errorf("%d knots: knot %d: must be %d", n, got, want)
		}
	}
}
