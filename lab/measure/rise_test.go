package measure_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/measure"
)

// TestRiseOfAPower: if the excess risk at gradient norm g is (gamma g)^kappa, the estimate must be gamma
// and kappa. If some points are below this bound, the points on the bound must determine gamma. The test
// fails for the slope of the wrong regression, of x against y, and for the mean of the points' gammas in
// place of the largest.
func TestRiseOfAPower(t *testing.T) {
	for _, kappa := range []float64{1, 4. / 3, 2, 3} {
		var excess, norms []float64
		for g := 1e-4; g < 1; g *= 1.7 {
			excess, norms = append(excess, math.Pow(.3*g, kappa), 0, math.NaN()), append(norms, g, g, g)
		}
		r, err := measure.EstimateRise(excess, norms)
		if err != nil || math.Abs(r.Kappa-kappa) > 1e-9 || math.Abs(r.Gamma-.3) > 1e-9 || r.Points != len(norms)/3 {
			t.Errorf("kappa %v: %+v, %v: want gamma .3", kappa, r, err)
		}
	}
	// Norms 1, 2, 4 with the excesses of kappa 2 and gammas 1, 2, 1: the slope is still 2.
	r, err := measure.EstimateRise([]float64{1, 16, 16}, []float64{1, 2, 4})
	if err != nil || math.Abs(r.Kappa-2) > 1e-9 || math.Abs(r.Gamma-2) > 1e-9 {
		t.Errorf("%+v, %v: want kappa 2, gamma 2", r, err)
	}
}

func TestRiseRefuses(t *testing.T) {
	for want, points := range map[string][2][]float64{
		"must be as many":   {{1}, {1, 2}},
		"must be 3 whose":   {{1, 2, 3}, {1, 1.1, 1.2}},
		"0 points":          {{0, -1, math.Inf(1)}, {1, 2, 3}},
		"fits best: must b": {{3, 2, 1}, {1, 2, 3}},
	} {
		if _, err := measure.EstimateRise(points[0], points[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v: want %q", points, err, want)
		}
	}
}
