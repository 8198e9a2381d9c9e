package firstorder_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// manyFeatures returns rows of d features and the problem of logistic regression on these rows. In each row
// four features are not zero: two pairs of features that are equal in all rows.
func manyFeatures(t *testing.T, n, d int) (optimize.Problem, optimizetest.Config) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, uint64(d)))
	config := optimizetest.Config{Loss: loss.Logistic(), Repeat: 50, Seed: 3}
	for range n {
		x := make([]float32, d)
		for c := range 2 {
			k := int(float64(d/4) * math.Pow(r.Float64(), 4))
			x[c*(d/4)+k], x[(c+2)*(d/4)+k] = .5, .5
		}
		config.Rows, config.Targets = append(config.Rows, x), append(config.Targets, float64(2*r.IntN(2)-1))
	}
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	config.Budget = b
	p, err := optimize.NewProblem(config.Loss, b, optimize.Stated(d, float64(50*n)))
	if err != nil {
		t.Fatal(err)
	}
	p.Filled = 4
	return p, config
}

// TestManyFeaturesTakeADiagonalMetric: for more than query.MaxPairs features, a run must release the mean
// squares of the features for a tenth of the budget. It must make its steps in the diagonal metric that
// follows from the answer, with a ridge of 30 standard deviations of the noise. It must spend the budget
// exactly, and its record must state the release and the metric.
func TestManyFeaturesTakeADiagonalMetric(t *testing.T) {
	const d = query.MaxPairs + 4
	p, config := manyFeatures(t, 40, d)
	plan, err := firstorder.Preconditioned{Steps: 3}.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	s := plan.Summary()
	if want := 4. / 3 / 4 / .25; !(math.Abs(s.StepSize-want) <= 1e-12) || s.PairPasses != 0 ||
		!strings.Contains(s.Charges, "mean squares of the features") {
		t.Errorf("steps of %v, %v passes over pairs, %s: want %v", s.StepSize, s.PairPasses, s.Charges, want)
	}
	o := optimizetest.New(config)
	result, err := plan.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := o.Asked
	first, total := log[0], 0.
	for _, a := range log {
		total += a.Question.Charge()
	}
	if k := first.Question.Terms()[0].Kind(); k != query.SquaredFeatures ||
		!(math.Abs(first.Question.Charge()/p.Charge()-.1) <= 1e-9) || !(math.Abs(total/p.Charge()-1) <= 1e-9) {
		t.Fatalf("%v at %v of the budget, of which %v was spent", k, first.Question.Charge()/p.Charge(), total/p.Charge())
	}
	metric := log[1].Question.Terms()[0].Metric()
	if !metric.Diagonal() || metric.Dim() != d {
		t.Fatalf("metric of dimension %d, diagonal %v", metric.Dim(), metric.Diagonal())
	}
	ridge := 30 * first.Answer.Sigma
	for j, v := range first.Answer.Mean {
		want := 1 / math.Sqrt(max(v, 0)+ridge)
		if got := float64(metric.Entry(j)) * metric.Step(); !(math.Abs(got-want) <= metric.Step()) {
			t.Fatalf("entry %d of the metric is %v: want %v", j, got, want)
		}
		if got := result.Trace.Scales[j]; !(math.Abs(got-want) <= metric.Step()) {
			t.Fatalf("the noise in weight %d is scaled by %v: want %v", j, got, want)
		}
	}
	if m := result.Trace.Moment; m == nil || !m.Diagonal || m.Features != d || len(m.Rows) != 0 ||
		!(math.Abs(m.Ridge/ridge-1) <= 1e-3) {
		t.Errorf("the record is %+v", m)
	}
	if result.Rows != nil {
		t.Error("mean squares are taken for the second moment")
	}
}

