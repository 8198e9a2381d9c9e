package onestep_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

func budget(t testing.TB, epsilon float64, r account.Relation) account.Budget {
	t.Helper()
	b, err := account.NewBudget(epsilon, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// scale is the intercept's value in a row. With it, rows of two numbers and an intercept have norm at
// most 1.
var scale = 1 / math.Sqrt(3)

// columns returns the formula of two numbers and an intercept.
func columns() []inference.Column {
	return []inference.Column{{Feature: 0}, {Feature: 1}, {Feature: 2, Kept: true}}
}

// truth has the log odds for the two numbers and the intercept, for rows before scaling.
var truth = []float64{1, -.6, .3}

// generated returns n rows of two numbers in [-1, 1] and an intercept, with targets in {-1, 1}.
func generated(seed uint64, n int) (rows [][]float32, targets []float64) {
	r := rand.New(rand.NewPCG(seed, 5))
	for range n {
		a, b := 2*r.Float64()-1, 2*r.Float64()-1
		rows = append(rows, []float32{float32(scale * a), float32(scale * b), float32(scale)})
		y := -1.
		if r.Float64() < 1/(1+math.Exp(-(truth[0]*a+truth[1]*b+truth[2]))) {
			y = 1
		}
		targets = append(targets, y)
	}
	return rows, targets
}

func intervals() onestep.Intervals {
	return onestep.Intervals{Level: .95, Columns: columns(), Curvature: onestep.Logistic, Intercept: scale, Features: 3}
}

func run(t testing.TB, c optimizetest.Config, a onestep.Intervals) (optimize.Result, *optimizetest.Oracle, error) {
	t.Helper()
	o := optimizetest.New(c)
	p, err := optimize.NewProblem(c.Loss, c.Budget, o)
	if err != nil {
		t.Fatal(err)
	}
	return runOf(t, p, o, a)
}

// runOf runs the plan of a problem on the records of an oracle.
func runOf(t testing.TB, p optimize.Problem, o *optimizetest.Oracle, a onestep.Intervals) (optimize.Result,
	*optimizetest.Oracle, error) {
	t.Helper()
	plan, err := a.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(context.Background(), o, nil)
	return res, o, err
}

// TestCoversQuickly is a short version of the simulations of lab/results/inference.md: of 24 fits with 2
// coefficients each, with fixed seeds, at least 40 of the 48 intervals must contain the truth, and no
// column may be dropped. (48 intervals with coverage .95 contain it 46 times on average, and less than
// 40 times with probability 4e-3; the seeds make the outcome the same at every run.)
func TestCoversQuickly(t *testing.T) {
	hits, made := 0, 0
	for seed := range uint64(24) {
		rows, targets := generated(seed, 1200)
		res, _, err := run(t, optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(),
			Budget: budget(t, 8, account.ReplaceOne), Seed: seed}, intervals())
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Inference.Dropped) > 0 {
			t.Fatalf("seed %d: the formula was shortened: %+v", seed, res.Inference.Dropped)
		}
		for j := range 2 {
			w := make([]float64, 3)
			w[j] = scale
			v := res.Inference.Contrast(w, 0)
			if v.State == inference.Reported {
				made++
			}
			if v.Contains(truth[j]) {
				hits++
			}
			if v.State == inference.Reported && (v.High-v.Low > 2 || !(math.Abs(v.Estimate-scale*res.W[j]) <= 1e-9)) {
				t.Errorf("seed %d: %+v: is no interval of use, or not the model's weight %v", seed, v, scale*res.W[j])
			}
		}
	}
	if hits < 40 || made != 48 {
		t.Errorf("%d of %d intervals hold the truth, of 48", hits, made)
	}
}

// TestChargesArePlanned: the releases and their charges must be the plan's, under both relations, and
// sum to the budget. The test fails for a release that is not in the plan.
func TestChargesArePlanned(t *testing.T) {
	rows, targets := generated(3, 300)
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		c := optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(), Budget: budget(t, 4, relation), Seed: 1,
			Declared: 310}
		_, o, err := run(t, c, intervals())
		if err != nil {
			t.Fatal(err)
		}
		total, of := map[query.Kind]float64{}, c.Budget.Charge()
		for _, a := range o.Asked {
			total[a.Question.Terms()[0].Kind()] += a.Answer.Charge / of
			if a.Question.Cohort() != o.All() {
				t.Error("a release that is not about all records")
			}
		}
		for k, want := range map[query.Kind]float64{query.SecondMoment: .10, query.WeightedGradient: .08 + .14 + .36,
			query.WeightedCurvature: .09 + .17, query.ScoreMoment: .05, query.WeightedMoment: .01} {
			if !(math.Abs(total[k]-want) <= 1e-6) {
				t.Errorf("%v: %v: %v of the budget, want %v", relation, k, total[k], want)
			}
			delete(total, k)
		}
		if len(total) > 0 || o.Charged() > of {
			t.Errorf("%v: other releases %v; charged %v of %v", relation, total, o.Charged(), of)
		}
	}
}

