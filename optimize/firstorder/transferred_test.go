package firstorder_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// plane is a table of four kinds of rows whose targets are linear in the features, for the given loss.
func plane(t *testing.T, name string) optimizetest.Problem {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	p := optimizetest.Problem{Loss: l}
	for _, a := range []float64{-.6, .6} {
		for _, b := range []float64{-.3, .3} {
			p.Rows = append(p.Rows, []float32{float32(a), float32(b), .5})
			y := a + .5*b
			if name == "logistic" {
				y = math.Copysign(1, y)
			}
			p.Targets = append(p.Targets, y)
		}
	}
	p.Public = optimize.Problem{Shape: optimize.Vector(3), RankOne: true, Real: name != "logistic", Constants: l.Constants()}
	return p
}

// transfer runs the algorithm on the table with a moment whose first diagonal entry is understated by a factor. It
// returns the losses at the start and at the result.
func transfer(t *testing.T, p optimizetest.Problem, factor float64, seed uint64, start ...float64) (before, after float64,
	o *optimizetest.Oracle) {
	t.Helper()
	o = optimizetest.New(p.Config(budget(t), 20_000, seed))
	q := with(p.Public, o.Size())
	q.Start = start
	moment := []float64{.36 / factor, 0, 0, 0, .09, 0, 0, 0, .25}
	plan, err := firstorder.Transferred{Moment: moment, Intercept: .5}.Plan(ctx, q)
	result := run(t, resolve(t, plan, err), o)
	if !result.Complete || result.Steps != plan.Summary().Steps || !result.Trace.Unstated {
		t.Errorf("complete %v after %d steps, noise unstated: %v", result.Complete, result.Steps, result.Trace.Unstated)
	}
	_, charged := charges(o.Asked)
	withinBudget(t, q.Mu, charged)
	if start == nil {
		start = make([]float64, 3)
	}
	return p.Objective(start), p.Objective(result.W), o
}

// TestTransferredSolves: with the rows' own second moment the loss must fall to near its minimum, and each question
// must be asked as the plan's workload says.
func TestTransferredSolves(t *testing.T) {
	for _, name := range []string{"huber(1)", "logistic"} {
		p := plane(t, name)
		for seed := range uint64(4) {
			before, after, o := transfer(t, p, 1, seed)
			if most := map[bool]float64{true: .1, false: .6}[p.Public.Real]; !(after < most*before) {
				t.Errorf("%s: loss %v at the start, %v at the result", name, before, after)
			}
			if seed > 0 {
				continue
			}
			plan, _ := firstorder.Transferred{Intercept: .5}.Plan(ctx, with(p.Public, o.Size()))
			asked := map[query.Kind]float64{}
			for _, a := range o.Asked {
				asked[a.Question.First().Kind()]++
			}
			for kind, load := range plan.Workload().Kinds {
				if asked[kind] != load.Queries {
					t.Errorf("%s: %v asked %v times: the workload has %v", name, kind, asked[kind], load.Queries)
				}
			}
		}
	}
}

// TestTransferredAverages: the result is the mean of the points that the steps of the second half reach, the last one
// included. The points follow from those at which gradients were asked for and from the momentum, and the last one from the
// last answer and the ratio of a step to its answer, which is that of the first step: the moment is diagonal.
func TestTransferredAverages(t *testing.T) {
	for _, name := range []string{"huber(1)", "logistic"} {
		p := plane(t, name)
		o := optimizetest.New(p.Config(budget(t), 20_000, 1))
		plan, err := firstorder.Transferred{Moment: []float64{.36, 0, 0, 0, .09, 0, 0, 0, .25}, Intercept: .5}.Plan(ctx,
			with(p.Public, o.Size()))
		result := run(t, resolve(t, plan, err), o)
		var at, answers [][]float64
		for _, a := range o.Asked {
			if a.Question.First().Kind() == query.MetricGradient {
				at, answers = append(at, a.Question.First().Point()), append(answers, a.Answer.Mean)
			}
		}
		reached := [][]float64{make([]float64, 3)} // w_0, w_1, ...
		for i := 1; i < len(at); i++ {
			beta := min(float64(i)/float64(i+3), .8)
			w := make([]float64, 3)
			for j := range w {
				w[j] = (at[i][j] + beta*reached[i-1][j]) / (1 + beta)
			}
			reached = append(reached, w)
		}
		steps := len(at)
		last := make([]float64, 3)
		for j := range last {
			last[j] = at[steps-1][j] - (at[0][j]-reached[1][j])/answers[0][j]*answers[steps-1][j]
		}
		reached = append(reached, last)
		for j, got := range result.W {
			want := 0.
			for _, w := range reached[steps/2+1:] {
				want += w[j] / float64(steps-steps/2)
			}
			if !(math.Abs(got-want) <= 1e-5*math.Abs(want)) {
				t.Errorf("%s: coordinate %d is %v, want %v", name, j, got, want)
			}
		}
	}
}

