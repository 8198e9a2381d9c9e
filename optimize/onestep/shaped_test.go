package onestep_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// related returns n rows of which the second number is a share of the first, and the rest at random.
func related(n int, share float32) (rows [][]float32, targets []float64) {
	rows, targets = generated(12, n)
	r := rand.New(rand.NewPCG(12, 12))
	for _, x := range rows {
		x[1] = share*x[0] + (1-share)*float32(scale*(2*r.Float64()-1))
	}
	return rows, targets
}

// shapeOf recomputes the shape of a run from its first answer: the noise of the curvature is that of .17 of the budget,
// and beta is 4 where the noise of the last gradient, at .36 of the budget, has at most .3 of the sampling variance.
func shapeOf(t *testing.T, o *optimizetest.Oracle, n, usual float64, whole account.Budget) (*inference.Shape, []int, float64) {
	t.Helper()
	first := o.Asked[0].Answer
	moves := query.WeightedCurvature.Facts().Moves(account.ReplaceOne)
	b := inference.Bounds{MomentSigma: first.Sigma, Unit: moves / (n * whole.Mu() * math.Sqrt(.17)), Usual: usual, Beta: 4}
	shape, dropped, err := inference.Shorten(symmetric(t, first.Mean), columns(), b)
	if err != nil {
		t.Fatal(err)
	}
	if noise := 2 * shape.Reach / (n * whole.Mu() * .6); noise*noise > .3*.15/n {
		b.Beta = 2.5
		if shape, dropped, err = inference.Shorten(symmetric(t, first.Mean), columns(), b); err != nil {
			t.Fatal(err)
		}
	}
	return shape, dropped, b.Beta
}

// TestShapeIsRecomputed recomputes the columns that stay, the metric, the reach and the columns that carry a dropped
// one from the first answer of a run. The budgets are such that rows get the larger and the smaller reach, and that a
// column is dropped, of which another carries nearly all, or what a tenth more or less of noise decides.
func TestShapeIsRecomputed(t *testing.T) {
	betas, absorbed, turned := map[float64]bool{}, 0, [2]bool{}
	var byBase []int // number of dropped columns, of a rare class and of another
	for _, c := range []struct {
		epsilon float64
		related float32
		base    float64 // curvature at the base rate
	}{{40, 0, 0}, {2, 0, 0}, {3, .95, 0}, {40, .95, 0}, {.4, .95, 0}, {.4, .44, 0}, {.4, .42, 0}, {40, 0, .24}, {3, 0, .005},
		{3, 0, 0}} {
		rows, targets := generated(3, 1500)
		if c.related > 0 {
			rows, targets = related(1500, c.related)
		}
		whole := budget(t, c.epsilon, account.ReplaceOne)
		o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(), Budget: whole, Seed: 4})
		p, err := optimize.NewProblem(loss.Logistic(), whole, o)
		if err != nil {
			t.Fatal(err)
		}
		usual := .48
		if c.base > 0 {
			p.Base = &optimize.Base{Margins: []float64{0}, Curvature: c.base}
			usual = min(usual, .8*c.base/.25)
		}
		res, o, err := runOf(t, p, o, intervals())
		if err != nil {
			t.Fatal(err)
		}
		shape, dropped, beta := shapeOf(t, o, 1500, usual, whole)
		if c.epsilon == 3 && c.related == 0 {
			byBase = append(byBase, len(dropped))
		}
		betas[beta] = true
		fit := res.Inference
		if !slices.Equal(fit.Dropped, dropped) || !(math.Abs(fit.Reach/shape.Reach-1) <= 1e-9) {
			t.Errorf("%+v: dropped %v, reach %v: must be %v, %v", c, fit.Dropped, fit.Reach, dropped, shape.Reach)
		}
		want := inference.Absorb(symmetric(t, o.Asked[0].Answer.Mean), shape.Columns, dropped, o.Asked[0].Answer.Sigma)
		for i, noise := range []float64{.9, 1.1} {
			other := inference.Absorb(symmetric(t, o.Asked[0].Answer.Mean), shape.Columns, dropped, noise*o.Asked[0].Answer.Sigma)
			turned[i] = turned[i] || len(other) != len(want)
		}
		if absorbed += len(want); !slices.Equal(fit.Absorbed, want) {
			t.Errorf("%+v: absorbed %+v: must be %+v", c, fit.Absorbed, want)
		}
		full := shape.Full(3)
		for _, a := range o.Asked[1:] {
			term := a.Question.Terms()[0]
			for j, v := range metricOf(term.Metric()) {
				if !(math.Abs(v-full[j]) <= 1e-5*math.Abs(full[8])) || !(math.Abs(term.Reach()/shape.Reach-1) <= 1e-9) {
					t.Fatalf("%+v: a question in another metric than the first answer's, or of reach %v", c, term.Reach())
				}
			}
		}
	}
	if len(byBase) != 2 || byBase[0] <= byBase[1] {
		t.Errorf("%v columns dropped of a rare class and of another: of the rare one the curvature is a fiftieth", byBase)
	}
	if len(betas) != 2 || absorbed == 0 || turned != [2]bool{true, true} {
		t.Errorf("betas %v, %d absorbed columns, others with less or more noise %v: must try both and some", betas, absorbed, turned)
	}
}

