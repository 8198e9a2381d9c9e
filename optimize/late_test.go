package optimize_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestLateGradientsTellWhetherARunArrived: on a quadratic, a run of many steps must be reported as Arrived,
// since more steps would only add noise. A run of few short steps must be reported as NotArrived. With a
// very small budget the report must be NoiseOnly, and Arrived if the result is better than a constant. The stated noise must be the noise of the mean over a
// quarter of the steps.
func TestLateGradientsTellWhetherARunArrived(t *testing.T) {
	p := optimizetest.Wide(20, .2)
	for name, c := range map[string]struct {
		gd      firstorder.GD
		records int
		want    optimize.Arrival
		says    string
	}{
		"arrived": {firstorder.GD{Steps: 200, ConstantCharges: true}, 100_000, optimize.Arrived,
			"more steps would only add noise"},
		"on the way": {firstorder.GD{Steps: 8, StepScale: .01, ConstantCharges: true}, 100_000, optimize.NotArrived,
			"not arrived"},
		"few steps":   {firstorder.GD{Steps: 7, ConstantCharges: true}, 100_000, optimize.Untold, "too few to tell"},
		"lost":        {firstorder.GD{Steps: 1000, ConstantCharges: true}, 900, optimize.NoiseOnly, "noise only, which says nothing of the model"},
		"small table": {firstorder.GD{Steps: 200, ConstantCharges: true}, 300, optimize.Untold, "too few to tell"},
	} {
		for seed := range uint64(5) {
			o := optimizetest.New(p.Config(budget(t), c.records, seed))
			plan, err := c.gd.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			steps, size := plan.Summary().Steps, plan.Summary().Effective
			late := run(t, plan, o).Late
			if got := late.Arrival(steps, size, false); got != c.want || !strings.Contains(late.Text(steps, size, false), c.says) {
				t.Errorf("%s: %+v, %q: arrival %v must be %v", name, late, late.Text(steps, size, false), got, c.want)
			}
			if got := late.Arrival(steps, size, true); c.want == optimize.NoiseOnly && got != optimize.Arrived ||
				c.want != optimize.NoiseOnly && got != c.want {
				t.Errorf("%s: %+v: arrival %v beside a better model", name, late, got)
			}
			if want := (c.gd.Steps + 3) / 4; late.Steps != c.gd.Steps/4 && late.Steps != want {
				t.Errorf("%s: %d late steps of %d", name, late.Steps, c.gd.Steps)
			}
			// With equal charges the noise in the mean of k steps is 1/sqrt(k) times the noise of one
			// step.
			if k := float64(late.Steps) * math.Pow(late.Noise/late.FirstNoise, 2); !(math.Abs(k-math.Round(k)) <= 1e-3*k) ||
				math.Exp2(math.Round(math.Log2(k))) != math.Round(k) {
				t.Errorf("%s: the first noise is of %v steps: must be a power of two: %+v", name, k, late)
			}
		}
	}
	if s := (optimize.Late{}).Text(100, 1000, true); s != "" {
		t.Errorf("of nothing: %q", s)
	}
}
