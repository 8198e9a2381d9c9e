package onestep_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// far is an oracle whose last answer about a gradient is moved, so that the second Newton step is longer than its noise.
type far struct {
	*optimizetest.Oracle
	sign float64
	at   int // the question of the last gradient
}

func (f *far) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a, err := f.Oracle.Ask(ctx, q)
	if at := len(f.Asked) - 1; at == f.at && err == nil {
		a.Mean = slices.Clone(a.Mean)
		a.Mean[0] += f.sign * .05
		a.Mean[2] -= f.sign * .08
		f.Asked[at].Answer = a
	}
	return a, err
}

// TestEstimateIsRecomputed recomputes a whole run from its recorded questions and answers alone. Nesterov's steps start
// at the base rate and end with the mean of the last 4 of 8 iterates. Two Newton steps follow, the second with the curvature of
// the middle of the step that is expected. Each point that the run asked about, the estimate and the allowance for the
// remainder must be the recomputed ones. The budget is so large that no eigenvalue is in the noise.
func TestEstimateIsRecomputed(t *testing.T) {
	for _, sign := range []float64{1, -1} { // of the mean margin
		estimateIsRecomputed(t, sign)
	}
}

func estimateIsRecomputed(t *testing.T, sign float64) {
	t.Helper()
	rows, targets := generated(7, 1500)
	for i := range targets {
		targets[i] *= sign
	}
	whole := budget(t, 20, account.ReplaceOne)
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: loss.Logistic(), Budget: whole, Seed: 11})
	problem, err := optimize.NewProblem(loss.Logistic(), whole, o)
	if err != nil {
		t.Fatal(err)
	}
	problem.Base = &optimize.Base{Margins: []float64{sign * .4}, Curvature: .24}
	plan, err := intervals().Plan(t.Context(), problem)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(t.Context(), &far{o, sign, 11}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fit := res.Inference
	if !res.Complete {
		t.Error("a run to its end must be complete")
	}
	if len(fit.Dropped) > 0 || fit.Method != inference.Wald {
		t.Fatalf("%+v: must have all columns", fit)
	}
	metric := o.Asked[1].Question.Terms()[0].Metric()
	point := func(b []float64) []float64 { return metric.Times(b) }
	same := func(name string, got, want []float64) {
		t.Helper()
		for j := range want {
			if !(math.Abs(got[j]-want[j]) <= 1e-5) {
				t.Fatalf("%s is %v: must be %v", name, got, want)
			}
		}
	}
	asked := func(i int, kind query.Kind, share float64) query.Term {
		t.Helper()
		a := o.Asked[i]
		term := a.Question.Terms()[0]
		charge := share * whole.Charge()
		if term.Kind() != kind || !(math.Abs(a.Answer.Charge/charge-1) <= 1e-9) || len(a.Question.Terms()) != 1 {
			t.Fatalf("question %d is a %v for %v: must be a %v for %v", i, term.Kind(), a.Answer.Charge, kind, charge)
		}
		return term
	}
	const half, bend = 4, .25 // the second half of the steps; the largest second derivative of the loss
	shape, _, _ := shapeOf(t, o, 1500, .48, whole)
	b, mean := times(shape.Metric, []float64{0, 0, sign * .4 / scale}), make([]float64, 3)
	last := slices.Clone(b)
	for s := range 2 * half {
		y := make([]float64, 3)
		for j := range y {
			y[j] = b[j] + float64(s)/float64(s+3)*(b[j]-last[j])
		}
		same("a step's point", asked(1+s, query.WeightedGradient, .08/8).Point(), point(y))
		copy(last, b)
		for j := range b {
			b[j] = y[j] - o.Asked[1+s].Answer.Mean[j]/bend
			if s >= half {
				mean[j] += b[j] / half
			}
		}
	}
	same("the fit", asked(9, query.WeightedGradient, .14).Point(), point(mean))
	same("the fit", asked(10, query.WeightedCurvature, .09).Point(), point(mean))
	h0 := symmetric(t, o.Asked[10].Answer.Mean)
	first := times(h0, o.Asked[9].Answer.Mean)
	for j := range b {
		b[j] = mean[j] - first[j]
	}
	same("the first Newton step", asked(11, query.WeightedGradient, .36).Point(), point(b))
	expected := times(h0, o.Asked[11].Answer.Mean)
	middle := make([]float64, 3)
	for j := range b {
		expected[j] *= -.36 / (.36 + .14)
		middle[j] = b[j] + expected[j]/2
	}
	same("the middle", asked(12, query.WeightedCurvature, .17).Point(), point(middle))
	same("the middle", asked(13, query.ScoreMoment, .05).Point(), point(middle))
	if len(o.Asked) != 15 {
		t.Fatalf("%d questions: must be 15", len(o.Asked))
	}
	h, s := symmetric(t, o.Asked[12].Answer.Mean), symmetric(t, o.Asked[13].Answer.Mean)
	step := times(h, o.Asked[11].Answer.Mean)
	estimate := make([]float64, 3)
	for j := range b {
		step[j] = -step[j]
		estimate[j] = b[j] + step[j]
	}
	same("the estimate", fit.Beta, point(estimate))
	same("the model", res.W, point(estimate))

	// The allowance, as package inference computes it from the released numbers, for the bend |tanh(z/2)| at the mean
	// margin z. The intercept's row of the second moment is the mean row times the intercept.
	moment := symmetric(t, o.Asked[0].Answer.Mean)
	z := 0.
	for j, v := range res.W {
		z += v * moment.At(2, j) / scale
	}
	if z*sign < .1 {
		t.Fatalf("a mean margin of %v shows nothing", z)
	}
	e, err := inference.Solve(inference.Released{Records: 1500, At: b, Gradient: o.Asked[11].Answer.Mean,
		GradientSigma: o.Asked[11].Answer.Sigma, Curvature: h, CurvatureSigma: o.Asked[12].Answer.Sigma, Middle: s,
		MiddleSigma: o.Asked[13].Answer.Sigma}, .95)
	if err != nil {
		t.Fatal(err)
	}
	var seen, p mat.Dense // of the moment in the coordinates of the metric
	m := mat.NewDense(3, 3, metricOf(metric))
	p.Mul(m, moment)
	seen.Mul(&p, m)
	at := mat.NewSymDense(3, nil)
	for i := range 3 {
		for j := i; j < 3; j++ {
			at.SetSym(i, j, seen.At(i, j))
		}
	}
	want := e.Allowance(at, math.Abs(math.Tanh(z/2)), expected)
	if !(want > 0) || !(math.Abs(fit.Allowance/want-1) <= 1e-6) {
		t.Errorf("the allowance is %v: must be %v", fit.Allowance, want)
	}
	bends := func(from, to float64) float64 { return math.Tanh(max(math.Abs(from), math.Abs(to)) / 2) }
	for j, want := range e.Allowances(shape, scale, bends, expected) {
		if !(math.Abs(fit.Remainders[j]-want) <= 1e-6*want) || j < 2 && !(want > 0) {
			t.Errorf("the remainder of column %d is %v: must be %v", j, fit.Remainders[j], want)
		}
	}
}

