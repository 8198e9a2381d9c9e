package nonsmooth_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestMultiPassOnSamples: footnote 2 of Kornowski, Liu and Talwar 2024. Every step must have a Poisson sample of its own
// with the share of its kind, also where the point has not moved: a gradient is then asked in place of the difference. The
// noise multipliers must have the ratio that charges on all records have, the answers the schedule's noise, and the step
// size must count the noise and the samples. The test fails if a step leaves its sample to the next step, if shares are
// exchanged, or if the samples' variance is left out.
func TestMultiPassOnSamples(t *testing.T) {
	const T, b1, b2, period = 11, .5, .25, 4
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, still := range []bool{false, true} {
			config := quantile(.5, 5)
			b, err := account.NewBudget(3, 1e-6, relation)
			if err != nil {
				t.Fatal(err)
			}
			if config.Budget = b; relation == account.AddOrRemove {
				config.Declared = 2000
			}
			o := optimizetest.New(config)
			p, err := optimize.NewProblem(config.Loss, b, o)
			if err != nil {
				t.Fatal(err)
			}
			if still { // no point is far enough from another for a difference
				if p.Set, err = convex.NewBall([]float64{0, 0}, 1e-35); err != nil {
					t.Fatal(err)
				}
			}
			c := nonsmooth.O2NC{Oracle: nonsmooth.MultiPass, Steps: T, Period: period, Radius: .4, AnchorBatch: b1,
				DifferenceBatch: b2}
			plan, err := c.Plan(ctx, p)
			s := resolve(t, plan, err).Needs().Schedule
			if s == nil || s.Len() != T || !plan.Properties().Sampled {
				t.Fatalf("%v: schedule %v", relation, s)
			}
			if err := o.Follow(s); err != nil {
				t.Fatal(err)
			}
			anchor, _ := s.Step(0)
			difference, _ := s.Step(1)
			if want := b1 / b2 * math.Sqrt(.2/8/(.8/3)); !(math.Abs(anchor/difference/want-1) <= 1e-6) {
				t.Errorf("%v: noise multipliers %v and %v: want a ratio of %v", relation, anchor, difference, want)
			}
			var norms []float64
			r, err := plan.Run(ctx, o, func(s optimize.Step) { norms = append(norms, s.GradientNorm) })
			if err != nil || !r.Complete || r.Steps != T {
				t.Fatalf("%v: %+v, %v", relation, r, err)
			}
			if len(o.Asked) != T {
				t.Fatalf("%v: %d questions: want %d", relation, len(o.Asked), T)
			}
			for k := range T {
				z, share := s.Step(k)
				kind, want := query.Difference, b2
				if k%period == 0 {
					kind, want = query.Gradient, b1
				}
				if share != want {
					t.Errorf("%v: step %d has a sample of %v", relation, k+1, share)
				}
				a := o.Asked[k]
				if still { // the estimate is the mean of the period's answers, weighted by inverse variances
					kind = query.Gradient
					var mean [2]float64
					var weight float64
					for _, x := range o.Asked[k/period*period : k+1] {
						w := 1 / (x.Answer.Sigma * x.Answer.Sigma)
						weight += w
						mean[0], mean[1] = mean[0]+w*x.Answer.Mean[0], mean[1]+w*x.Answer.Mean[1]
					}
					if want := math.Hypot(mean[0], mean[1]) / weight; !(math.Abs(norms[k]/want-1) <= 1e-9) {
						t.Errorf("%v: step %d has an estimate of norm %v: want %v", relation, k+1, norms[k], want)
					}
				}
				clip := a.Question.Clip()
				if got := a.Question.Terms()[0].Kind(); got != kind ||
					!(math.Abs(a.Answer.Sigma/(z*clip/(share*p.Records))-1) <= 1e-6) {
					t.Errorf("%v: step %d: %v with noise %v: want %v with %v", relation, k+1, got, a.Answer.Sigma, kind,
						z*clip/(share*p.Records))
				}
			}
			if got, want := plan.Summary().Passes, 3*b1+2*8*b2; !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("%v: %v passes: want %v", relation, got, want)
			}
			// With gradients alone G1 has no part of differences.
			c.Period, c.DifferenceBatch = 1, 0
			plan, err = c.Plan(ctx, p)
			z, _ := resolve(t, plan, err).Needs().Schedule.Step(0)
			L0, n := p.Constants.Lipschitz, p.Records
			square := func(x float64) float64 { return x * x }
			G1 := math.Sqrt(square(.03*L0) + 2*square(z*L0/(b1*n)) + (1/b1-1)*L0*L0/n)
			if got, want := plan.Summary().StepSize, .4/3/(G1*math.Sqrt(3)); !(math.Abs(got/want-1) <= 1e-6) {
				t.Errorf("%v: step size %v: want %v", relation, got, want)
			}
		}
	}
}

