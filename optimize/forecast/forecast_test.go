package forecast_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestExcessPredictionIsExact: on the quadratic that forecasts assume, the mean excess risk of runs of
// gd must equal its forecast, up to the standard error of the runs.
func TestExcessPredictionIsExact(t *testing.T) {
	const runs = 1000
	for _, c := range []struct {
		gd firstorder.GD
		f0 float64
	}{
		{firstorder.GD{Steps: 12}, 400}, // the start contributes most
		{firstorder.GD{Steps: 16}, .7},  // the noise contributes most
		{firstorder.GD{Steps: 16, Output: optimize.Last}, .7},
	} {
		p := optimize.Problem{Shape: optimize.Vector(12), RankOne: true,
			Constants: optimizetest.Problems()[2].Public.Constants}
		p.Constants.InitialGap = c.f0
		p.Constants.Lipschitz = 20 // so large that nothing is clipped
		family := optimizetest.AssumedQuadratic(p, 0)
		p.Start = family.Start
		var plan optimize.Plan
		var mean float64
		for seed := range uint64(runs) {
			o := optimizetest.New(family.Config(budget(t), 500, seed))
			if plan == nil {
				var err error
				if plan, err = c.gd.Plan(ctx, with(p, o.Size())); err != nil {
					t.Fatal(err)
				}
			}
			for j, w := range run(t, plan, o).W {
				mean += family.Eigenvalues[j] * w * w / 2 / runs
			}
		}
		tolerance := deviation(runs)
		if want := plan.Summary().Excess; !(math.Abs(mean/want-1) <= tolerance) {
			t.Errorf("%+v: mean excess is %.3f of the predicted: want 1 +- %.3f", c.gd, mean/want, tolerance)
		}
	}
}

// TestStartIsWeighed: for a run with almost no noise, the forecast must be the start's contribution
// alone, which is computed by hand: the share of the start in the last iterate or in the average.
func TestStartIsWeighed(t *testing.T) {
	p := with(optimizetest.Problems()[2].Public, size{Records: 1e9, Mu: 40})
	p.Regularizer, p.Start, p.Set, p.Shape = nil, nil, nil, optimize.Vector(3)
	for _, output := range []optimize.Output{optimize.Last, optimize.TailAverage} {
		plan, err := firstorder.GD{Steps: 6, Output: output}.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		law := plan.(interface{ UpdateRule() optimize.UpdateRule }).UpdateRule()
		weights := []float64{0, 0, 0, 0, 0, 0, 1}
		if output == optimize.TailAverage {
			weights = law.Weights()
		}
		var square float64
		for _, e := range forecast.Assumed(p) {
			g, sum := e.Gradient, 0.
			for k, v := range weights {
				sum += v * g
				if k < len(weights)-1 {
					g *= math.Abs(1 - min(law.Eta(k)*e.Eigenvalue, 2))
				}
			}
			square += sum * sum
		}
		if got, want := plan.Summary().Predicted, math.Sqrt(square); !(math.Abs(got/want-1) <= 1e-3) {
			t.Errorf("%v: %v: want %v", output, got, want)
		}
	}
}

// TestPopulationIsFartherThanTheRecords: for a method on all records, the predicted gradient norm of
// the population must be the root of the sum of squares of the predicted norm on the records and
// L0/sqrt(n), the sampling error. For a method that uses each record once the two predicted norms
// must be equal.
func TestPopulationIsFartherThanTheRecords(t *testing.T) {
	p := optimizetest.Problems()[2].Public
	p.Regularizer = nil
	const l0 = 1.7 // not its square
	p.Constants.Lipschitz = l0
	for _, s := range []size{{Records: 100, Mu: .5}, {Records: 20_000, Mu: .5}} {
		list, err := choose.Auto{}.Candidates(ctx, with(p, s))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			o := c.Summary
			want := math.Sqrt(o.Predicted*o.Predicted + l0*l0/s.Records)
			switch o.Algorithm {
			case "one-pass-sgd", "one-pass-storm", "tree-spider":
				want = o.Predicted
			}
			if !(math.Abs(o.Population/want-1) <= 1e-12) {
				t.Errorf("%v records: %s: the population's gradient is predicted to be %v beside %v: want %v", s.Records,
					o.Algorithm, o.Population, o.Predicted, want)
			}
		}
	}
}

// TestStartGradientIsPossible: no record's gradient is longer than L0, so the mean gradient that
// forecasts start from must not be longer, either, even if F0 is far larger than L0^2/L1.
func TestStartGradientIsPossible(t *testing.T) {
	for _, gap := range []float64{.1, 1, 10, 1e4} {
		for _, rankOne := range []bool{true, false} {
			p := optimizetest.Problems()[2].Public
			p.Constants.InitialGap, p.RankOne = gap, rankOne
			for _, d := range []int{1, 3, 100} {
				p.Shape = optimize.Vector(d)
				if g := forecast.StartGradient(p); !(g <= p.Constants.Lipschitz*(1+1e-12)) {
					t.Errorf("F0 = %v, d = %d, rank one %v: the start's gradient is %v: L0 is %v", gap, d, rankOne, g,
						p.Constants.Lipschitz)
				}
			}
		}
	}
}