// symmetric returns the symmetric matrix whose scaled entries are v.
func symmetric(t *testing.T, v []float64) *mat.SymDense {
	t.Helper()
	entries, d, err := query.Symmetric(v)
	if err != nil {
		t.Fatal(err)
	}
	return mat.NewSymDense(d, entries)
}

// times returns the inverse of h times v.
func times(h *mat.SymDense, v []float64) []float64 {
	var out mat.VecDense
	if err := out.SolveVec(h, mat.NewVecDense(len(v), v)); err != nil {
		panic(err)
	}
	return out.RawVector().Data
}

// metricOf returns the entries of a metric, row by row.
func metricOf(m query.Metric) (list []float64) {
	for j := range m.Dim() {
		one := make([]float64, m.Dim())
		one[j] = 1
		list = append(list, m.Times(one)...)
	}
	return list
}

// made is an oracle about units of three rows that answers without rows, and records the questions.
type made struct {
	*optimizetest.Oracle
	asked []query.Question
}

func (m *made) Ask(_ context.Context, q query.Question) (query.Release, error) {
	m.asked = append(m.asked, q)
	a := query.Release{Sigma: 1e-6, Charge: q.Charge()}
	switch q.Terms()[0].Kind() {
	case query.WeightedGradient:
		a.Mean = []float64{.02, -.01, .03}
	default: // a third of the identity, as a symmetric matrix is released
		a.Mean = []float64{1. / 3, 0, 0, 1. / 3, 0, 1. / 3}
	}
	return a, nil
}

