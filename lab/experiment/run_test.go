package experiment_test

import (
	"context"
	"math"
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// TestNewInstanceMeetsItsSize tests that the effective size is as close to the requested one as
// whole copies of the distinct rows allow, within half a copy, and that delta is n^-1.5.
func TestNewInstanceMeetsItsSize(t *testing.T) {
	for _, rows := range []int{20, 300} {
		f := family(t, experiment.SlowTail, 16, rows, 1)
		for _, epsilon := range []float64{.2, 1, 4} {
			for _, want := range []float64{50, 237, 2044, 18197} {
				s, err := experiment.NewInstance(f, want, epsilon)
				if err != nil {
					t.Fatal(err)
				}
				n := float64(rows * s.Repeat)
				b, err := account.NewBudget(epsilon, math.Pow(n, -1.5), account.ReplaceOne)
				if err != nil {
					t.Fatal(err)
				}
				if s.Budget != b || problemOf(t, s).Records != n || problemOf(t, s).Mu != b.Mu() {
					t.Errorf("%d rows, N = %v: budget %v of %v records: want %v", rows, want, s.Budget, n, b)
				}
				// One more copy of the rows adds about mu/sqrt(d) for each row to N, since mu falls slowly with n.
				one := float64(rows) * b.Mu() / 4
				if got := problemOf(t, s).Effective(); s.Repeat > 1 && math.Abs(got-want) > .55*one {
					t.Errorf("%d rows: N = %v: want %v within half of %v", rows, got, want, one)
				}
			}
		}
	}
	if s, err := experiment.NewInstance(family(t, experiment.SlowTail, 16, 20, 1), 1e-3, 1); err != nil || s.Repeat != 1 {
		t.Errorf("tiny: %+v, %v: want every row once", s, err)
	}
	if _, err := experiment.NewInstance(family(t, experiment.SlowTail, 16, 20, 1), 100, -1); err == nil {
		t.Error("epsilon = -1 was taken")
	}
}

// TestRun tests that the outcome is the true gradient norm at the plan's result. With the same seed a run
// must have the same outcome, with another seed another outcome.
func TestRun(t *testing.T) {
	f := family(t, experiment.LogisticNonconvex, 10, 200, 1)
	s, err := experiment.NewInstance(f, 500, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := firstorder.GD{Steps: 40}.Plan(context.Background(), problemOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	run := func(seed uint64) experiment.Outcome {
		o, err := s.Run(context.Background(), plan, seed)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	a, b, c := run(1), run(1), run(2)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Errorf("%+v, %+v, %+v", a, b, c)
	}
	o := plan.Summary()
	if a.Steps != 40 || a.Predicted != o.Predicted || math.Abs(a.Floor-2/problemOf(t, s).Effective()) > 1e-15 ||
		a.Ratio() != a.GradientNorm/a.Floor {
		t.Errorf("%+v", a)
	}
	// The gradient norm at the result is above the order of the noise level and below the gradient norm at the
	// start.
	start, err := f.GradientNorm(make([]float64, 10))
	if err != nil || !(a.Ratio() > .05 && a.GradientNorm < start) {
		t.Errorf("%+v, start %v, %v", a, start, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(ctx, plan, 1); err == nil {
		t.Error("a cancelled run has an outcome")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 4}, 4}, {[]float64{8, 1, 2, 4}, 3}} {
		before := c.v[0]
		if got := experiment.Median(c.v); got != c.want || c.v[0] != before {
			t.Errorf("%v: %v: want %v", c.v, got, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic without numbers")
		}
	}()
	experiment.Median(nil)
}

func problemOf(t *testing.T, s experiment.Instance) optimize.Problem {
	t.Helper()
	p, err := s.Problem()
	if err != nil {
		t.Fatal(err)
	}
	return p
}
