package measure_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestGoldsteinDoesNotStall compares Goldstein with the hull of gradients at 4,000 uniform points of the ball, on
// capped absolute losses in two dimensions, at points where a search along the current direction alone stalls.
func TestGoldsteinDoesNotStall(t *testing.T) {
	l, err := loss.CappedAbsolute(1.5)
	if err != nil {
		t.Fatal(err)
	}
	var found, least float64
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s stationarity.Sample
		for range 12 {
			a, far := 2*math.Pi*r.Float64(), .3+.7*r.Float64()
			s.Rows = append(s.Rows, []float32{float32(far * math.Cos(a)), float32(far * math.Sin(a))})
			s.Targets = append(s.Targets, 2*r.Float64()-1)
		}
		w := []float64{r.NormFloat64(), r.NormFloat64()}
		const alpha = .5
		var hull [][]float64
		for range 4000 {
			a, far := 2*math.Pi*r.Float64(), alpha*math.Sqrt(r.Float64())
			g, err := stationarity.Gradient(l, nil, s, []float64{w[0] + far*math.Cos(a), w[1] + far*math.Sin(a)})
			if err != nil {
				t.Fatal(err)
			}
			hull = append(hull, g)
		}
		want, err := measure.MinNorm(hull)
		if err != nil {
			t.Fatal(err)
		}
		got, err := measure.Goldstein(l, nil, s, w, alpha, 60, 1)
		if err != nil {
			t.Fatal(err)
		}
		by, err := loss.OverBall(2, alpha)
		if err != nil {
			t.Fatal(err)
		}
		smooth := stationarity.Norm(measure.SmoothedGradient(l, by, nil, s, w))
		if got.Norm > smooth*(1+1e-9) {
			t.Errorf("seed %d: %v: must be at most the smoothed gradient's norm %v", seed, got.Norm, smooth)
		}
		found, least = found+got.Norm, least+want.Norm
	}
	t.Logf("mean %.4f, of the hulls %.4f", found/40, least/40)
	if found > 1.15*least {
		t.Errorf("mean %v: must be at most 1.15 times that of the hulls, %v", found/40, least/40)
	}
}
