package firstorder_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestWarmSaysWhatItsPartsSay compares the plan and the result of a warm start with those of its two parts, each planned
// and run alone: the second with the rest of the budget, from where the first ends, and with four times the first's
// expected excess as its gap.
func TestWarmSaysWhatItsPartsSay(t *testing.T) {
	p := optimizetest.Problems()[0]
	for _, c := range []struct {
		warm firstorder.Warm
		then optimize.Algorithm
	}{
		{firstorder.Warm{Share: .3}, firstorder.SpiderBoost{Batches: firstorder.AllRecords}},
		{firstorder.Warm{Share: .7, Then: firstorder.ThenSTORM}, firstorder.STORM{}},
	} {
		o := optimizetest.New(p.Config(budget(t), 1000, 5))
		problem := with(p.Public, o.Size())
		plan, err := c.warm.Plan(ctx, problem)
		if err != nil {
			t.Fatal(err)
		}
		begin, rest := problem, problem
		begin.Mu, rest.Mu = problem.Mu*math.Sqrt(c.warm.Share), problem.Mu*math.Sqrt(1-c.warm.Share)
		method, err := firstorder.GD{}.Plan(ctx, begin)
		gd := resolve(t, method, err)
		a := gd.Summary()
		if !(a.Excess > 0) || 4*a.Excess >= problem.Constants.InitialGap {
			t.Fatalf("an excess of %v shows nothing beside %v", a.Excess, problem.Constants.InitialGap)
		}
		rest.Constants.InitialGap = 4 * a.Excess
		method, err = c.then.Plan(ctx, rest)
		b := resolve(t, method, err).Summary()
		got, want := plan.Summary(), b
		want.Algorithm = "warm"
		want.Citation = "warm start (Lowy, Ullman and Wright 2024) by noisy gradient descent, then " + b.Citation
		want.Steps, want.Passes = a.Steps+b.Steps, a.Passes+b.Passes
		want.Charges = fmt.Sprintf("%.3g of mu^2 for %d steps of gd, %s; the rest for %d steps: %s", c.warm.Share, a.Steps, a.Charges,
			b.Steps, b.Charges)
		for _, x := range []struct {
			name      string
			got, want any
		}{
			{"algorithm", got.Algorithm, want.Algorithm}, {"citation", got.Citation, want.Citation}, {"steps", got.Steps, want.Steps},
			{"step size", got.StepSize, want.StepSize}, {"passes", got.Passes, want.Passes}, {"charges", got.Charges, want.Charges},
			{"output", got.Output, want.Output}, {"predicted", got.Predicted, want.Predicted},
			{"population", got.Population, want.Population}, {"excess", got.Excess, want.Excess},
			{"workload", plan.Workload(), gd.Workload().Plus(method.Workload())},
			{"promise", got.Promise, optimize.Summary{}.Promise},
			{"properties", plan.Properties(), optimize.Properties{Averaged: method.Properties().Averaged, Restarted: true}},
		} {
			if !reflect.DeepEqual(x.got, x.want) {
				t.Errorf("%s: %s is %v: must be %v", got.Algorithm, x.name, x.got, x.want)
			}
		}
		result, err := plan.Run(ctx, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		alone := optimizetest.New(p.Config(budget(t), 1000, 5))
		first := run(t, gd, alone)
		rest.Start = first.W
		method, err = c.then.Plan(ctx, rest)
		second := run(t, resolve(t, method, err), alone)
		if result.Steps != first.Steps+second.Steps || !same(result.W, second.W) ||
			!reflect.DeepEqual(result.Trace, first.Trace.Then(second.Trace)) {
			t.Errorf("%d steps to %v: must be %d to %v, with the trace of both", result.Steps, result.W, first.Steps+second.Steps,
				second.W)
		}
	}
}

// TestWarmStopsInEitherPart tests that a run whose table fails in the first or in the second part ends with the error.
func TestWarmStopsInEitherPart(t *testing.T) {
	p := optimizetest.Problems()[0]
	stop := errors.New("stop")
	whole := optimizetest.New(p.Config(budget(t), 1000, 5))
	plan, err := firstorder.Warm{}.Plan(ctx, with(p.Public, whole.Size()))
	if err != nil {
		t.Fatal(err)
	}
	all, err := plan.Run(ctx, whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{1, all.Steps - 2} {
		c := p.Config(budget(t), 1000, 5)
		c.Script = func(k int) error {
			if k == at {
				return stop
			}
			return nil
		}
		result, err := plan.Run(ctx, optimizetest.New(c), nil)
		if !errors.Is(err, stop) || result.Complete || result.Steps != at {
			t.Errorf("stopped at step %d: %v after %d steps, complete %v", at, err, result.Steps, result.Complete)
		}
	}
}

// TestPromiseOfSpiderBoost works the promise of Theorem 1 of Arora et al. out by hand, and the number of records from
// which on it is below what the start satisfies, at which the plan of another size must promise as much as the start.
func TestPromiseOfSpiderBoost(t *testing.T) {
	p := optimizetest.Problems()[0]
	o := optimizetest.New(p.Config(budget(t), 1000, 5))
	problem := with(p.Public, o.Size())
	at := func(records float64) optimize.Summary {
		q := problem
		q.Records = records
		method, err := firstorder.SpiderBoost{Theorem: true, Batches: firstorder.AllRecords}.Plan(ctx, q)
		return resolve(t, method, err).Summary()
	}
	c := problem.Constants
	l1 := problem.DataSmoothness()
	if problem.Regularizer != nil {
		l1 += problem.Regularizer.Smoothness()
	}
	for _, records := range []float64{1000, 50_000} {
		got := at(records).Promise
		a := 2 * math.Sqrt(float64(problem.Dim())) / (records * problem.Mu)
		if problem.Neighbours() == 1 {
			a /= 2
		}
		want := math.Pow(math.Sqrt(c.InitialGap*l1*c.Lipschitz)*a, 2./3) + c.Lipschitz*a
		start := min(c.Lipschitz, math.Sqrt(2*l1*c.InitialGap))
		if !close(got.Bound, want, 1e-9*want) || !close(got.Start, start, 1e-9*start) || got.Of != "gradient norm" ||
			!strings.HasPrefix(got.Theorem, "Theorem 1 ") {
			t.Errorf("%v records: %+v: must be %v, beside %v at the start", records, got, want, start)
		}
		if from := at(got.From).Promise.Bound; from > got.Start || from < .998*got.Start {
			t.Errorf("at %v records the promise is %v: must be that of the start, %v", got.From, from, got.Start)
		}
	}
}
