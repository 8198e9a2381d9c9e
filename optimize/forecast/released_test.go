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

// TestReleasedForecast: if the released second moment is the one that forecasts assume, Released must
// return the forecast of a run that is long enough to forget its start. K margins must have the
// forecast of one margin with K times the features and 2/K times the second moment. Of eigenvalues
// below the edge only the sum may count. The test fails for another share of the curvature, or if an
// eigenvalue below the edge is used as released.
func TestReleasedForecast(t *testing.T) {
	const d = 12
	p := with(optimizetest.Problems()[2].Public, size{Records: 2000, Mu: .3})
	p.Regularizer, p.Start, p.Set = nil, nil, nil
	p.Shape = optimize.Vector(d)
	of := func(p optimize.Problem) (optimize.UpdateRule, float64) {
		plan, err := firstorder.Nesterov{Steps: 900}.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		return plan.(interface{ UpdateRule() optimize.UpdateRule }).UpdateRule(), plan.Summary().Predicted
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got/want-1) <= 1e-3) {
			t.Errorf("%s: %v: want %v", what, got, want)
		}
	}
	law, want := of(p)
	var values []float64
	for _, e := range forecast.Assumed(p) {
		for range int(e.Share*d + .5) {
			values = append(values, e.Eigenvalue/(p.DataSmoothness()/2))
		}
	}
	near("assumed", forecast.Released(p, values, 0, law), want)

	several, one := p, p
	several.Shape.Margins, one.Shape = 4, optimize.Vector(4*d)
	law, _ = of(several)
	spread := slices.Repeat(values, 4)
	for i := range spread {
		spread[i] *= 2. / 4
	}
	near("four margins", forecast.Released(several, values, 0, law), forecast.Released(one, spread, 0, law))

	law, _ = of(p)
	edge := (values[3] + values[4]) / 2
	level, noisy := slices.Clone(values), slices.Clone(values)
	var mean float64
	for _, v := range values[4:] {
		mean += v / (d - 4)
	}
	for i := 4; i < d; i++ {
		level[i], noisy[i] = mean, mean+edge/3*float64(2*(i%2)-1)
	}
	near("below the edge", forecast.Released(p, noisy, edge, law), forecast.Released(p, level, 0, law))
}