// TestTransferredFilter: the forecast is for the points that steps reach. With two steps of .15, of which the last counts, it
// is computed by hand: w_1 = .85 w_0, y_1 = w_1 + (w_1 - w_0)/4 = .8125 w_0 and w_2 = .85 y_1. Noise in w_1 becomes .85
// times 1.25 times it, and noise in w_2 stays.
func TestTransferredFilter(t *testing.T) {
	left, noise := firstorder.Filter(2, .15, 1)
	if !(math.Abs(left-.690625) <= 1e-12) || !(math.Abs(noise-2.12890625) <= 1e-12) {
		t.Errorf("B = %v, V = %v: want .690625, 2.12890625", left, noise)
	}
	// With the mean of both points of one more step: w_3 = .85 (w_2 + .4 (w_2 - w_1)).
	left, noise = firstorder.Filter(3, .15, 1)
	w1, w2 := .85, .690625
	b := (w2 + .85*(1.4*w2-.4*w1)) / 2
	first := (1.0625 + .85*(1.4*1.0625-.4)) / 2
	second := (1 + .85*1.4) / 2
	if !(math.Abs(left-b) <= 1e-12) || !(math.Abs(noise-(first*first+second*second+.25)) <= 1e-12) {
		t.Errorf("B = %v, V = %v: want %v, %v", left, noise, b, first*first+second*second+.25)
	}
}

// TestTransferredIsSafe: where the moment understates a direction so much that steps are not stable, the loss at
// the result must not be above that at the start. A direction that is understated 15 times must still be learned, with
// shorter steps. Without the checks the loss ends far above the start.
func TestTransferredIsSafe(t *testing.T) {
	p := plane(t, "huber(1)")
	for _, factor := range []float64{1, 5, 15, 50, 1000} {
		for seed := range uint64(4) {
			before, after, _ := transfer(t, p, factor, seed, .7, .3, 0)
			if !(after <= before*1.02) || factor <= 15 && !(after < before/2) {
				t.Errorf("understated %v times: loss %v at the start, %v at the result", factor, before, after)
			}
		}
	}
}

// TestTransferredClips: the default clip scale of numbers is .6 of that of Preconditioned, and the default of classes is
// that of Preconditioned. The runs ask the same questions as runs with these clip scales.
func TestTransferredClips(t *testing.T) {
	for name, factor := range map[string]float64{"huber(1)": .6, "logistic": 1} {
		p := plane(t, name)
		asked := func(scale float64) (clips []float64, effective float64) {
			o := optimizetest.New(p.Config(budget(t), 20_000, 1))
			q := with(p.Public, o.Size())
			c := firstorder.Transferred{Moment: []float64{.36, 0, 0, 0, .09, 0, 0, 0, .25}, Intercept: .5}
			c.ClipScale = scale
			plan, err := c.Plan(ctx, q)
			run(t, resolve(t, plan, err), o)
			for _, a := range o.Asked {
				clips = append(clips, a.Question.Clip())
			}
			return clips, q.Effective()
		}
		clips, N := asked(0)
		want, _ := asked(factor * min(max(.9*math.Log10(N), 1.2), 4))
		for i, c := range clips {
			if !(math.Abs(c-want[i]) <= 1e-9*want[i]) {
				t.Fatalf("%s: question %d has the clip %v, want %v", name, i, c, want[i])
			}
		}
	}
}

