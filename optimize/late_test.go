package optimize_test

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestLateGradientsTellWhetherARunConverged: on a quadratic many steps end in noise,
// and few short ones on the way. The noise that is told is that of the mean of a
// quarter of the steps.
func TestLateGradientsTellWhetherARunConverged(t *testing.T) {
	p := optimizetest.Wide(20, .2)
	for _, c := range []struct {
		gd   firstorder.GD
		want bool
	}{
		{firstorder.GD{Steps: 200, ConstantCharges: true}, true},
		{firstorder.GD{Steps: 8, StepScale: .01, ConstantCharges: true}, false},
	} {
		for seed := range uint64(5) {
			o := optimizetest.New(p.Config(budget(t), 100_000, seed))
			plan, err := c.gd.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			late := run(t, plan, o).Late
			if late.Steps != c.gd.Steps/4 || late.Converged() != c.want || strings.HasPrefix(late.String(), "yes") != c.want {
				t.Errorf("%d steps: %+v, %q: want converged %v", c.gd.Steps, late, late, c.want)
			}
		}
	}
	if s := (optimize.Late{}).String(); s != "" {
		t.Errorf("of nothing: %q", s)
	}
}
