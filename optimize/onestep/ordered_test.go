package onestep_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestOrderedClassWithoutRecords: a class that no record has leaves a gap between thresholds near 0. The gap of the estimate
// is that of the weights, and above 0.
func TestOrderedClassWithoutRecords(t *testing.T) {
	l, err := loss.Parse("ordered(4)")
	if err != nil {
		t.Fatal(err)
	}
	rows, targets := generated(4, 1500)
	for i := range targets {
		targets[i] = float64([]int{0, 2, 3}[i%3])
	}
	whole := budget(t, 3, account.ReplaceOne)
	least := math.Inf(1)
	for seed := range uint64(6) {
		o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: whole, Seed: seed + 1})
		p, err := optimize.NewProblem(l, whole, o)
		if err != nil {
			t.Fatal(err)
		}
		rate := optimize.BaseRate{Charge: p.Charge() / 50, Loss: l, Features: 3, Intercept: scale}
		base, err := rate.Ask(context.Background(), o, p)
		if err != nil {
			t.Fatal(err)
		}
		p = rate.Begin(p, base)
		p.Mu *= .9
		of := intervals()
		of.Curvature = onestep.Ordered
		plan, err := of.Plan(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		res, err := plan.Run(context.Background(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := l.(interface {
			Thresholds([]float64, int) []float64
		}).Thresholds(res.W, 3)
		for i, c := range res.Inference.Columns {
			if c.Feature < 3 {
				continue
			}
			gap := at[c.Feature-2] - at[c.Feature-3]
			if least = min(least, gap); !(math.Abs(gap-res.Inference.Beta[i]) <= 1e-9) || !(gap > 0) {
				t.Errorf("gap %d of the model is %v, and of the estimate %v", c.Feature-3, gap, res.Inference.Beta[i])
			}
		}
	}
	if least > 2*optimize.LeastGap {
		t.Errorf("the least gap is %v: tries nothing", least)
	}
}

// TestOrderedIsTheMaximumLikelihood: with a large budget the estimate is the maximum of the likelihood, the weights are
// those of the estimate, and the covariance is the inverse of the information in the row's weights and the gaps. The test
// computes the information from differences of gradients of the loss. Without a base rate the run must refuse.
func TestOrderedIsTheMaximumLikelihood(t *testing.T) {
	l, err := loss.Parse("ordered(4)")
	if err != nil {
		t.Fatal(err)
	}
	const n, d, p = 4000, 3, 5
	r := rand.New(rand.NewPCG(8, 8))
	rows, targets := generated(4, n)
	for i, x := range rows {
		z := float64(1.5*x[0]-x[1])/scale + math.Log(1/r.Float64()-1)
		targets[i] = 0
		for _, cut := range []float64{-2, -.3, 1.5} {
			if z > cut {
				targets[i]++
			}
		}
	}
	whole := budget(t, 400, account.ReplaceOne)
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: whole, Seed: 3})
	problem, err := optimize.NewProblem(l, whole, o)
	if err != nil {
		t.Fatal(err)
	}
	of := intervals()
	of.Curvature = onestep.Ordered
	plan, err := of.Plan(context.Background(), problem)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Run(context.Background(), o, nil); err == nil || !strings.Contains(err.Error(), "must be released first") {
		t.Errorf("without a base rate: %v", err)
	}
	rate := optimize.BaseRate{Charge: problem.Charge() / 50, Loss: l, Features: d, Intercept: scale}
	base, err := rate.Ask(context.Background(), o, problem)
	if err != nil {
		t.Fatal(err)
	}
	problem = rate.Begin(problem, base)
	problem.Mu *= .9
	if plan, err = of.Plan(context.Background(), problem); err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	fit := res.Inference
	if len(fit.Columns) != p || fit.Columns[p-1].Feature != d-1 || len(fit.Dropped) > 0 {
		t.Fatalf("columns %v, dropped %v", fit.Columns, fit.Dropped)
	}
	thresholds := func(w []float64) []float64 {
		return l.(interface {
			Thresholds([]float64, int) []float64
		}).Thresholds(w, d)
	}
	at := make([]float64, p) // weights and gaps
	for i, c := range fit.Columns {
		at[c.Feature] = fit.Beta[i]
	}
	for j, w := range res.W[:d] {
		if !(math.Abs(w-at[j]) <= 1e-12) {
			t.Errorf("weight %d is %v: must be the estimate, %v", j, w, at[j])
		}
	}
	for j := d; j < p; j++ {
		if gap := thresholds(res.W)[j-d+1] - thresholds(res.W)[j-d]; !(math.Abs(gap-at[j]) <= 1e-9) {
			t.Errorf("gap %d is %v: must be the estimate, %v", j-d, gap, at[j])
		}
	}
	// The gradient in the weights and the gaps: a parameter v of a gap g has the derivative (1 - e^-g)/(2 sqrt 2).
	gradient := func(of []float64) []float64 {
		w := append([]float64(nil), of...)
		for j := d; j < p; j++ {
			w[j] = math.Log(math.Expm1(of[j])) * 2 * math.Sqrt2
		}
		sum := make([]float64, p)
		for i, x := range rows {
			g := make([]float64, p)
			l.(loss.General).Gradient(g, w, x, targets[i])
			for j, v := range g {
				if j >= d {
					v *= 2 * math.Sqrt2 / (1 - math.Exp(-of[j]))
				}
				sum[j] += v / n
			}
		}
		return sum
	}
	information := mat.NewDense(p, p, nil)
	for j := range p {
		const step = 1e-5
		up, down := append([]float64(nil), at...), append([]float64(nil), at...)
		up[j] += step
		down[j] -= step
		high, low := gradient(up), gradient(down)
		for i := range p {
			information.Set(i, j, (high[i]-low[i])/(2*step))
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(information); err != nil {
		t.Fatal(err)
	}
	newton := mat.NewVecDense(p, nil)
	newton.MulVec(&inverse, mat.NewVecDense(p, gradient(at)))
	for i, c := range fit.Columns {
		weights := make([]float64, p)
		weights[c.Feature] = 1
		got := fit.Contrast(weights, 0)
		want := math.Sqrt(inverse.At(c.Feature, c.Feature) / n)
		if !(math.Abs(got.Error/want-1) <= .12) {
			t.Errorf("column %d: the standard error is %v: must be %v", i, got.Error, want)
		}
		if far := newton.AtVec(c.Feature); !(math.Abs(far) <= .3*want) {
			t.Errorf("column %d is %v from the maximum of the likelihood, with a standard error of %v", i, far, want)
		}
	}
}
