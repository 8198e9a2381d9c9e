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
