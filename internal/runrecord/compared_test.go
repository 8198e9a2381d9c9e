package runrecord_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// TestDecide tests which model is published after the comparison with the best constant. It must be
// the fit if the fit is better by at least a standard deviation of the noise, the constant if the
// fit is worse by more than two, and otherwise halfway between the two if the loss is convex. The
// test fails if a fit that was found worse is published, or if the constant replaces a better fit.
func TestDecide(t *testing.T) {
	for _, test := range []struct {
		difference float64
		convex     bool
		shrunk     float64
	}{
		{-3, true, 0}, {-1, true, 0}, {-.99, true, .5}, {0, true, .5}, {1.99, true, .5}, {2.01, true, 1},
		{-3, false, 0}, {-.5, false, 0}, {1.99, false, 0}, {2.01, false, 1}, {math.NaN(), true, .5},
	} {
		c := runrecord.Compared{Difference: test.difference, Sigma: 1, Shrunk: .25}
		if c.Decide(test.convex); c.Shrunk != test.shrunk {
			t.Errorf("difference %v of noise 1, convex %v: shrunk by %v: must be %v", test.difference, test.convex, c.Shrunk,
				test.shrunk)
		}
	}
}

// TestPublishedWeights tests that the published model lies on the line from the fit to the best
// constant, and that the method Fit returns the fit's weights from the model's.
func TestPublishedWeights(t *testing.T) {
	w, constant := []float64{4, -2, 1}, []float64{0, 0, 3}
	for shrunk, want := range map[float64][]float64{0: w, .5: {2, -1, 2}, 1: constant} {
		c := runrecord.Compared{Shrunk: shrunk}
		got := c.Model(w, constant)
		back, ok := c.Fit(got, constant)
		if ok != (shrunk < 1) {
			t.Errorf("shrunk by %v: the fit is known: %v", shrunk, ok)
		}
		for j := range want {
			if got[j] != want[j] || ok && math.Abs(back[j]-w[j]) > 1e-12 {
				t.Errorf("shrunk by %v: %v of the fit %v", shrunk, got, back)
			}
		}
	}
	if w[0] != 4 {
		t.Error("the fit's weights were changed")
	}
}