// TestCountsAreRecomputed recomputes the fit of counts from its recorded questions: three constant rates, of which each
// is the one before less its mean slope, then steps of 1 over the bound of the curvature, which is four times the rate,
// and the mean of the second half of them.
func TestCountsAreRecomputed(t *testing.T) {
	l, err := loss.Poisson(.5)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := generated(9, 1500)
	r := rand.New(rand.NewPCG(3, 3))
	targets := make([]float64, len(rows))
	const most = 8.
	for i, x := range rows {
		count := 0.
		for at := r.ExpFloat64(); at < math.Exp(float64(.4*x[0]-.3*x[1])/scale-.25) && count < most; at += r.ExpFloat64() {
			count++
		}
		targets[i] = 2*count/most - 1
	}
	of := intervals()
	of.Curvature = onestep.Exponential
	whole := budget(t, 20, account.ReplaceOne)
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: whole, Seed: 6})
	problem, err := optimize.NewProblem(l, whole, o)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := of.Plan(t.Context(), problem)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(t.Context(), &far{o, 1, 27}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shape, dropped, _ := shapeOf(t, o, 1500, .25, whole)
	if len(dropped) > 0 {
		t.Fatal(dropped)
	}
	metric := o.Asked[1].Question.Terms()[0].Metric()
	same := func(name string, i int, b []float64) {
		t.Helper()
		want, got := metric.Times(b), o.Asked[i].Question.Terms()[0].Point()
		for j := range want {
			if !(math.Abs(got[j]-want[j]) <= 1e-5) {
				t.Fatalf("%s %d is %v: must be %v", name, i, got, want)
			}
		}
	}
	constant := func(z float64) []float64 { return times(shape.Metric, []float64{0, 0, z / scale}) }
	slope := l.(loss.Loss).Constants().Lipschitz
	rate := min(1, slope)
	for i := range 3 {
		same("a constant rate", 1+i, constant(math.Log(rate)))
		rate = max(rate-times(shape.Metric, o.Asked[1+i].Answer.Mean)[2]/scale, rate/8)
	}
	bound := max(slope, 4*rate)
	b := constant(math.Log(rate))
	last, mean := slices.Clone(b), make([]float64, 3)
	for s := range 21 {
		y := make([]float64, 3)
		for j := range y {
			y[j] = b[j] + float64(s)/float64(s+3)*(b[j]-last[j])
		}
		same("the point of a step", 4+s, y)
		copy(last, b)
		for j := range b {
			b[j] = y[j] - o.Asked[4+s].Answer.Mean[j]/bound
			if s >= 10 {
				mean[j] += b[j] / 11
			}
		}
	}
	same("the fit", 25, mean)
	for _, i := range []int{26, 28} {
		if got := o.Asked[i].Question.Terms()[0].Slope(); !(math.Abs(got/bound-1) <= 1e-9) {
			t.Errorf("curvature %d is clipped at %v: must be %v", i, got, bound)
		}
	}
	for i, q := range o.Asked[1:] {
		term := q.Question.Terms()[0]
		if k := term.Kind(); (k == query.WeightedGradient || k == query.ScoreMoment) && !(math.Abs(term.Slope()/slope-1) <= 1e-9) {
			t.Errorf("question %d has slopes up to %v: must be %v", i+1, term.Slope(), slope)
		}
	}
	// The remainder of the Newton step, with the bend 1 of an exponential.
	h := symmetric(t, o.Asked[28].Answer.Mean)
	first := times(symmetric(t, o.Asked[26].Answer.Mean), o.Asked[25].Answer.Mean)
	at := slices.Clone(mean)
	for j := range at {
		at[j] -= first[j]
	}
	e, err := inference.Solve(inference.Released{Records: 1500, At: at, Gradient: o.Asked[27].Answer.Mean,
		GradientSigma: o.Asked[27].Answer.Sigma, Curvature: h, CurvatureSigma: o.Asked[28].Answer.Sigma,
		Middle: symmetric(t, o.Asked[29].Answer.Mean), MiddleSigma: o.Asked[29].Answer.Sigma}, .95)
	if err != nil {
		t.Fatal(err)
	}
	var ahead []float64
	if res.Inference.Halfway {
		if ahead, err = inference.Ahead(o.Asked[27].Answer.Mean, symmetric(t, o.Asked[26].Answer.Mean), o.Asked[26].Answer.Sigma,
			.72); err != nil {
			t.Fatal(err)
		}
	}
	want := e.Allowances(shape, scale, func(float64, float64) float64 { return 1 }, ahead)
	for j := range want {
		if !(math.Abs(res.Inference.Remainders[j]-want[j]) <= 1e-6*math.Abs(want[0])) || !(want[0] > 0) {
			t.Errorf("remainders %v: must be %v", res.Inference.Remainders, want)
			break
		}
	}
	if all := e.Allowance(shape.Seen, 1, ahead); !(math.Abs(res.Inference.Allowance/all-1) <= 1e-6) {
		t.Errorf("allowance %v: must be %v", res.Inference.Allowance, all)
	}
}

