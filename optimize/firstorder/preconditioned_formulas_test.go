package firstorder

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// preconditionable returns a problem of two classes with some features.
func preconditionable(t *testing.T, margins int) optimize.Problem {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	l := loss.Loss(loss.Logistic())
	if margins > 1 {
		if l, err = loss.Softmax(margins); err != nil {
			t.Fatal(err)
		}
	}
	return optimize.Problem{Shape: optimize.Shape{Features: 6, Margins: margins}, Constants: l.Constants(), Records: 5000, Mu: b.Mu(), Budget: b,
		Relation: account.ReplaceOne, RankOne: true, Start: make([]float64, 6*margins)}
}

// TestClipsByHand works out the clip norm: kappa root mean squares, for rare classes and counts more, at least as for the least mean
// square and at most the longest gradient in the metric.
func TestClipsByHand(t *testing.T) {
	made, err := Preconditioned{}.Plan(t.Context(), preconditionable(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	g := made.(*preconditionedPlan)
	const l0, effective, ridge = .8, 5., .01
	for _, c := range []struct{ kappa, rare, longest, square, want float64 }{
		{2, 0, 0, .09, .6}, {2, 5, 0, .09, 2 * .3}, {2, 25, 0, .09, 25 * .09 / math.Sqrt(5)}, {2, 0, .5, .09, .5 * .8 * math.Sqrt(5)},
		{2, 0, 0, 0, 2 * math.Sqrt(.02*.64*5)}, {2, 0, 0, 99, 1 / math.Sqrt(.01)},
	} {
		g.kappa, g.rare, g.longest = c.kappa, c.rare, c.longest
		if got := g.clip(l0, effective, ridge, c.square); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestMetricsOfForecasts: with several margins each direction of the rows has as many directions of the parameters, each with its
// part of the curvature: an eigenvalue stands for a second moment that is as many times as large over the curvature's bound.
func TestMetricsOfForecasts(t *testing.T) {
	for _, margins := range []int{1, 3} {
		p := preconditionable(t, margins)
		b, k := p.DataSmoothness(), float64(margins)
		const ridge = .03
		for _, e := range []float64{0, .01, .2} {
			if got, want := metricOf(p, ridge)(e), 1/(e*k/b+ridge); !(math.Abs(got/want-1) <= 1e-12) {
				t.Errorf("%d margins: the metric at %v is %v: must be %v", margins, e, got, want)
			}
		}
		want := 0.
		for _, d := range forecast.Assumed(p) {
			v := k * d.Eigenvalue / b
			want += d.Share * 6 * v / (v + ridge)
		}
		if got := (*preconditionedPlan)(nil).effective(p, ridge); !(math.Abs(got/want-1) <= 1e-12) || got > 6 {
			t.Errorf("%d margins: effective dimension %v: must be %v", margins, got, want)
		}
	}
}

// TestSecondHalves works out what the gradients of the second half of a run show beyond their noise.
func TestSecondHalves(t *testing.T) {
	s := &spectrum{values: []float64{.3, -.1}, vectors: *mat.NewDense(2, 2, []float64{1, 0, 0, 1})}
	for _, c := range []struct {
		sigma float64
		want  float64
	}{{0, (.31*36 + .01*9) / 4}, {2, (.31*36 + .01*9 - .32*8) / 4}, {9, 0}} {
		l := &secondHalf{from: 2}
		for i, g := range [][]float64{{9, 9}, {9, 9}, {2, 4}, {4, -1}} {
			l.add(i, g, c.sigma)
		}
		if !slices.Equal(l.Sum, []float64{6, 3}) || l.Weight != 2 || l.variance != 2*c.sigma*c.sigma {
			t.Errorf("%+v", l)
		}
		if got := l.seen(s, .01); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("noise %v: %v: must be %v", c.sigma, got, c.want)
		}
	}
}

// TestRulesOfSpiderBoost works out the default step size, number of steps and period, and those of the theorem, for sizes at which
// either limit of the period counts. Settings that are given stay.
func TestRulesOfSpiderBoost(t *testing.T) {
	limits := map[bool]int{}
	for _, records := range []float64{300, 5000, 2e6} {
		p := preconditionable(t, 1)
		p.Records = records
		n, k := p.Effective(), p.Constants
		got := SpiderBoost{}.settle(p)
		h := p.StepScale()
		T := math.Ceil(min(max(.1*math.Cbrt(math.Pow(p.InitialGradient()/k.Lipschitz, 2))*math.Pow(n, 4./3)/h, 1), 1000))
		a, b := .02*math.Pow(n/h, 2)/T, T/8
		limits[a < b] = 1
		if got.StepScale != h || float64(got.Steps) != T || got.Period != int(max(min(a, b), 1)) || got.AnchorShare != .8 || got.Output != optimize.TailAverage {
			t.Errorf("%v records: %+v: must be of size %v, %v steps and the period %v", records, got, h, T, max(min(a, b), 1))
		}
		theorem, alpha := SpiderBoost{Theorem: true}.settle(p), 2/n
		T = float64(int(min(max(math.Cbrt(k.InitialGap*p.Smoothness()/math.Pow(k.Lipschitz*alpha*alpha, 2)), n/2, 1), optimize.MostSteps)))
		if !(math.Abs(float64(theorem.Steps)-T) <= 1) || theorem.Period != int(min(max(1/(float64(theorem.Steps)*alpha*alpha), 1), float64(theorem.Steps))) ||
			theorem.StepScale != .5 || theorem.AnchorShare != .5 || theorem.Output != optimize.Random || theorem.Batches != TheoremBatches {
			t.Errorf("%v records: the theorem: %+v: must be %v steps", records, theorem, T)
		}
	}
	if len(limits) != 2 {
		t.Error("one limit of the period always counts: the test shows too little")
	}
	given := SpiderBoost{Steps: 7, StepScale: 2, Period: 3, AnchorShare: .6, Output: optimize.Last}
	if got := given.settle(preconditionable(t, 1)); got != given {
		t.Errorf("%+v: must be %+v", got, given)
	}
}

// TestWorthIsTheSolution: the smallest useful ridge solves its equation, here for an excess risk that is constant or falls with
// the ridge, up to a relative error of 2e-5. Outside of the limits 1e-6 and 10 it is the nearer limit.
func TestWorthIsTheSolution(t *testing.T) {
	for _, c := range []struct{ over, gap, excess, power, want float64 }{
		{.5, .25, .5, 0, 1}, {.35, .7, .14, 0, .35 * math.Sqrt(.4)}, {.5, .02, 1, 0, 5}, {.5, .005, 1, 0, 10}, {.5, .01, 1.9, 0, .5 * math.Sqrt(380)},
		{.5, 1, 2e-10, 0, 1e-5}, {.5, 1, 2e-14, 0, 1e-6}, {.5, 2, .01, 2, math.Sqrt(.05)}, // lambda = .05/lambda
	} {
		got := worth(c.over, c.gap, func(lambda float64) float64 { return c.excess * math.Pow(lambda, -c.power) })
		if !(math.Abs(got/c.want-1) <= 2e-5) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