// TestSensitivitiesAreBounded: every release must be clipped to the bound that the reach gives. All
// releases must use the same reach and metric, so that gradient, curvature and S belong to one weighted
// equation.
func TestSensitivitiesAreBounded(t *testing.T) {
	rows, targets := generated(4, 300)
	_, o, err := run(t, optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(),
		Budget: budget(t, 4, account.ReplaceOne), Seed: 1}, intervals())
	if err != nil {
		t.Fatal(err)
	}
	reaches := map[float64]bool{}
	for _, a := range o.Asked[1:] {
		term := a.Question.Terms()[0]
		reaches[term.Reach()] = true
		want := map[query.Kind]float64{query.WeightedGradient: term.Reach(), query.WeightedCurvature: .25 * term.Reach() *
			term.Reach(), query.ScoreMoment: term.Reach() * term.Reach(), query.WeightedMoment: term.Reach() * term.Reach()}[term.Kind()]
		if term.Ball().Radius != want {
			t.Errorf("%v: radius %v: want %v", term.Kind(), term.Ball().Radius, want)
		}
	}
	if len(reaches) != 1 {
		t.Errorf("reaches %v: must be one", reaches)
	}
}

// TestNoiseAloneIdentifiesNothing: with a budget of nearly zero no narrow interval may be reported.
func TestNoiseAloneIdentifiesNothing(t *testing.T) {
	rows, targets := generated(5, 200)
	for seed := range uint64(20) {
		res, _, err := run(t, optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(),
			Budget: budget(t, .02, account.ReplaceOne), Seed: seed}, intervals())
		if err != nil {
			t.Fatal(err)
		}
		for j := range 2 {
			w := make([]float64, 3)
			w[j] = scale
			if v := res.Inference.Contrast(w, 0); v.State == inference.Reported && v.High-v.Low < 2 {
				t.Errorf("seed %d: a narrow interval from noise: %+v", seed, v)
			}
		}
	}
}

// TestRefuses: a problem for which there are no such intervals must be refused before any query.
func TestRefuses(t *testing.T) {
	rows, targets := generated(6, 50)
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(),
		Budget: budget(t, 1, account.ReplaceOne)})
	good, err := optimize.NewProblem(loss.Logistic(), budget(t, 1, account.ReplaceOne), o)
	if err != nil {
		t.Fatal(err)
	}
	l2, err := loss.ParseRegularizer("l2(0.1)")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		of      func(p *optimize.Problem, a *onestep.Intervals)
		message string
	}{
		"a regularizer": {func(p *optimize.Problem, _ *onestep.Intervals) { p.Regularizer = l2 }, "regularizer"},
		"margins": {func(p *optimize.Problem,
			_ *onestep.Intervals) {
			p.Shape = optimize.Shape{Margins: 3, Features: 1}
		}, "one margin"},
		"many classes": {func(p *optimize.Problem, a *onestep.Intervals) {
			p.Shape, a.Features, a.Curvature = optimize.Shape{Margins: 3, Features: 667}, 667, onestep.Softmax
		}, "2001 weights of features: must be at most 2000"},
		"no formula":     {func(_ *optimize.Problem, a *onestep.Intervals) { a.Columns = nil }, "formula"},
		"a level of 1":   {func(_ *optimize.Problem, a *onestep.Intervals) { a.Level = 1 }, "level"},
		"other features": {func(_ *optimize.Problem, a *onestep.Intervals) { a.Features = 4 }, "features"},
	} {
		p, a := good, intervals()
		c.of(&p, &a)
		if _, err := a.Plan(context.Background(), p); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStopsWhereItIs: a run that an error interrupts must return the last point and no intervals.
func TestStopsWhereItIs(t *testing.T) {
	rows, targets := generated(7, 200)
	stop := errors.New("stop")
	for _, at := range []int{0, 5, 9, 12} {
		c := optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(),
			Budget: budget(t, 4, account.ReplaceOne), Seed: 1, Script: func(k int) error {
				if k == at {
					return stop
				}
				return nil
			}}
		res, o, err := run(t, c, intervals())
		if !errors.Is(err, stop) || res.Complete || res.Inference != nil || len(o.Asked) != at+1 {
			t.Errorf("stopped at %d: %v, complete %v, %+v", at, err, res.Complete, res.Inference)
		}
		if at == 0 && slices.Max(res.W) != 0 {
			t.Errorf("stopped before anything was released: %v", res.W)
		}
	}
}

