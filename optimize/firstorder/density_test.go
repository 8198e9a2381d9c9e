package firstorder_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestKinksTellTheirCurvature runs fits of a quantile whose noise will be stated. The curvature that the trace states must be
// within five deviations of its noise of the second difference of the mean loss that this test computes, at the half-width
// of its last two releases: the loss at margins above and below those of the result. The charges of a run that needs all
// three half-widths add up to the budget, and no run charges more. Other problems must not release it.
func TestKinksTellTheirCurvature(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for name, c := range map[string]struct {
			spread float64
			change func(*optimize.Problem)
			widths int
		}{
			"wide residuals":   {1, func(*optimize.Problem) {}, 1},
			"narrow residuals": {.02, func(*optimize.Problem) {}, 3},
			"not stated":       {1, func(p *optimize.Problem) { p.Explained = false }, 0},
			"a far quantile":   {1, func(p *optimize.Problem) { p.Kinked, _ = loss.Pinball(.81) }, 0},
			"few records":      {1, func(p *optimize.Problem) { p.Mu /= 400 }, 0},
		} {
			own, _ := skewed(t, 300, .01, false)
			l, err := loss.Pinball(.79) // at .81 nothing is released
			if err != nil {
				t.Fatal(err)
			}
			b, err := account.NewBudget(4, 1e-6, relation)
			if err != nil {
				t.Fatal(err)
			}
			for i, y := range own.Targets {
				u := float64(own.Rows[i][1]) / .577
				own.Rows[i][0], own.Rows[i][2] = own.Rows[i][2], own.Rows[i][0] // the intercept is last
				own.Targets[i] = .2*u - .3 + c.spread*(y-.2*u+.3)
			}
			o := optimizetest.New(optimizetest.Config{Rows: own.Rows, Targets: own.Targets, Repeat: 300, Loss: l, Budget: b, Seed: 5,
				Declared: 60_000})
			p, err := optimize.NewProblem(l, b, o)
			if err != nil {
				t.Fatal(err)
			}
			if p, err = p.Smoothed(query.Smoothing{Radius: .01}); err != nil {
				t.Fatal(err)
			}
			p.Explained = true
			c.change(&p)
			plan, err := firstorder.Preconditioned{}.Plan(ctx, p)
			result := run(t, resolve(t, plan, err), o)
			asked := o.Asked
			widths := 0
			for _, a := range asked {
				if term := a.Question.Term(0); term.Kind() == query.ValueChange {
					widths++
					if centre := term.Ball().Centre; (centre == 0) != (relation == account.AddOrRemove) {
						t.Errorf("%s, %v: centre %v: must be 0 where the number of records is secret", name, relation, centre)
					}
				}
			}
			if widths != 2*c.widths || (result.Trace.LevelSigma > 0) != (widths > 0) {
				t.Errorf("%s: %d changes of the loss, noise %v: must be %d changes", name, widths, result.Trace.LevelSigma, 2*c.widths)
				continue
			}
			_, charged := charges(asked)
			sum := 0.
			for _, v := range charged {
				sum += v
			}
			if sum > p.Charge()*(1+1e-9) || c.widths != 1 && c.widths != 2 && sum < p.Charge()*(1-1e-6) {
				t.Errorf("%s: charges of %v: must be %v", name, sum, p.Charge())
			}
			if widths == 0 {
				continue
			}
			moment, err := result.Trace.Moment.Matrix()
			if err != nil {
				t.Fatal(err)
			}
			step := []float64{.32, .12, .045}[c.widths-1] / math.Sqrt(moment[8])
			bend := 0.
			for i, x := range own.Rows {
				z := 0.
				for j, v := range x {
					z += float64(v) * result.W[j]
				}
				v, h := []float64{0, 0, 0}, step*float64(x[2])
				l.Values(v, []float64{z - h, z, z + h}, []float64{own.Targets[i], own.Targets[i], own.Targets[i]})
				bend += (v[0] - 2*v[1] + v[2]) / float64(len(own.Rows))
			}
			got, noise := result.Trace.Level, result.Trace.LevelSigma
			last, before := asked[len(asked)-1].Answer.Sigma, asked[len(asked)-2].Answer.Sigma
			if want := math.Hypot(last, before) / (step * step); !(math.Abs(noise/want-1) <= .01) {
				t.Errorf("%s: noise of %v is stated: that of the two changes is %v", name, noise, want)
			}
			if want := bend / (step * step); !(math.Abs(got-want) <= 5*noise) || !(noise < want/3) {
				t.Errorf("%s: curvature %v with noise of %v: must be near %v", name, got, noise, want)
			}
		}
	}
}

