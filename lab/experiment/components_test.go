package experiment_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestLowRankFamiliesHaveTheirPoints: the start must be a stationary point, and the least eigenvalue there
// must be the documented one, within four standard deviations (.02) of a second moment of 400 rows. Descent
// from a point near the start must end at the stated minimum, where no eigenvalue is negative.
func TestLowRankFamiliesHaveTheirPoints(t *testing.T) {
	for name, want := range map[string]float64{"autoencoder(1)": -.6, "autoencoder(3)": -.6, "factorization(1)": -.3,
		"factorization(3)": -.3} {
		f, err := experiment.NewFamily(name, 10, 400, 1)
		if err != nil {
			t.Fatal(err)
		}
		norm, least := lookAt(t, f, make([]float64, f.Dim()))
		if norm != 0 || math.Abs(least-want) > .1 {
			t.Errorf("%s: at the start the gradient is %v and the least eigenvalue %v: want 0 and about %v", name, norm, least,
				want)
		}
		w := make([]float64, f.Dim())
		for j := range w {
			w[j] = .1 * math.Sin(float64(3*j+1))
		}
		for range 2000 {
			g, err := stationarity.Gradient(f.Loss, nil, f.Sample, w)
			if err != nil {
				t.Fatal(err)
			}
			for j := range w {
				w[j] -= .5 * g[j]
			}
		}
		value, err := stationarity.Objective(f.Loss, nil, f.Sample, w)
		if norm, least = lookAt(t, f, w); err != nil || norm > 1e-5 || least < -1e-5 || math.Abs(value-*f.Minimum) > 1e-6 {
			t.Errorf("%s: descent ends at %v, gradient %v, least eigenvalue %v, %v: want the minimum, %v", name, value, norm,
				least, err, *f.Minimum)
		}
	}
	for _, name := range []string{"autoencoder(3)", "factorization(3)"} {
		if _, err := experiment.NewFamily(name, 5, 40, 1); err == nil ||
			!strings.Contains(err.Error(), "dimension = 5: must be at least 4 and twice the rank") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNetworkFamilies: the losses of the families of networks must be networks, and rows must have the
// requested number of features.
func TestNetworkFamilies(t *testing.T) {
	for name, want := range map[string]string{"tanh-network": "network(4,tanh,logistic)",
		"softmax-network": "network(4,tanh,softmax(3))"} {
		f, err := experiment.NewFamily(name, 5, 40, 1)
		if err != nil || f.Name != name || f.Loss.Name() != want || len(f.Sample.Rows[0]) != 5 {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}