// TestTwoNewtonSteps: gradient and curvature of the first Newton step must be released at one point, and
// the last gradient at the point to which this step leads. The last curvature and S must be released at one
// point. With epsilon 8 this point must be between the last gradient's point and the estimate. With epsilon
// .5 noise hides the direction of least curvature, and this point must be the last gradient's point.
func TestTwoNewtonSteps(t *testing.T) {
	rows, targets := generated(8, 400)
	for _, epsilon := range []float64{8, .5} {
		res, o, err := run(t, optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(),
			Budget: budget(t, epsilon, account.ReplaceOne), Seed: 2}, intervals())
		if err != nil {
			t.Fatal(err)
		}
		n := len(o.Asked)
		at := func(back int) []float64 { return o.Asked[n-1-back].Question.Terms()[0].Point() }
		if !slices.Equal(at(1), at(2)) || !slices.Equal(at(4), at(5)) {
			t.Error("a curvature is of another point than the variance or the gradient")
		}
		if slices.Equal(at(3), at(4)) || slices.Equal(at(3), res.W) || slices.Equal(at(5), at(6)) {
			t.Error("a Newton step leads nowhere")
		}
		if ahead := !slices.Equal(at(2), at(3)); ahead != (epsilon == 8) {
			t.Errorf("epsilon %v: the last curvature is of a point ahead: %v", epsilon, ahead)
		}
		if epsilon == .5 {
			continue
		}
		whole, part := 0., 0. // along the way to the estimate
		for j, w := range res.W {
			whole += (w - at(3)[j]) * (w - at(3)[j])
			part += (at(2)[j] - at(3)[j]) * (w - at(3)[j])
		}
		if share := part / whole; share < .2 || share > .5 {
			t.Errorf("the last curvature is of a point at %v of the way to the estimate: want about .36", share)
		}
	}
}

// TestCountsBeginAtTheirMean: the fit of counts must begin at the mean rate, which its first steps find.
// The second derivative must be clipped near this rate, far below the bound of the loss. The estimates must
// be near the true coefficients.
func TestCountsBeginAtTheirMean(t *testing.T) {
	l, err := loss.Poisson(.5)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	var rows [][]float32
	var targets []float64
	const most = 8.
	for range 4000 {
		a, b := 2*r.Float64()-1, 2*r.Float64()-1
		rows = append(rows, []float32{float32(scale * a), float32(scale * b), float32(scale)})
		count := 0.
		for at := r.ExpFloat64(); at < math.Exp(.4*a-.3*b-.5) && count < most; at += r.ExpFloat64() {
			count++
		}
		targets = append(targets, 2*count/most-1)
	}
	of := intervals()
	of.Curvature = onestep.Exponential
	res, o, err := run(t, optimizetest.Config{Rows: rows, Targets: targets, Loss: l,
		Budget: budget(t, 8, account.ReplaceOne), Seed: 2}, of)
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{.4, -.3, -.5 - math.Log(most)} {
		if got := scale * res.W[j]; !(math.Abs(got-want) <= .2) {
			t.Errorf("coefficient %d: %v: want about %v", j, got, want)
		}
	}
	start := o.Asked[4].Question.Terms()[0].Point()[2] * scale
	if !(math.Abs(start+.5+math.Log(most)) <= .3) {
		t.Errorf("the fit begins at the margin %v: want about %v", start, -.5-math.Log(most))
	}
	bounds := 0
	for _, a := range o.Asked {
		if term := a.Question.Terms()[0]; term.Kind() == query.WeightedCurvature {
			bounds++
			if at := term.Slope(); at < .25 || at > .75 {
				t.Errorf("curvature clipped at %v: want about .5", at)
			}
		}
	}
	if bounds != 2 {
		t.Errorf("%d curvatures", bounds)
	}
}

// TestCostsBeginAtTheBaseRate: the fit of costs must begin at the constant of the released base rate, and end near the
// true coefficients. Without it the fit would begin at the upper bound, a thousand times the mean, and the curvature
// there is about 0.
func TestCostsBeginAtTheBaseRate(t *testing.T) {
	l, err := loss.Parse("gamma(5,1e-06)")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	var rows [][]float32
	var targets []float64
	const mean = -7. // the logarithm of the mean as a fraction of the largest number
	for range 4000 {
		a, b := 2*r.Float64()-1, 2*r.Float64()-1
		rows = append(rows, []float32{float32(scale * a), float32(scale * b), float32(scale)})
		v := r.ExpFloat64() * math.Exp(mean+.4*a-.3*b)
		targets = append(targets, 2*(max(v, 1e-6)-1e-6)/(1-1e-6)-1)
	}
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: budget(t, 8, account.ReplaceOne),
		Seed: 2})
	p, err := optimize.NewProblem(l, budget(t, 8, account.ReplaceOne), o)
	if err != nil {
		t.Fatal(err)
	}
	p.Base = &optimize.Base{Margins: []float64{mean + .1}, Resolved: true}
	of := intervals()
	of.Curvature = onestep.Relative
	plan, err := of.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(t.Context(), &far{o, 1, 27}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if start := o.Asked[1].Question.Terms()[0].Point()[2] * scale; !(math.Abs(start-p.Base.Margins[0]) <= 1e-6) {
		t.Errorf("the fit begins at the margin %v: want %v", start, p.Base.Margins[0])
	}
	for j, want := range []float64{.4, -.3, mean} {
		if got := scale * res.W[j]; !(math.Abs(got-want) <= .2) {
			t.Errorf("coefficient %d: %v: want about %v", j, got, want)
		}
	}
	if !(res.Inference.Allowance > 0) {
		t.Errorf("allowance %v: the curvature of such losses is that of an exponential", res.Inference.Allowance)
	}
}
