package forecast_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestReleasedForecast: where the released second moment is the assumed one, so is the
// forecast; of K margins the directions of a feature share it. What lies below the edge
// of the noise counts by its sum, since nothing else of it is known. Fails for another
// share of the curvature, or a direction below the edge that is taken as released.
func TestReleasedForecast(t *testing.T) {
	p := with(optimizetest.Problems()[2].Public, size{Records: 20_000, Mu: .3})
	p.Regularizer, p.Start, p.Set = nil, nil, nil
	p.Shape = optimize.Vector(40)
	of := func(p optimize.Problem) (optimize.Law, optimize.Forecast) {
		plan, err := firstorder.Nesterov{Steps: 30}.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		s := plan.Summary()
		return plan.(interface{ Law() optimize.Law }).Law(), optimize.Forecast{Gradient: s.Predicted, Population: s.Population, Excess: s.Excess}
	}
	same := func(what string, a, b optimize.Forecast) {
		t.Helper()
		if math.Abs(a.Gradient/b.Gradient-1) > 1e-9 || math.Abs(a.Excess/b.Excess-1) > 1e-9 || math.Abs(a.Population/b.Population-1) > 1e-9 {
			t.Errorf("%s: %+v: want %+v", what, a, b)
		}
	}
	law, want := of(p)
	var values []float64
	for _, d := range forecast.Assumed(p) {
		for range int(d.Share*40 + .5) {
			values = append(values, d.Eigenvalue/(p.DataSmoothness()/2))
		}
	}
	same("assumed", forecast.Released(p, values, 0, law), want)

	// Four margins: 160 directions, four for each of 40 features.
	several := p
	several.Shape.Margins = 4
	law, _ = of(several)
	one := p
	one.Shape = optimize.Vector(160)
	spread := slices.Repeat(values, 4)
	for i := range spread {
		spread[i] *= 2. / 4
	}
	same("four margins", forecast.Released(several, values, 0, law), forecast.Released(one, spread, 0, law))

	law, _ = of(p)
	edge := (values[9] + values[10]) / 2
	level, noisy := slices.Clone(values), slices.Clone(values)
	var sum float64
	for _, v := range values[10:] {
		sum += v
	}
	for i := range values[10:] {
		level[10+i] = sum / 30
		noisy[10+i] = sum/30 + edge/2*float64(2*(i%2)-1)
	}
	same("below the edge", forecast.Released(p, noisy, edge, law), forecast.Released(p, level, 0, law))
}
