package experiment_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestNetworksAreMeasuredByGoldstein tests that for a family of networks GradientNorm returns the
// norm of a mean of gradients within the radius. It must never be above the norm of the gradient
// itself, and must be below it at points next to a jump of the derivative.
func TestNetworksAreMeasuredByGoldstein(t *testing.T) {
	for _, name := range []string{"relu-network(0.5)", "hinge-network(3)"} {
		f, err := experiment.NewFamily(name, 3, 40, 1)
		if err != nil {
			t.Fatal(err)
		}
		w := f.Loss.(loss.Composed).Start(3)
		for j := range w {
			w[j] += .1 * float64(j%5-2)
		}
		got, err := f.GradientNorm(w)
		if err != nil {
			t.Fatal(err)
		}
		g, err := stationarity.Gradient(f.Loss, f.Regularizer, f.Sample, w)
		if err != nil {
			t.Fatal(err)
		}
		if whole := stationarity.Norm(g); !(got > 0 && got < .9*whole) {
			t.Errorf("%s: %v, the gradient's norm %v", name, got, whole)
		}
	}
}