// TestDiagonalStepsAreStable: for rows with up to four nonzero features that are copies of each other, the
// curvature in the metric times the step size must be below 4/3, the limit for Nesterov's momentum, and not
// far below it.
func TestDiagonalStepsAreStable(t *testing.T) {
	const d = query.MaxPairs + 4
	p, config := manyFeatures(t, 300, d)
	config.Noiseless = true
	plan, err := firstorder.Preconditioned{Steps: 1}.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	o := optimizetest.New(config)
	if _, err := plan.Run(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	most := largest(o.Asked[1].Question.First().Metric(), config.Rows)
	if got := most * .25 * plan.Summary().StepSize; !(got < 4./3 && got > .2) {
		t.Errorf("the step times the largest curvature is %v", got)
	}
}

// largest returns the largest eigenvalue of the rows' second moment in a metric, by the power method.
func largest(metric query.Metric, rows [][]float32) (most float64) {
	d := metric.Dim()
	u := make([]float64, d)
	for j := range u {
		u[j] = 1
	}
	for range 100 { // the power method
		v := make([]float64, d)
		pu := metric.Times(u)
		for _, x := range rows {
			inner := 0.
			for j, e := range x {
				inner += float64(e) * pu[j]
			}
			for j, e := range x {
				if e != 0 {
					v[j] += inner * float64(e) / float64(len(rows))
				}
			}
		}
		u = metric.Times(v)
		most = optimize.Norm(u)
		for j := range u {
			u[j] /= most
		}
	}
	return most
}

// TestFullRowsHaveNoDiagonalMetric: if all of many features may be nonzero in a row, Plan must return an
// error that states the limit.
func TestFullRowsHaveNoDiagonalMetric(t *testing.T) {
	p, _ := manyFeatures(t, 4, query.MaxPairs+4)
	for filled, served := range map[int]bool{0: false, 4: true, 64: true, 65: false} {
		p.Filled = filled
		err := firstorder.Preconditioned{}.Serves(p)
		if (err == nil) != served || err != nil && !strings.Contains(err.Error(), "at most 64 that are not zero") {
			t.Errorf("%d nonzero features: %v", filled, err)
		}
	}
}

// levels returns rows of some numbers, an intercept and two columns of so many levels each, whose features stand before,
// between and behind them, and the problem of logistic regression on these rows.
func levels(t *testing.T, n, each int) (optimize.Problem, optimizetest.Config) {
	t.Helper()
	r := rand.New(rand.NewPCG(6, uint64(each)))
	d := 2*each + 4
	config := optimizetest.Config{Loss: loss.Logistic(), Repeat: 50, Seed: 3}
	for range n {
		x := make([]float32, d)
		k := int(float64(each) * math.Pow(r.Float64(), 4))
		x[k], x[each+2+k] = .5, .5 // the second column is a copy of the first
		for _, j := range []int{each, each + 1, d - 2} {
			x[j] = float32(r.Float64()-.5) / 2
		}
		x[d-1] = .5
		config.Rows, config.Targets = append(config.Rows, x), append(config.Targets, float64(2*r.IntN(2)-1))
	}
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	config.Budget = b
	p, err := optimize.NewProblem(config.Loss, b, optimize.Stated(d, float64(50*n)))
	if err != nil {
		t.Fatal(err)
	}
	p.Filled, p.Groups = 6, [][2]int{{0, each}, {each + 2, each}}
	return p, config
}

// TestLevelsAreApart: with columns of many levels a run must release the squares of all features and the second moment of
// the others, for a tenth of the budget, and make its steps in the metric of their block and of the diagonal of the levels,
// with the ridge that follows from the noise. Its record must state the block.
func TestLevelsAreApart(t *testing.T) {
	for _, each := range []int{160, query.MaxPairs} {
		p, config := levels(t, 40, each)
		d := p.Shape.Features
		plan, err := firstorder.Preconditioned{Steps: 3}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		s := plan.Summary()
		if want := 4. / 3 / 3 / .25; !(math.Abs(s.StepSize-want) <= 1e-12) || s.PairPasses != 0 ||
			!strings.Contains(s.Charges, "mean squares of the features and the second moment of 4 of them") {
			t.Errorf("steps of %v, %v passes over pairs, %s: want %v", s.StepSize, s.PairPasses, s.Charges, want)
		}
		if w := plan.Workload(); w.Block != 4 || w.Kinds[query.SquaredFeatures].Queries != 1 {
			t.Errorf("a workload of %+v", w)
		}
		o := optimizetest.New(config)
		result, err := plan.Run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		first, whole := o.Asked[0], []int{each, each + 1, d - 2, d - 1}
		if term := first.Question.First(); term.Kind() != query.SquaredFeatures || !slices.Equal(term.Whole(), whole) ||
			!(math.Abs(first.Question.Charge()/p.Charge()-.1) <= 1e-9) {
			t.Fatalf("%v of %v at %v of the budget", term.Kind(), term.Whole(), first.Question.Charge()/p.Charge())
		}
		metric, ridge := o.Asked[1].Question.First().Metric(), 30*first.Answer.Sigma
		inBlock, inner := metric.Block()
		if !slices.Equal(inBlock, whole) {
			t.Fatalf("the block has the features %v", inBlock)
		}
		for j := range d {
			want := 1 / math.Sqrt(max(first.Answer.Mean[j], 0)+ridge)
			if _, in := slices.BinarySearch(whole, j); !in && !(math.Abs(float64(metric.Entry(j))*metric.Step()-want) <= metric.Step()) {
				t.Fatalf("entry %d of the metric is %v: want %v", j, float64(metric.Entry(j))*metric.Step(), want)
			}
		}
		// The block times itself times the released block and its ridge is the identity, as no eigenvalue is below zero.
		moment := query.BlockOf(first.Answer.Mean, d, whole)
		for i := range whole {
			one := make([]float64, len(whole))
			one[i] = 1
			v := inner.Times(inner.Times(one))
			for j := range whole {
				got := ridge * v[j]
				for k := range whole {
					got += moment[j*len(whole)+k] * v[k]
				}
				if !(math.Abs(got-one[j]) <= 0x1p-14/ridge) { // the metric is rounded
					t.Fatalf("entry %d, %d of the block against its moment: %v", i, j, got)
				}
			}
		}
		if m := result.Trace.Moment; m == nil || !m.Diagonal || m.Block != 4 || m.Features != d || len(m.Rows) != 0 {
			t.Errorf("the record is %+v", m)
		}
		for j, got := range result.Trace.Scales {
			row := make([]int64, d)
			metric.Row(row, j)
			square := 0.
			for _, v := range row {
				square += float64(v) * float64(v)
			}
			if want := metric.Step() * math.Sqrt(square); !(math.Abs(got/want-1) <= 1e-12) {
				t.Fatalf("the noise in weight %d is scaled by %v: want %v", j, got, want)
			}
		}
		if result.Rows != nil {
			t.Error("a block is taken for the second moment")
		}
	}
}

// TestStepsApartAreStable: for columns that are copies of each other the curvature in the metric times the step
// size must be below 4/3, and not far below it.
func TestStepsApartAreStable(t *testing.T) {
	p, config := levels(t, 300, 160)
	config.Noiseless = true
	plan, err := firstorder.Preconditioned{Steps: 1}.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	o := optimizetest.New(config)
	if _, err := plan.Run(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	if got := largest(o.Asked[1].Question.First().Metric(), config.Rows) * .25 * plan.Summary().StepSize; !(got < 4./3 && got > .4) {
		t.Errorf("the step times the largest curvature is %v", got)
	}
}

// TestWideBlocksHaveTheirEdge: the ridge is at least the largest eigenvalue of the noise in the block, and at least 30
// standard deviations of the noise in a square.
func TestWideBlocksHaveTheirEdge(t *testing.T) {
	p, _ := levels(t, 4, 149)
	for width, want := range map[int]float64{10: 30, 450: 30, 800: 40} {
		p := but(p, func(p *optimize.Problem) { p.Shape.Features, p.Groups = width+1000, [][2]int{{width, 1000}} })
		if got := firstorder.Edge(p, 2); !(math.Abs(got-2*want) <= 1e-9) {
			t.Errorf("a block of %d features has an edge of %v: want %v", width, got, 2*want)
		}
	}
}

// TestWhichLevelsAreApart: the block follows from the public layout: from 301 features on, for columns of many levels that
// have half of the features, and neither for counts nor for smoothed losses.
func TestWhichLevelsAreApart(t *testing.T) {
	few, _ := levels(t, 4, 148) // 300 features
	enough, _ := levels(t, 4, 149)
	for name, of := range map[string]struct {
		p    optimize.Problem
		want bool
	}{
		"300 features": {few, false}, "302 features": {enough, true},
		"no groups":      {but(enough, func(p *optimize.Problem) { p.Groups = nil }), false},
		"narrow groups":  {but(enough, func(p *optimize.Problem) { p.Groups = [][2]int{{0, 49}, {49, 49}, {98, 49}, {147, 49}} }), false},
		"wide groups":    {but(enough, func(p *optimize.Problem) { p.Groups = [][2]int{{0, 50}, {50, 50}, {100, 51}} }), true},
		"less than half": {but(enough, func(p *optimize.Problem) { p.Groups = [][2]int{{0, 150}} }), false},
		"counts":         {but(enough, func(p *optimize.Problem) { p.Counts = true }), false},
		"smoothed":       {but(enough, func(p *optimize.Problem) { p.Smoothing = query.Smoothing{Radius: 1} }), false},
		"thresholds":     {but(enough, func(p *optimize.Problem) { p.Beside = 2 }), false},
		"block too wide": {but(enough, func(p *optimize.Problem) { p.Shape.Features, p.Groups = 2003, [][2]int{{1001, 1002}} }), false},
		"wide block":     {but(enough, func(p *optimize.Problem) { p.Shape.Features, p.Groups = 2000, [][2]int{{1000, 1000}} }), true},
	} {
		if got := firstorder.Blocks(of.p); got != of.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func but(p optimize.Problem, change func(*optimize.Problem)) optimize.Problem {
	change(&p)
	return p
}
