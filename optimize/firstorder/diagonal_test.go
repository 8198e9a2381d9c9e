package firstorder_test

import (
	"math"
	"math/rand/v2"
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
	if want := 4. / 3 / 4 / .25; math.Abs(s.StepSize-want) > 1e-12 || s.PairPasses != 0 ||
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
		math.Abs(first.Question.Charge()/p.Charge()-.1) > 1e-9 || math.Abs(total/p.Charge()-1) > 1e-9 {
		t.Fatalf("%v at %v of the budget, of which %v was spent", k, first.Question.Charge()/p.Charge(), total/p.Charge())
	}
	metric := log[1].Question.Terms()[0].Metric()
	if !metric.Diagonal() || metric.Dim() != d {
		t.Fatalf("metric of dimension %d, diagonal %v", metric.Dim(), metric.Diagonal())
	}
	ridge := 30 * first.Answer.Sigma
	for j, v := range first.Answer.Mean {
		want := 1 / math.Sqrt(max(v, 0)+ridge)
		if got := float64(metric.Entry(j)) * metric.Step(); math.Abs(got-want) > metric.Step() {
			t.Fatalf("entry %d of the metric is %v: want %v", j, got, want)
		}
		if got := result.Trace.Scales[j]; math.Abs(got-want) > metric.Step() {
			t.Fatalf("the noise in weight %d is scaled by %v: want %v", j, got, want)
		}
	}
	if m := result.Trace.Moment; m == nil || !m.Diagonal || m.Features != d || len(m.Rows) != 0 ||
		math.Abs(m.Ridge/ridge-1) > 1e-3 {
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
	metric := o.Asked[1].Question.Terms()[0].Metric()
	u, most := make([]float64, d), 0.
	for j := range u {
		u[j] = 1
	}
	for range 100 { // the power method
		v := make([]float64, d)
		pu := metric.Times(u)
		for _, x := range config.Rows {
			inner := 0.
			for j, e := range x {
				inner += float64(e) * pu[j]
			}
			for j, e := range x {
				if e != 0 {
					v[j] += inner * float64(e) / float64(len(config.Rows))
				}
			}
		}
		u = metric.Times(v)
		most = optimize.Norm(u)
		for j := range u {
			u[j] /= most
		}
	}
	if got := most * .25 * plan.Summary().StepSize; !(got < 4./3 && got > .2) {
		t.Errorf("the step times the largest curvature is %v", got)
	}
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