// TestForeseenInNumbers works the expected standard errors out by hand: that of sampling is the root of .15 squared
// slopes over the records, and noise has the reach of a formula of three columns, each over the usual curvature.
func TestForeseenInNumbers(t *testing.T) {
	counts, err := loss.Poisson(.5)
	if err != nil {
		t.Fatal(err)
	}
	squared, err := loss.Squared(.75)
	if err != nil {
		t.Fatal(err)
	}
	small, err := loss.Parse("gamma(0.3,0.01)")
	if err != nil {
		t.Fatal(err)
	}
	wide, err := loss.Parse("gamma(3,0.01)") // whose squared slope is above that of a relative residual
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss      loss.Loss
		of        onestep.Curvature
		curvature float64
	}{{loss.Logistic(), onestep.Logistic, .48 * .25}, {squared, onestep.Flat, 1}, {counts, onestep.Exponential, -1},
		{small, onestep.Relative, 1}, {wide, onestep.Relative, 1}} {
		o := optimizetest.New(optimizetest.Config{Rows: [][]float32{{0, 0, float32(scale)}}, Targets: []float64{1}, Loss: c.loss,
			Budget: budget(t, 4, account.ReplaceOne)})
		p, err := optimize.NewProblem(c.loss, budget(t, 4, account.ReplaceOne), o)
		if err != nil {
			t.Fatal(err)
		}
		a := intervals()
		a.Curvature = c.of
		l0 := p.Constants.Lipschitz
		if c.curvature < 0 {
			c.curvature = l0 / 3
		}
		for _, n := range []float64{700, 90_000} {
			const mu = .37
			edge := query.SecondMoment.Facts().Moves(account.ReplaceOne) / (n * mu * math.Sqrt(.1)) * math.Sqrt(6)
			reach := math.Sqrt(min(4*3, 1/edge))
			if noise := 2 * reach / (n * mu * .6); noise*noise > .3*.15/n {
				reach = math.Sqrt(min(2.5*3, 1/edge))
			}
			square, noise := .15*l0*l0/n, 2*l0*reach/(n*mu*.6)
			if c.of == onestep.Relative {
				square = math.Min(square, 1/n)
			}
			total, sampling := a.Foresee(p, n, mu)
			if want := math.Sqrt(square) / c.curvature; !(math.Abs(sampling/want-1) <= 1e-9) {
				t.Errorf("%s, %v records: sampling %v: must be %v", c.loss.Name(), n, sampling, want)
			}
			if want := math.Sqrt(square+noise*noise) / c.curvature; !(math.Abs(total/want-1) <= 1e-9) {
				t.Errorf("%s, %v records: total %v: must be %v", c.loss.Name(), n, total, want)
			}
		}
	}
}
