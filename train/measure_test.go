package train

import (
	"context"
	"math"
	"testing"
)

// TestMeasureHasItsShare: the share kept for measuring is what the plan does
// without. Both together are the budget, and both are answered.
func TestMeasureHasItsShare(t *testing.T) {
	for _, share := range []float64{.1, .5} {
		c := config(t, 300)
		c.Train.Algorithm, c.Train.Measure = "gd", share
		var planned float64
		f, err := c.Fit(context.Background(), Options{Software: "test", Step: func(s Step) { planned = s.Charged }})
		if err != nil {
			t.Fatal(err)
		}
		if f.Measured == nil || f.Releases != f.Result.Steps+2 {
			t.Fatalf("share %v: measured %+v in %d releases of %d steps", share, f.Measured, f.Releases, f.Result.Steps)
		}
		budget := f.Budget.Charge()
		if got := planned / budget; math.Abs(got-(1-share)) > 1e-6 {
			t.Errorf("share %v: the plan was charged %v of the budget", share, got)
		}
		if got := f.Charged / budget; !(got <= 1) || got < 1-1e-6 {
			t.Errorf("share %v: %v of the budget charged in all", share, got)
		}
		verified(t, f)
	}
}
