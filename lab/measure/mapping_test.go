package measure_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestGradientMapping: in a ball the mapping must be the gradient inside, 0 at a boundary point whose gradient points
// straight in from outside, and else the gradient's part along the boundary as eta falls. It must be no longer than the
// gradient. The test fails for the other sign, and if the result is not divided by eta.
func TestGradientMapping(t *testing.T) {
	const d = 5
	ball, err := convex.NewBall(nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		u, g := make([]float64, d), make([]float64, d)
		for j := range u {
			u[j], g[j] = r.NormFloat64(), r.NormFloat64()
		}
		long := stationarity.Norm(u)
		inside, edge, outward := make([]float64, d), make([]float64, d), make([]float64, d)
		var along float64
		for j := range u {
			u[j] /= long
			inside[j], edge[j], outward[j] = u[j], 2*u[j], -3*u[j]
			along += u[j] * g[j]
		}
		for j, v := range measure.GradientMapping(ball, inside, g, 1e-3) {
			if math.Abs(v-g[j]) > 1e-9 {
				t.Errorf("inside %v: want %v", v, g[j])
			}
		}
		if n := stationarity.Norm(measure.GradientMapping(ball, edge, outward, .1)); n > 1e-9 {
			t.Errorf("a stationary point of the ball has %v", n)
		}
		m := measure.GradientMapping(ball, edge, g, 1e-6)
		if got := stationarity.Norm(m); got > stationarity.Norm(g)*(1+1e-9) {
			t.Errorf("a mapping of norm %v for a gradient of norm %v", got, stationarity.Norm(g))
		}
		for j, v := range m {
			want := g[j]
			if along < 0 { // the step -g leads out: what remains is the part of g along the sphere
				want -= along * u[j]
			}
			if math.Abs(v-want) > 1e-4 {
				t.Errorf("at the edge %v: want %v", v, want)
			}
		}
	}
}
