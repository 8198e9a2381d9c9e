package kl_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestStepsFollowTheirRules works the default numbers of steps out by hand, at several lengths of a step and probabilities
// of failure: 4 G0 N/(2 L0 h), at most twice the usual limit where adaptive-gd lands, and n^2/2 log^2(2/.05) of
// Theorem 9, where n is the size N.
func TestStepsFollowTheirRules(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		o := optimizetest.New(p.Config(budget(t), 3000, 5))
		public := o.Problem(p.Public)
		c, size := public.Constants, public.Records*public.Mu/math.Sqrt(float64(public.Dim()))
		if !close(public.Effective(), size, 1e-12) {
			t.Fatalf("%s: size %v: must be %v", p.Name, public.Effective(), size)
		}
		rule := func(h float64, most int) int {
			return int(min(max(math.Ceil(4*public.InitialGradient()*size/(2*c.Lipschitz*h)), 1), float64(most)))
		}
		for _, h := range []float64{.7, 5, 40} {
			plan, err := kl.Adaptive{StepScale: h}.Plan(ctx, public)
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("; the last %d steps share the rest", rule(h, 2*optimize.RuleSteps)); !strings.Contains(plan.Summary().Charges, want) {
				t.Errorf("%s, adaptive-gd with h = %v: %s: must have %q", p.Name, h, plan.Summary().Charges, want)
			}
			if plan, err = (kl.StronglyConvex{StepScale: h, Lambda: .3}).Plan(ctx, public); err != nil {
				t.Fatal(err)
			}
			if want := rule(h, optimize.RuleSteps); plan.Summary().Steps != want {
				t.Errorf("%s, strongly-convex with h = %v: %d steps: must be %d", p.Name, h, plan.Summary().Steps, want)
			}
		}
		plan, err := kl.Proximal{Rounds: 3, Steps: 7, Lambda: .3}.Plan(ctx, public)
		if err != nil {
			t.Fatal(err)
		}
		// A part of the budget pays for the last round alone: its noise is at least that of the whole.
		if got := plan.Summary().Predicted; !(got >= public.Floor()) {
			t.Errorf("%s, proximal-point: the predicted gradient %v is below the noise %v of the whole budget", p.Name, got, public.Floor())
		}
		for _, records := range []float64{30, 400} {
			public.Records = records
			plan, err := kl.StronglyConvex{Theorem: true, Lambda: .3}.Plan(ctx, public)
			if err != nil {
				t.Fatal(err)
			}
			n := public.Effective()
			if want := int(min(max(n*n/2*math.Pow(math.Log(2/.05), 2), 1), optimize.MostSteps)); plan.Summary().Steps != want {
				t.Errorf("%s, Theorem 9 with %v records: %d steps: must be %d", p.Name, records, plan.Summary().Steps, want)
			}
		}
	}
}
