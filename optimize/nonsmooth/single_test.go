package nonsmooth_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
)

// TestSinglePassRefusesWhatIsAllNoise: with few records the noise in the mean of all estimates is longer
// than the gradient that is usual at the start, .14 L0, and the default rule must refuse a single pass with an
// error that states both lengths. At 3200 records the noise is below the gradient that forecasts assume, L0, and
// the rule must refuse all the same: measured runs stay at their start there. If the user sets the steps or the
// period, there must be a plan with a warning. With many records the default rule must make a plan without one. The
// noise of values is twice that of gradients, so that between the two there is a plan by gradients alone. There the
// error of a period of one step must be that of gradients: half of it, if its item were declared for differences.
func TestSinglePassRefusesWhatIsAllNoise(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		records         float64
		set             nonsmooth.O2NC
		refused, random bool
	}{
		{200, nonsmooth.O2NC{}, true, false}, {200, nonsmooth.O2NC{Steps: 10}, false, true},
		{3200, nonsmooth.O2NC{}, true, false}, {3200, nonsmooth.O2NC{Period: 1}, false, true},
		{7000, nonsmooth.O2NC{}, false, false}, {7000, nonsmooth.O2NC{Order: nonsmooth.ZeroOrder}, true, false},
		{1e6, nonsmooth.O2NC{}, false, false}, {1e6, nonsmooth.O2NC{Period: 1}, false, false},
	} {
		p, err := optimize.NewProblem(loss.Hinge(), b, optimize.Stated(100, c.records))
		if err != nil {
			t.Fatal(err)
		}
		c.set.Radius, c.set.Oracle = .4, nonsmooth.SinglePass
		const words = "is above the gradient expected at the start, 0.14"
		plan, err := c.set.Plan(t.Context(), p)
		if refused := err != nil && strings.Contains(err.Error(), words); refused != c.refused || err != nil && !refused {
			t.Errorf("%v records, %+v: %v: refused must be %v", c.records, c.set, err, c.refused)
		}
		if plan != nil && strings.Contains(plan.Summary().AtRandom, words) != c.random {
			t.Errorf("%v records, %+v: warns %q: must warn %v", c.records, c.set, plan.Summary().AtRandom, c.random)
		}
	}
}

// TestSinglePassOfFewRecords: the default rule must choose steps and a period with which every cohort has a
// record. If the user sets the period, it must choose such steps. An error must be about the records, not
// about a setting that the user did not set. There are plans at 51 records, for which the rule once chose
// more steps than there are records.
func TestSinglePassOfFewRecords(t *testing.T) {
	planned := 0
	for _, epsilon := range []float64{.01, 1, 8, 50} {
		b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []int{1, 2, 5, 50} {
			for n := 1; n <= 60; n++ {
				l := []loss.Loss{loss.Hinge(), loss.Logistic(), loss.Ramp(), loss.Tanh()}[n%4]
				p, err := optimize.NewProblem(l, b, optimize.Stated(d, float64(n)))
				if err != nil {
					t.Fatal(err)
				}
				long := nonsmooth.O2NC{Oracle: nonsmooth.SinglePass, Period: min(8, n)}
				if plan, err := long.Plan(t.Context(), p); err != nil || plan.Summary().Steps > n {
					t.Errorf("epsilon %v, d = %d, n = %d, period %d: %v", epsilon, d, n, long.Period, err)
				}
				plan, err := nonsmooth.O2NC{Oracle: nonsmooth.SinglePass}.Plan(t.Context(), p)
				if err != nil {
					if !strings.Contains(err.Error(), fmt.Sprintf("must not be taken with %d records of", n)) {
						t.Errorf("epsilon %v, d = %d, n = %d: %v", epsilon, d, n, err)
					}
					continue
				}
				s := plan.Summary()
				if s.Steps < 1 || s.Steps > n || !(s.StepSize > 0) || math.IsInf(s.StepSize, 0) || s.Passes > 1 {
					t.Errorf("epsilon %v, d = %d, n = %d: %+v", epsilon, d, n, s)
				}
				if n == 51 {
					planned++
				}
			}
		}
	}
	if planned == 0 {
		t.Error("there is no plan at 51 records")
	}
}

// TestSinglePassHasThePeriodOfLeastError: if moves are long for the smoothed loss's curvature, differences
// have no less sensitivity than gradients, and the period must be 1. If moves are short (a wide radius, few
// dimensions and many steps in a block), differences save noise, and the period must be longer.
func TestSinglePassHasThePeriodOfLeastError(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dim, block int
		want       string
	}{{100, 3, "over 1 steps"}, {4, 400, "over 64 steps"}} {
		p, err := optimize.NewProblem(loss.Hinge(), b, optimize.Stated(c.dim, 1e6))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := nonsmooth.O2NC{Radius: .4, Oracle: nonsmooth.SinglePass, Block: c.block}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if s := plan.Summary().Charges; !strings.Contains(s, c.want) {
			t.Errorf("d = %d, blocks of %d: %q: want %q", c.dim, c.block, s, c.want)
		}
	}
}
