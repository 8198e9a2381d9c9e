package loss_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestCurvatureAtTheKnee: the curvature of a loss with a capped slope is 1 up to the cap itself, and 0 beyond it.
func TestCurvatureAtTheKnee(t *testing.T) {
	for _, name := range []string{"huber(0.5)", "squared(0.5)"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float64, 4)
		l.(loss.RankOne).Curvatures(dst, []float64{.5, -.5, math.Nextafter(.5, 1), math.Nextafter(-.5, -1)}, make([]float64, 4))
		if want := []float64{1, 1, 0, 0}; !slices.Equal(dst, want) {
			t.Errorf("%s: %v: must be %v", name, dst, want)
		}
	}
}