// TestWeightedRowsSeeTheirCurvature tests that a fit of rows with weights of their own plans to release the curvature at
// the result, and that a fit of several margins does not.
func TestWeightedRowsSeeTheirCurvature(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, weighted := range []bool{false, true} {
		l := loss.Logistic()
		var of loss.Loss = l
		if weighted {
			if of, err = loss.NewWeighted(l, loss.Weights{Row: true}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := optimize.NewProblem(of, b, optimize.Stated(8, 50_000))
		if err != nil {
			t.Fatal(err)
		}
		p.Explained = true
		plan, err := firstorder.Preconditioned{}.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if _, curvature, _, _ := firstorder.Charges(plan); (curvature > 0) != weighted {
			t.Errorf("weighted %v: %v of the budget for the curvature", weighted, curvature/p.Charge())
		}
	}
}

// TestCurvatureHasItsNoise: the curvature at the result that a trace keeps is the last release of its kind, with the noise of
// that release, and the charges of the run add up to the budget: for a loss whose second derivative jumps and for rows with
// weights.
func TestCurvatureHasItsNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	rows, targets := make([][]float32, 400), make([]float64, 400)
	for i := range rows {
		rows[i], targets[i] = []float32{float32(r.Float64() - .5), .6}, float64(2*r.IntN(2)-1)
	}
	huber, err := loss.Huber(.1)
	if err != nil {
		t.Fatal(err)
	}
	weighted, err := loss.NewWeighted(loss.Logistic(), loss.Weights{Row: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []loss.Loss{huber, weighted} {
		o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Repeat: 100, Loss: l, Budget: budget(t), Seed: 8})
		p, err := optimize.NewProblem(l, budget(t), o)
		if err != nil {
			t.Fatal(err)
		}
		p.Explained = true
		plan, err := firstorder.Preconditioned{}.Plan(ctx, p)
		got := run(t, resolve(t, plan, err), o).Trace.Curvature
		last := o.Asked[len(o.Asked)-1]
		if last.Question.Term(0).Kind() != query.WeightedCurvature || got == nil {
			t.Fatalf("%s: the last release is %s", l.Name(), last.Question.Name())
		}
		want, dim, err := query.Symmetric(last.Answer.Mean)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := got.Matrix()
		if err != nil {
			t.Fatal(err)
		}
		for j := range want {
			if dim != 2 || !(math.Abs(kept[j]-want[j]) <= got.Step) {
				t.Errorf("%s: %v is kept: %v was released", l.Name(), kept, want)
			}
		}
		if !(math.Abs(got.Sigma/last.Answer.Sigma-1) <= 1e-3) {
			t.Errorf("%s: noise of %v is stated: it was released with %v", l.Name(), got.Sigma, last.Answer.Sigma)
		}
		_, charged := charges(o.Asked)
		sum := 0.
		for _, v := range charged {
			sum += v
		}
		if !(math.Abs(sum-p.Charge()) <= 1e-6*p.Charge()) {
			t.Errorf("%s: charges of %v: must be %v", l.Name(), sum, p.Charge())
		}
	}
}

// TestWeightedKinksKeepTheirCurvature: a plan for a quantile of rows with weights, of which the mean is not released, asks for
// no change of the loss, whose size in the intercept follows from the slopes of rows without weights.
func TestWeightedKinksKeepTheirCurvature(t *testing.T) {
	l, err := loss.Pinball(.75)
	if err != nil {
		t.Fatal(err)
	}
	weighted, err := loss.NewWeighted(l, loss.Weights{Row: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []loss.Loss{l, weighted} {
		p, err := optimize.NewProblem(of, budget(t), optimize.Stated(3, 60_000))
		if err != nil {
			t.Fatal(err)
		}
		if p, err = p.Smoothed(query.Smoothing{Radius: .01}); err != nil {
			t.Fatal(err)
		}
		p.Explained = true
		plan, err := firstorder.Preconditioned{}.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		load, asked := plan.Workload().Kinds[query.ValueChange] // two for each of three half-widths, of all records each
		if asked == loss.RowWeighted(of) || asked && load != (optimize.Load{Queries: 6, Passes: 6}) {
			t.Errorf("%s: changes of the loss are asked: %v, %v", of.Name(), asked, load)
		}
	}
}
