package firstorder_test

import (
	"context"
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

// TestPreconditionedOfOrderedClasses: the metric of a fit of ordered classes has a dimension for each parameter, and the
// inverse of its square is the second moment of all parameters and a ridge. The test works that moment out from the
// released moment and the probabilities of the classes at the start. The fit must reach the maximum of the likelihood:
// the mean gradient at its result is short in every coordinate.
func TestPreconditionedOfOrderedClasses(t *testing.T) {
	l, err := loss.Parse("ordered(4)")
	if err != nil {
		t.Fatal(err)
	}
	const n, d = 3000, 3
	r := rand.New(rand.NewPCG(5, 5))
	scale := 1 / math.Sqrt(d)
	rows, targets := make([][]float32, n), make([]float64, n)
	for i := range rows {
		a, b := 2*r.Float64()-1, 2*r.Float64()-1
		rows[i] = []float32{float32(a * scale), float32(b * scale), float32(scale)}
		z := 2*a - b + math.Log(1/r.Float64()-1)
		for _, cut := range []float64{-3, -.5, 2} {
			if z > cut {
				targets[i]++
			}
		}
	}
	whole, err := account.NewBudget(300, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: whole, Seed: 3})
	p, err := optimize.NewProblem(l, whole, o)
	if err != nil {
		t.Fatal(err)
	}
	rate := optimize.BaseRate{Charge: p.Charge() / 50, Loss: l, Features: d, Intercept: scale}
	base, err := rate.Ask(context.Background(), o, p)
	if err != nil {
		t.Fatal(err)
	}
	p = rate.Begin(p, base)
	p.Mu *= .9
	start := p.StartPoint()
	plan, err := firstorder.Preconditioned{Steps: 60}.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	result, err := plan.Run(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	gradient := make([]float64, p.Dim())
	for i, x := range rows {
		g := make([]float64, p.Dim())
		l.(loss.General).Gradient(g, result.W, x, targets[i])
		for j, v := range g {
			gradient[j] += v / n
		}
	}
	if optimize.Norm(gradient) > .003 {
		t.Errorf("the gradient at the result is %v", gradient)
	}

	var moment []float64
	var metric query.Metric
	for _, a := range o.Asked {
		switch term := a.Question.Terms()[0]; term.Kind() {
		case query.SecondMoment:
			if moment, _, err = query.Symmetric(a.Answer.Mean); err != nil {
				t.Fatal(err)
			}
		case query.MetricGradient:
			metric = term.Metric()
		}
	}
	if metric.Dim() != d+2 {
		t.Fatalf("the metric has %d dimensions", metric.Dim())
	}
	// Rows of derivatives of z - t_k in the intercept's margin and the two parameters, with the logistic curvature at each
	// cut times the probability of the two classes beside it, and the curvature of a gap g: p e^g/(e^g-1)^2.
	at := l.(interface {
		Thresholds([]float64, int) []float64
	}).Thresholds(start, d)
	z := start[d-1] * scale
	above := []float64{1}
	for _, c := range at {
		above = append(above, 1/(1+math.Exp(c-z)))
	}
	above = append(above, 0)
	unit, total := 1/(2*math.Sqrt(2)), 0.
	mean, squares := make([]float64, 2), make([]float64, 4)
	slope := func(j int) float64 { return unit * (1 - math.Exp(at[j]-at[j+1])) }
	for k := range at {
		c := above[k+1] * (1 - above[k+1]) * (above[k] - above[k+2])
		total += c
		for i := range k {
			mean[i] -= c * slope(i)
			for j := range k {
				squares[2*i+j] += c * slope(i) * slope(j)
			}
		}
	}
	for j := range 2 {
		g := at[j+1] - at[j]
		squares[3*j] += max(above[j+1]-above[j+2], .05) * math.Exp(g) / math.Pow(math.Exp(g)-1, 2) * slope(j) * slope(j)
	}
	entry := func(i, j int) float64 {
		switch {
		case i < d && j < d:
			return moment[i*d+j]
		case i >= d && j >= d:
			return squares[2*(i-d)+j-d] / total
		}
		return mean[max(i, j)-d] / total * moment[(d-1)*d+min(i, j)] / scale
	}
	var ridge float64
	for j := range d + 2 {
		one := make([]float64, d+2)
		for i := range one {
			one[i] = entry(i, j)
		}
		// R^2 (M + ridge) = I, so that R^2 times column j of M is the unit vector minus ridge times column j of R^2.
		product := metric.Times(metric.Times(one))
		unit := make([]float64, d+2)
		unit[j] = 1
		square := metric.Times(metric.Times(unit))
		if j == 0 {
			ridge = (1 - product[0]) / square[0]
		}
		for i := range product {
			if want := unit[i] - ridge*square[i]; !(math.Abs(product[i]-want) <= 1e-3) {
				t.Errorf("entry %d, %d of the metric's square times the moment is %v: must be %v", i, j, product[i], want)
			}
		}
	}
	if !(ridge > 0 && ridge < .01) {
		t.Errorf("the ridge is %v", ridge)
	}
}