// TestChargesOfUnits: for records of several rows, every question and its charge is the plan's. The second moment is
// weighted, with the identity as its metric and a reach of 1, so that each row has the weight 1, and asked for again at the end
// in the metric. Gradients, curvatures
// and the middle are asked for at one reach, and clipped at the bounds of one row.
func TestChargesOfUnits(t *testing.T) {
	for _, summed := range []bool{false, true} {
		of, err := loss.NewUnits(loss.Logistic(), 3, summed)
		if err != nil {
			t.Fatal(err)
		}
		single, labels := generated(9, 3)
		x, y := loss.JoinRows(of, single, labels)
		whole := budget(t, 20, account.ReplaceOne)
		o := &made{Oracle: optimizetest.New(optimizetest.Config{Rows: [][]float32{x}, Targets: []float64{y}, Loss: of,
			Budget: whole})}
		p, err := optimize.NewProblem(of, whole, o)
		if err != nil {
			t.Fatal(err)
		}
		p.Records = 1500
		plan, err := intervals().Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Run(t.Context(), o, nil); err != nil {
			t.Fatal(err)
		}
		want := map[query.Kind]float64{query.WeightedMoment: .10 + .01, query.WeightedGradient: .08 + .14 + .36,
			query.WeightedCurvature: .09 + .17, query.ScoreMoment: .05}
		reach := o.asked[1].Terms()[0].Reach()
		for i, q := range o.asked {
			term := q.Terms()[0]
			want[term.Kind()] -= q.Charge() / whole.Charge()
			radius := map[query.Kind]float64{query.WeightedMoment: reach * reach, query.WeightedGradient: reach,
				query.WeightedCurvature: .25 * reach * reach, query.ScoreMoment: reach * reach}[term.Kind()]
			at := reach
			if i == 0 {
				radius, at = 1, 1
			}
			ends := i == 0 || i == len(o.asked)-1
			if !(math.Abs(term.Ball().Radius/radius-1) <= 1e-9) || ends != (term.Kind() == query.WeightedMoment) ||
				term.Reach() != at {
				t.Errorf("summed %v: question %d is a %v of reach %v, clipped at %v: must be %v, %v", summed, i, term.Kind(),
					term.Reach(), term.Ball().Radius, at, radius)
			}
		}
		asked := map[query.Kind]float64{}
		for _, q := range o.asked {
			asked[q.Terms()[0].Kind()]++
		}
		for kind, load := range plan.Workload().Kinds {
			if asked[kind] != load.Queries {
				t.Errorf("summed %v: %v is asked %v times: the plan says %v", summed, kind, asked[kind], load.Queries)
			}
			delete(asked, kind)
		}
		if len(asked) > 0 {
			t.Errorf("summed %v: asked, and not in the plan: %v", summed, asked)
		}
		for j, v := range metricOf(o.asked[0].Terms()[0].Metric()) {
			if v != float64(1-min(1, (j/3-j%3)*(j/3-j%3))) {
				t.Errorf("entry %d of the moment's metric is %v", j, v)
			}
		}
		for kind, left := range want {
			if !(math.Abs(left) <= 1e-6) {
				t.Errorf("summed %v: of the share of %v %v is left", summed, kind, left)
			}
		}
	}
}
