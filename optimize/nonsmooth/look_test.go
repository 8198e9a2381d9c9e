package nonsmooth_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// chooser is an oracle that records the selections made.
type chooser struct {
	*optimizetest.Oracle
	asked []query.Selection
}

func (c *chooser) Select(ctx context.Context, s query.Selection) (int, error) {
	c.asked = append(c.asked, s)
	return c.Oracle.Select(ctx, s)
}

// pinballNorm computes, without the library, the norm of the mean gradient of the pinball loss at w,
// smoothed over the disc of the given radius, with the regularizer's gradient lambda w added. The share of
// the disc with a first coordinate of at most s is 1/2 + (s sqrt(1-s^2) + asin s)/pi.
func pinballNorm(c optimizetest.Config, tau, radius, lambda float64, w []float64) float64 {
	g := []float64{lambda * w[0], lambda * w[1]}
	for i, x := range c.Rows {
		a, b := float64(x[0]), float64(x[1])
		s := min(max((c.Targets[i]-w[0]*a-w[1]*b)/(radius*math.Hypot(a, b)), -1), 1)
		slope := .5 - (s*math.Sqrt(1-s*s)+math.Asin(s))/math.Pi - tau
		g[0] += slope * a / float64(len(c.Rows))
		g[1] += slope * b / float64(len(c.Rows))
	}
	return math.Hypot(g[0], g[1])
}

// TestLookTakesTheBest: the candidates must be the averages of the last 1/2, 1/4, ... of the points or,
// with Theorem, of distinct blocks. The first block must be the block that a run without a look returns.
// The result must be the candidate at which the smoothed loss has the least gradient norm, and this norm
// must be released at the result. All releases together must be charged the whole budget and no more. With
// the oracle single-pass, the look must use a tenth of the records, and no other query may use these
// records.
func TestLookTakesTheBest(t *testing.T) {
	const tau, lambda = .8, .02
	later := 0 // number of runs in which the best candidate was not the first
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, c := range []nonsmooth.O2NC{{}, {Oracle: nonsmooth.MultiPass}, {Oracle: nonsmooth.SinglePass},
			{Oracle: nonsmooth.MultiPass, Theorem: true}, {Oracle: nonsmooth.SinglePass, Theorem: true}} {
			c.Steps, c.Block, c.Radius, c.Look = 60, 5, .4, 3
			name := fmt.Sprintf("%v, %+v", relation, c)
			config := quantile(tau, 1)
			b, err := account.NewBudget(3, 1e-6, relation)
			if err != nil {
				t.Fatal(err)
			}
			if config.Budget, config.Noiseless = b, true; relation == account.AddOrRemove {
				config.Declared = 400
			}
			o := &chooser{Oracle: optimizetest.New(config)}
			p, err := optimize.NewProblem(config.Loss, b, o)
			if err != nil {
				t.Fatal(err)
			}
			p.Regularizer = optimizetest.L2(t, lambda)
			plan, err := c.Plan(ctx, p)
			if plan = resolve(t, plan, err); !plan.Needs().Selection || plan.Properties().Averaged {
				t.Errorf("%s: needs %+v, properties %+v", name, plan.Needs(), plan.Properties())
			}
			var z [][]float64
			r, err := plan.Run(t.Context(), o, func(s optimize.Step) { z = append(z, slices.Clone(s.W)) })
			if err != nil || !r.Complete || len(z) != 60 || len(o.asked) != 1 {
				t.Fatalf("%s: %+v, %v, %d points, %d selections", name, r, err, len(z), len(o.asked))
			}
			questions := o.asked[0].Questions()
			k, least, firsts := 0, math.Inf(1), map[int]bool{}
			for i, q := range questions {
				term := q.Terms()[0]
				from, end := findMean(z, term.Point())
				if !c.Theorem && (end != 60 || from != []int{29, 45, 53}[i]) || c.Theorem && (end-from != 5 || from%5 != 0 ||
					firsts[from]) {
					t.Errorf("%s: candidate %d is the average of steps %d to %d", name, i, from+1, end)
				}
				firsts[from] = true
				if term.Kind() != query.Norm || term.Smoothing().Radius != .2 {
					t.Errorf("%s: candidate %d is a %v, smoothed by %+v", name, i, term.Kind(), term.Smoothing())
				}
				if norm := pinballNorm(config, tau, .2, lambda, term.Point()); c.Oracle != nonsmooth.SinglePass && norm < least {
					k, least = i, norm
				}
			}
			last := o.Asked[len(o.Asked)-1].Question
			if c.Oracle == nonsmooth.SinglePass { // scores are computed on the held-out records
				k = slices.IndexFunc(questions, func(q query.Question) bool { return slices.Equal(q.Terms()[0].Point(), r.W) })
				least = r.SelectedNorm.GradientNorm
				if held := last.Cohort(); held.Everyone() || !optimizetest.Close(held.Size(), 40, 1e-9) || len(o.Asked) != 1 {
					t.Errorf("%s: %d questions besides prefix sums, the last about %v records", name, len(o.Asked), held.Size())
				}
			}
			if later += k; k < 0 || !slices.Equal(r.W, questions[k].Terms()[0].Point()) ||
				!optimizetest.Close(r.SelectedNorm.GradientNorm, least, 1e-4) || r.SelectedNorm.Among != 3 || r.SelectedNorm.Radius != .2 ||
				r.Trace.Chosen != 3 {
				t.Errorf("%s: %+v, %+v: want candidate %d of norm %v", name, r, r.SelectedNorm, k, least)
			}
			if q := last.Terms()[0]; q.Kind() != query.Norm || !slices.Equal(q.Point(), r.W) ||
				last.Cohort() != questions[0].Cohort() {
				t.Errorf("%s: the last release is a %v at %v, not the norm at the result", name, q.Kind(), q.Point())
			}
			whole := p.Mu * p.Mu
			price := map[bool]float64{true: 1, false: .1}[c.Oracle == nonsmooth.SinglePass] * whole
			// Pure epsilon-DP implies mu-GDP for the mu with epsilon = 2 log(Phi(mu/2)/Phi(-mu/2)).
			below := math.Erfc(math.Sqrt(price)/4) / 2
			epsilon := 2 * math.Log((1-below)/below)
			if got := o.Charged(); got > whole || got < .999*whole || !optimizetest.Close(o.asked[0].Epsilon(), epsilon, 1e-5) ||
				!optimizetest.Close(last.Charge(), price/2, 1e-4) {
				t.Errorf("%s: charged %v of %v, the draw epsilon %v and the norm %v: want %v and %v", name, got, whole,
					o.asked[0].Epsilon(), last.Charge(), epsilon, price/2)
			}
			alone := c
			alone.Look = 0
			without, err := alone.Plan(ctx, p)
			if s := resolve(t, without, err).Summary(); c.Theorem {
				at, _ := findMean(z, questions[0].Terms()[0].Point())
				if !strings.Contains(s.Output, fmt.Sprintf("block %d of", at/5+1)) {
					t.Errorf("%s: the first candidate begins at step %d: want that of %q", name, at+1, s.Output)
				}
			}
		}
	}
	if later == 0 {
		t.Error("the best was always the first candidate: the test does not tell a look from none")
	}
}

