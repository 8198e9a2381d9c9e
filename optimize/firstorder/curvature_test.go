package firstorder_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestCurvatureIsPlanned tests for which problems a preconditioned fit releases the curvature at the result: for a loss
// whose second derivative jumps, if the noise of the weights will be stated and the records suffice. The releases of a
// plan charge the whole budget in either case.
func TestCurvatureIsPlanned(t *testing.T) {
	huber, err := loss.Huber(.1)
	if err != nil {
		t.Fatal(err)
	}
	squared, err := loss.Squared(.5)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		loss    loss.Loss
		records float64
		change  func(*optimize.Problem)
		want    bool
	}{
		{"huber", huber, 50_000, func(*optimize.Problem) {}, true},
		{"not stated", huber, 50_000, func(p *optimize.Problem) { p.Explained = false }, false},
		{"few records", huber, 1500, func(*optimize.Problem) {}, false},
		{"smoothed", huber, 50_000, func(p *optimize.Problem) { p.Smoothing = query.Smoothing{Radius: .1} }, false},
		{"squared", squared, 50_000, func(*optimize.Problem) {}, false},
		{"logistic", loss.Logistic(), 50_000, func(*optimize.Problem) {}, false},
	} {
		p, err := optimize.NewProblem(c.loss, b, optimize.Stated(8, c.records))
		if err != nil {
			t.Fatal(err)
		}
		p.Explained = true
		c.change(&p)
		plan, err := firstorder.Preconditioned{}.Plan(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		moment, curvature, gradient, square := firstorder.Charges(plan)
		if (curvature > 0) != c.want {
			t.Errorf("%s: %v of the budget for the curvature", c.name, curvature/p.Charge())
		}
		steps := float64(plan.Summary().Steps)
		if sum := moment + curvature + firstorder.Beyond(plan) + steps*gradient + square; !(math.Abs(sum-p.Charge()) <= 1e-9*p.Charge()) && c.records > 2000 && !p.Smoothing.On() {
			t.Errorf("%s: charges of %v: must be %v", c.name, sum, p.Charge())
		}
	}
}