// TestTheoremB5: with Theorem, smoothed must ask what firstorder.Warm with its Theorem asks, of the loss smoothed by
// lasry-lions over the same radius. The test fails for another smoothing, and if the warm start is left out.
func TestTheoremB5(t *testing.T) {
	c := quantile(.5, 500)
	c.Budget = budget(t)
	asked := func(a optimize.Algorithm, smooth bool) ([]optimizetest.Asked, optimize.Summary) {
		o := optimizetest.New(c)
		p := problem(t, o, c.Loss)
		if smooth {
			var err error
			if p, err = p.Smoothed(query.Smoothing{Radius: .1, By: query.LasryLions}); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := a.Plan(ctx, p)
		run(t, resolve(t, plan, err), o)
		return o.Asked, plan.Summary()
	}
	got, s := asked(nonsmooth.Smoothed{Radius: .1, Theorem: true}, false)
	want, inner := asked(firstorder.Warm{Theorem: true}, true)
	if len(got) != len(want) || len(got) < 50 || s.Algorithm != "smoothed" || s.Steps != inner.Steps ||
		!strings.Contains(s.Citation, "warm start") || !strings.Contains(s.Charges, "each within 0.1 of the result") {
		t.Fatalf("%d questions, %+v: want %d", len(got), s, len(want))
	}
	for k := range got {
		a, b := got[k].Question.Terms()[0], want[k].Question.Terms()[0]
		if a.Smoothing() != b.Smoothing() || a.Smoothing().By != query.LasryLions || got[k].Question.Name() !=
			want[k].Question.Name() || got[k].Question.Charge() != want[k].Question.Charge() {
			t.Fatalf("question %d is %q: want %q", k, got[k].Question.Name(), want[k].Question.Name())
		}
		for j, v := range a.Point() {
			if v != b.Point()[j] {
				t.Fatalf("question %d is at %v: want %v", k, a.Point(), b.Point())
			}
		}
	}
	smooth, err := optimize.NewProblem(loss.Logistic(), budget(t), optimize.Stated(5, 4000))
	if err != nil {
		t.Fatal(err)
	}
	kinked, err := optimize.NewProblem(loss.Ramp(), budget(t), optimize.Stated(5, 4000))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		of   optimize.Algorithm
		p    optimize.Problem
		want string
	}{
		{nonsmooth.Smoothed{Theorem: true}, smooth, "smoothed: theorem: must be"},
		{nonsmooth.Smoothed{Theorem: true, Steps: 3}, kinked, "smoothed: theorem: must be"},
		{nonsmooth.Smoothed{Theorem: true, Space: nonsmooth.Plain}, kinked, "smoothed: theorem: must be"},
		{nonsmooth.Smoothed{Theorem: true, Directions: 2}, kinked, "smoothed: theorem: must be"},
		{nonsmooth.Smoothed{Theorem: true, Smoothing: nonsmooth.Smoothing(query.Gradients)}, kinked, "smoothed: theorem"},
		{nonsmooth.O2NC{AnchorBatch: .5}, kinked, "anchor batch = 0.5"},
		{nonsmooth.O2NC{DifferenceBatch: 2, Oracle: nonsmooth.MultiPass}, kinked, "must be > 0 and <= 1"},
		{nonsmooth.O2NC{AnchorBatch: math.NaN(), Oracle: nonsmooth.MultiPass}, kinked, "must be > 0 and <= 1"},
		{nonsmooth.O2NC{AnchorBatch: .5, Oracle: nonsmooth.MultiPass, Look: 3}, kinked, "without a look"},
	} {
		if _, err := x.of.Plan(ctx, x.p); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v: want %q", x.of, err, x.want)
		}
	}
}
