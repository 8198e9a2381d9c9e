package forecast

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestShortenedStepsByHand works out the forecast of two steps of a single pass along one direction: the second is shortened if the
// mean product of the two gradient estimates, of which noise is a part, is below half of the product of their lengths.
func TestShortenedStepsByHand(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	const d, lambda = 4., .2
	p := optimize.Problem{Shape: optimize.Vector(d), Constants: loss.Logistic().Constants(), Records: 1000, Mu: b.Mu(), Budget: b,
		Relation: account.ReplaceOne, Start: make([]float64, d)}
	shortened := 0
	for _, c := range []struct{ start, variance, eta float64 }{{.9, .01, 9}, {.9, .2, 9}, {.01, .3, 9}, {.9, .01, 7.6}, {.3, .001, 4}} {
		rule := optimize.UpdateRule{OnePass: true, StepSize: c.eta, Importance: []float64{1, 1}, Answer: optimize.Fresh(func(int) float64 { return c.variance })}
		settled, err := optimize.Settle(optimize.Draft{Problem: p, Summary: optimize.Summary{Algorithm: "a", Steps: 2, StepSize: c.eta}, UpdateRule: rule,
			Output: optimize.Last})
		if err != nil {
			t.Fatal(err)
		}
		law := settled.UpdateRule()
		got := follow([]Direction{{Eigenvalue: lambda, Share: 1, Gradient: c.start}}, p, law, math.Inf(1), newShortened(p, law))

		a, g, v := c.eta*lambda, c.start, c.variance
		first := g*g + d*v
		next, noise := math.Abs(1-a)*g, a*a*v // of the true gradient at the second step
		second := next*next + d*(noise+v)
		product := g*g*(1-a) - d*a*v
		eta := c.eta
		if product < -math.Sqrt(first*second)/2 {
			eta = max(c.eta/(1-product/first), min(c.eta, 1/p.Smoothness()))
			shortened++
		}
		a = eta * lambda
		want := math.Sqrt(math.Pow((1-a)*next, 2) + d*((1-a)*(1-a)*noise+a*a*v))
		if !(math.Abs(got.Gradient/want-1) <= 1e-9) || got.Population != got.Gradient || !(math.Abs(got.Excess/(want*want/(2*lambda))-1) <= 1e-9) {
			t.Errorf("%+v: %+v: must be %v", c, got, want)
		}
	}
	if shortened == 0 || shortened == 5 {
		t.Errorf("%d of 5 second steps are shortened: the test shows too little", shortened)
	}
}

// TestMetricsAndMixedEstimatesByHand works out the forecast of two steps along two directions, in a metric that stretches them
// unlike, with a second estimate that keeps a share of the first. In the metric's coordinates a gradient is longer by the root
// of the metric.
func TestMetricsAndMixedEstimatesByHand(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	const d, eta, first, second, weight = 4., .7, .002, .0005, .3
	p := optimize.Problem{Shape: optimize.Vector(d), Constants: loss.Logistic().Constants(), Records: 1000, Mu: b.Mu(), Budget: b,
		Relation: account.ReplaceOne, Start: make([]float64, d)}
	metric := func(eigenvalue float64) float64 { return 1 / (eigenvalue + .05) }
	rule := optimize.UpdateRule{StepSize: eta, Importance: []float64{1, 1}, Metric: metric,
		Answer: func(t int, _, last float64) (float64, optimize.Variance) {
			if t == 0 {
				return 1, optimize.Variance{Noise: first}
			}
			if !(math.Abs(last-first) <= 1e-12) {
				return math.NaN(), optimize.Variance{}
			}
			return weight, optimize.Variance{Noise: second}
		}}
	settled, err := optimize.Settle(optimize.Draft{Problem: p, Summary: optimize.Summary{Algorithm: "a", Steps: 2, StepSize: eta}, UpdateRule: rule,
		Output: optimize.Last})
	if err != nil {
		t.Fatal(err)
	}
	directions := []Direction{{Eigenvalue: .2, Share: .25, Gradient: .31}, {Eigenvalue: .03, Share: .75, Gradient: .12}}
	got := follow(directions, p, settled.UpdateRule(), math.Inf(1), nil)
	gradient, excess := 0., 0.
	for _, e := range directions {
		m := metric(e.Eigenvalue)
		a := eta * e.Eigenvalue * m
		start := e.Gradient * math.Sqrt(m) * (1 - a) * (1 - a)
		// The first estimate's noise enters by both steps: -a (1-a) - a (1-weight) times it.
		noise := a*a*math.Pow(1-a+1-weight, 2)*first + a*a*second
		square := start*start + e.Share*d*noise
		gradient, excess = gradient+square/m, excess+square/(2*e.Eigenvalue*m)
	}
	if !(math.Abs(got.Gradient/math.Sqrt(gradient)-1) <= 1e-9) || !(math.Abs(got.Excess/excess-1) <= 1e-9) {
		t.Errorf("%+v: must be %v and %v", got, math.Sqrt(gradient), excess)
	}
	// A third estimate keeps a share of the error of the second.
	rule.Answer = func(t int, _, last float64) (float64, optimize.Variance) {
		want := []float64{0, first, (1-weight)*(1-weight)*first + second}[t]
		if !(math.Abs(last-want) <= 1e-12) {
			return math.NaN(), optimize.Variance{}
		}
		return []float64{1, weight, .5}[t], optimize.Variance{Noise: []float64{first, second, .001}[t]}
	}
	rule.Importance = []float64{1, 1, 1}
	if settled, err = optimize.Settle(optimize.Draft{Problem: p, Summary: optimize.Summary{Algorithm: "a", Steps: 3, StepSize: eta}, UpdateRule: rule,
		Output: optimize.Last}); err != nil {
		t.Fatal(err)
	}
	if got := follow(directions, p, settled.UpdateRule(), math.Inf(1), nil); !(got.Gradient > 0) {
		t.Errorf("%+v: the error of an estimate that is kept is wrong", got)
	}
}
