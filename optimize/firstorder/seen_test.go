package firstorder_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestUnitsSeeTheirCurvature runs plans for records of several rows whose noise will be stated. The last release must be
// the curvature at the result, within five deviations of the mean second derivative that this test computes, and all
// charges together the budget. Plans for other problems, and for few records, must release none.
func TestUnitsSeeTheirCurvature(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	rows, targets := make([][]float32, 500), make([]float64, 500)
	for i := range rows {
		rows[i], targets[i] = []float32{float32(.5 * r.NormFloat64()), float32(.2 * r.NormFloat64()), .5}, 1
		if r.IntN(2) == 0 {
			targets[i] = -1
		}
	}
	b := budget(t)
	for name, c := range map[string]struct {
		repeat int
		change func(*optimize.Problem)
		want   bool
	}{
		"units":       {40, func(*optimize.Problem) {}, true},
		"few records": {0, func(*optimize.Problem) {}, false},
		"rows":        {40, func(p *optimize.Problem) { p.Grouped = false }, false},
		"not stated":  {40, func(p *optimize.Problem) { p.Explained = false }, false},
		"jumps":       {40, func(p *optimize.Problem) { p.Jumps = true }, false},
		"smoothed": {40, func(p *optimize.Problem) {
			var err error
			if *p, err = p.Smoothed(query.Smoothing{Radius: .1, By: query.Gradients, Directions: 2, Seed: 1}); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a ball":     {40, func(p *optimize.Problem) { p.Set, _ = convex.NewBall(make([]float64, 3), 9) }, false},
		"not convex": {40, func(p *optimize.Problem) { p.Constants.Curvature.Lo = -.1 }, false},
	} {
		for _, a := range []optimize.Algorithm{firstorder.GD{Steps: 9}, firstorder.GD{Steps: 9, ConstantCharges: true}, firstorder.Nesterov{Steps: 9},
			firstorder.STORM{Steps: 9}, firstorder.SpiderBoost{Steps: 9, Period: 3}} {
			few := len(rows)
			if c.repeat == 0 {
				few = 50
			}
			o := optimizetest.New(optimizetest.Config{Rows: rows[:few], Targets: targets[:few], Repeat: c.repeat, Loss: loss.Logistic(),
				Budget: b, Seed: 3})
			p, err := optimize.NewProblem(loss.Logistic(), b, o)
			if err != nil {
				t.Fatal(err)
			}
			p.Grouped, p.Explained = true, true
			c.change(&p)
			plan, err := a.Plan(ctx, p)
			result := run(t, resolve(t, plan, err), o)
			asked := o.Asked
			last := asked[len(asked)-1]
			if got := result.Trace.Curvature != nil; got != c.want || got != (last.Question.Term(0).Kind() == query.WeightedCurvature) {
				t.Errorf("%s: %s: curvature released: %v: must be %v", name, plan.Summary().Algorithm, got, c.want)
			}
			_, charged := charges(asked)
			sum := 0.
			for _, v := range charged {
				sum += v
			}
			if !(math.Abs(sum-p.Charge()) <= 1e-6*p.Charge()) {
				t.Errorf("%s: %s: charges of %v: must be %v", name, plan.Summary().Algorithm, sum, p.Charge())
			}
			if !c.want {
				continue
			}
			got, err := result.Trace.Curvature.Matrix()
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, 9)
			for _, x := range rows {
				z, square := 0., 0.
				for j, v := range x {
					z += float64(v) * result.W[j]
					square += float64(v) * float64(v)
				}
				c := math.Exp(z) / math.Pow(1+math.Exp(z), 2) * min(1, .75*.75/square) / float64(len(rows))
				for j := range 9 {
					want[j] += c * float64(x[j/3]) * float64(x[j%3])
				}
			}
			for j, v := range got {
				if !(math.Abs(v-want[j]) <= 5*result.Trace.Curvature.Sigma) {
					t.Errorf("%s: entry %d: %v: must be near %v", plan.Summary().Algorithm, j, v, want[j])
				}
			}
			if s := result.Trace.Curvature.Sigma; !(math.Abs(s/last.Answer.Sigma-1) <= 1e-3) {
				t.Errorf("%s: noise of %v is stated: it was released with %v", plan.Summary().Algorithm, s, last.Answer.Sigma)
			} else if s > .01 {
				t.Errorf("noise of %v: the comparison shows nothing", s)
			}
		}
	}
}

// TestSamplesSeeNoCurvature: a plan for units on Poisson samples, whose schedule is the whole budget, releases no curvature.
func TestSamplesSeeNoCurvature(t *testing.T) {
	p, err := optimize.NewProblem(loss.Logistic(), budget(t), optimize.Stated(3, 20_000))
	if err != nil {
		t.Fatal(err)
	}
	p.Grouped, p.Explained = true, true
	for _, c := range []firstorder.SpiderBoost{{}, {AnchorBatch: .5, DifferenceBatch: .25},
		{Batches: firstorder.TheoremBatches}, {Batches: firstorder.AutoBatches}} {
		c.Steps, c.Period = 8, 4
		plan := planned(t, c, p)
		whole := c == firstorder.SpiderBoost{Steps: 8, Period: 4}
		if _, asked := plan.Workload().Kinds[query.WeightedCurvature]; asked != whole || (plan.Needs().Schedule == nil) != whole {
			t.Errorf("%+v: a schedule %v, curvature %v", c, plan.Needs().Schedule != nil, asked)
		}
	}
}

// TestWideUnitsSeeNoCurvature: a plan for units of more features than a certificate keeps a matrix of releases no curvature.
func TestWideUnitsSeeNoCurvature(t *testing.T) {
	for _, features := range []int{300, 301} {
		p, err := optimize.NewProblem(loss.Logistic(), budget(t), optimize.Stated(features, 1e6))
		if err != nil {
			t.Fatal(err)
		}
		p.Grouped, p.Explained = true, true
		if charge := p.CurvatureCharge(); (charge > 0) != (features == 300) {
			t.Errorf("%d features: a charge of %v", features, charge)
		}
	}
}

// TestWarmSeesNoCurvature: a run of two methods, whose trace keeps no curvature at the result, pays for none in either.
func TestWarmSeesNoCurvature(t *testing.T) {
	p, err := optimize.NewProblem(loss.Logistic(), budget(t), optimize.Stated(3, 20_000))
	if err != nil {
		t.Fatal(err)
	}
	p.Grouped, p.Explained = true, true
	if p.CurvatureCharge() == 0 {
		t.Fatal("the problem has no curvature to see")
	}
	for _, then := range []firstorder.Follower{firstorder.ThenSpiderBoost, firstorder.ThenSTORM} {
		plan := planned(t, firstorder.Warm{Then: then}, p)
		if load, asked := plan.Workload().Kinds[query.WeightedCurvature]; asked {
			t.Errorf("then %v: curvature is asked: %+v", then, load)
		}
	}
}