// TestTransferredRefuses: what it cannot solve is refused with the reason.
func TestTransferredRefuses(t *testing.T) {
	p := plane(t, "huber(1)")
	o := optimizetest.New(p.Config(budget(t), 1000, 1))
	good := with(p.Public, o.Size())
	several := good
	several.Shape.Margins = 2
	for want, c := range map[string]struct {
		of firstorder.Transferred
		p  optimize.Problem
	}{
		"2 margins":                {firstorder.Transferred{Intercept: 1}, several},
		"a moment of 4 entries":    {firstorder.Transferred{Intercept: 1, Moment: make([]float64, 4)}, good},
		"intercept = 0":            {firstorder.Transferred{}, good},
		"steps = -1":               {firstorder.Transferred{Preconditioned: firstorder.Preconditioned{Steps: -1}, Intercept: 1}, good},
		"at most 2000":             {firstorder.Transferred{Intercept: 1}, func() optimize.Problem { q := good; q.Shape.Features = 2001; return q }()},
		"must be finite and > 0":   {firstorder.Transferred{Intercept: 1}, func() optimize.Problem { q := good; q.Mu = 0; return q }()},
		"generalised linear model": {firstorder.Transferred{Intercept: 1}, func() optimize.Problem { q := good; q.RankOne = false; return q }()},
	} {
		if _, err := c.of.Plan(ctx, c.p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	plan, err := firstorder.Transferred{Intercept: .5}.Plan(ctx, good)
	if _, err := resolve(t, plan, err).Run(ctx, o, nil); err == nil || !strings.Contains(err.Error(), "not known") || o.Charged() > 0 {
		t.Errorf("a run without a moment: %v, charged %v", err, o.Charged())
	}
}

// TestTransferredStatesItsLaw compares the law of a run with the steps that Transferred documents: 40 steps of which the
// second half's iterates are averaged, and after a loss that rose at half of them, the last 20 alone, of a third of the size. A run that
// ends at its start has no steps. The released curvature of the intercept is that of Huber's middle, times its square.
func TestTransferredStatesItsLaw(t *testing.T) {
	p := plane(t, "huber(1)")
	for _, c := range []struct {
		factor float64 // by which the moment understates the first feature's
		steps  int     // that the law has
	}{{1, 40}, {60, 20}, {1000, 0}} {
		o := optimizetest.New(p.Config(budget(t), 20_000, 1))
		plan, err := firstorder.Transferred{Moment: []float64{.36 / c.factor, 0, 0, 0, .09, 0, 0, 0, .25}, Intercept: .5}.
			Plan(ctx, with(p.Public, o.Size()))
		l := run(t, resolve(t, plan, err), o).Trace
		T := len(l.Noise)
		if T != c.steps || len(l.StepSizes) != T || len(l.Momentum) != T || len(l.Weights) != T+1 {
			t.Fatalf("factor %v: %d steps, %d sizes, %d momenta, %d weights", c.factor, T, len(l.StepSizes), len(l.Momentum), len(l.Weights))
		}
		// Of any walk the weighted points are the mean of the last 20 iterates.
		walk := func(t int) float64 { return math.Sin(float64(7*t + 1)) }
		got, want := 0., 0.
		for j := range T {
			beta := min(float64(j)/float64(j+3), .8)
			if !(math.Abs(l.Momentum[j]-beta) <= 1e-12) {
				t.Errorf("factor %v, step %d: momentum %v", c.factor, j+1, l.Momentum[j])
			}
			got += l.Weights[j] * (walk(j) + beta*(walk(j)-walk(max(j-1, 0))))
			if j >= T-20 {
				want += walk(j+1) / 20
			}
		}
		if got += l.Weights[T] * walk(T); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("factor %v: the weighted points are %v: must be %v", c.factor, got, want)
		}
		var bent, metric int // questions about curvature, and in the metric, the root of the inverse of the second moment plus the ridge
		for _, q := range o.Asked {
			term := q.Question.Terms()[0]
			if term.Kind() == query.CurvatureAlong {
				if bent++; !(math.Abs(l.LevelSigma-q.Answer.Sigma) <= 1e-4*q.Answer.Sigma) {
					t.Errorf("factor %v: the curvature has noise of %v: must be %v", c.factor, l.LevelSigma, q.Answer.Sigma)
				}
			}
			if term.Kind() == query.MetricGradient && l.Moment != nil {
				metric++
				if got := math.Pow(term.Metric().Times([]float64{1, 0, 0})[0], -2) - .36/c.factor; !(math.Abs(got-l.Moment.Ridge) <= 3e-5*(.36/c.factor)) {
					t.Errorf("factor %v: the ridge is %v: must be %v", c.factor, l.Moment.Ridge, got)
				}
			}
		}
		if bent != 1 || metric == 0 {
			t.Errorf("factor %v: %d questions about curvature, %d in the metric", c.factor, bent, metric)
		}
		if l.Moment == nil || l.Moment.Features != 3 || !(l.Moment.Ridge > 0) || !(math.Abs(l.Level-.25) < .05) || !(l.LevelSigma > 0) {
			t.Errorf("factor %v: %+v, curvature %v (noise %v)", c.factor, l.Moment, l.Level, l.LevelSigma)
		}
		if T > 0 && !(math.Abs(l.StepSizes[0]*l.Level/.25-map[bool]float64{true: .05, false: .15}[T == 20]) <= 1e-9) {
			t.Errorf("factor %v: steps of %v at the curvature %v", c.factor, l.StepSizes[0], l.Level)
		}
	}
}