// findMean returns a range from, ..., end-1 of the points z whose mean is w, or -1 and -1 if there is none.
// Ranges with a larger end are preferred.
func findMean(z [][]float64, w []float64) (from, end int) {
	for end := len(z); end > 0; end-- {
		sum := make([]float64, len(w))
		for from := end - 1; from >= 0; from-- {
			apart := 0.
			for j, v := range z[from] {
				sum[j] += v
				apart = max(apart, math.Abs(sum[j]/float64(end-from)-w[j]))
			}
			if apart < 1e-13 {
				return from, end
			}
		}
	}
	return -1, -1
}

// TestLookAtOne: a look at one average must make no private selection, and must release the norm at this
// average for the look's whole charge. The result must be the average that a run without a look returns if
// its budget is smaller by this charge.
func TestLookAtOne(t *testing.T) {
	c := quantile(.8, 50)
	c.Budget = budget(t)
	o := &chooser{Oracle: optimizetest.New(c)}
	p := problem(t, o.Oracle, c.Loss)
	plan, err := nonsmooth.O2NC{Steps: 40, Radius: .4, Look: 1}.Plan(ctx, p)
	if plan = resolve(t, plan, err); plan.Needs().Selection {
		t.Error("a selection is needed to look at one average")
	}
	r := run(t, plan, o)
	last := o.Asked[len(o.Asked)-1].Question
	if len(o.asked) != 0 || len(o.Asked) != 41 || r.SelectedNorm == nil || r.SelectedNorm.Among != 1 ||
		!optimizetest.Close(last.Charge(), .1*p.Mu*p.Mu, 1e-6) {
		t.Errorf("%d selections, %d questions, the last charged %v, %+v", len(o.asked), len(o.Asked), last.Charge(), r.SelectedNorm)
	}
	for _, a := range o.Asked[:40] {
		if want := .9 * p.Mu * p.Mu / 40; !optimizetest.Close(a.Question.Charge(), want, 1e-6) {
			t.Fatalf("a step is charged %v: want %v", a.Question.Charge(), want)
		}
	}
}

// TestLookRefuses: a plan must refuse numbers of averages out of range, and a table of which the look of a
// single pass would leave no records.
func TestLookRefuses(t *testing.T) {
	for _, c := range []struct {
		o2nc    nonsmooth.O2NC
		records float64
		want    string
	}{
		{nonsmooth.O2NC{Look: -1}, 1000, "look = -1: must be between 0 (none) and 1000"},
		{nonsmooth.O2NC{Look: 1001}, 1000, "look = 1001: must be between 0 (none) and 1000"},
		{nonsmooth.O2NC{Look: 2, Oracle: nonsmooth.SinglePass, Steps: 1}, 1, "look = 2: must leave some of the 1 records"},
	} {
		q := quantile(.5, 1)
		p, err := optimize.NewProblem(q.Loss, budget(t), optimize.Stated(2, c.records))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.o2nc.Plan(ctx, p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v: want %q", c.o2nc, err, c.want)
		}
	}
}
