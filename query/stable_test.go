package query_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestStableRules tests that the error about an invalid pass names the field, its value and the rule.
func TestStableRules(t *testing.T) {
	drawn := query.NewCohort(1, 10)
	plain := query.Pass{Start: []float64{1, 2}, Step: .5, Clip: 1}
	for _, c := range []struct {
		change func(*query.Pass)
		want   string
	}{
		{func(p *query.Pass) { p.Start = nil }, "start: must have"},
		{func(p *query.Pass) { p.Start = []float64{1, math.NaN()} }, "start: coordinate 1 = NaN: must be"},
		{func(p *query.Pass) { p.Start = []float64{1, 1e40} }, "start: coordinate 1 = 1e+40: must be"},
		{func(p *query.Pass) { p.Step = 0 }, "step = 0: must be between"},
		{func(p *query.Pass) { p.Step = -1 }, "step = -1: must be"},
		{func(p *query.Pass) { p.Step = 1e-40 }, "step = 1e-40: must be"},
		{func(p *query.Pass) { p.Clip = 0 }, "clip = 0: must be between"},
		{func(p *query.Pass) { p.Clip = -1 }, "clip = -1: must be"},
		{func(p *query.Pass) { p.Clip = math.NaN() }, "clip = NaN: must be"},
		{func(p *query.Pass) { p.Clip = math.Inf(1) }, "clip = +Inf: must be"},
		{func(p *query.Pass) { p.Lambda = -1 }, "lambda = -1: must be 0 or between"},
		{func(p *query.Pass) { p.Lambda = math.NaN() }, "lambda = NaN: must be 0 or"},
		{func(p *query.Pass) { p.Linear = []float64{1} }, "linear has 1 coordinates: must have as many as start, 2"},
		{func(p *query.Pass) { p.Linear = []float64{1, math.Inf(-1)} }, "linear: coordinate 1 = -Inf"},
		{func(p *query.Pass) { p.Radius = -1 }, "radius = -1: must be 0 or"},
		{func(p *query.Pass) { p.Radius, p.Centre = 1, []float64{1} }, "centre has 1 coordinates"},
		{func(p *query.Pass) { p.Centre = []float64{1, 1} }, "centre: must be nil where radius is 0"},
	} {
		p := plain
		c.change(&p)
		if _, err := query.NewStable(1, drawn, p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error = %v, want one about %q", err, c.want)
		}
	}
	for _, charge := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := query.NewStable(charge, drawn, plain); err == nil || !strings.Contains(err.Error(), "charge = ") {
			t.Errorf("charge %v: %v", charge, err)
		}
	}
	for _, c := range []query.Cohort{{}, query.NewCohort(0, 10)} {
		if _, err := query.NewStable(1, c, plain); err == nil || !strings.Contains(err.Error(), "cohort") {
			t.Errorf("cohort %v: %v", c, err)
		}
	}
	q, err := query.NewStable(1, drawn, plain)
	if err != nil {
		t.Fatal(err)
	}
	plain.Start[0] = 7
	q.Pass().Start[1] = 7
	if got := q.Pass().Start; got[0] != 1 || got[1] != 2 {
		t.Errorf("start became %v: a question must not change", got)
	}
}

// TestPassSensitivity compares the closed form of the predicted sensitivity with the sum (2 Step
// Clip/n)(1 + c + ... + c^(n-2)), which the closed form must equal.
func TestPassSensitivity(t *testing.T) {
	for _, n := range []int{2, 3, 100, 10000} {
		for _, lambda := range []float64{0, 1e-9, 1e-3, .5, 3} {
			for _, step := range []float64{1e-3, .1, .5, 2 / (1 + lambda)} {
				p := query.Pass{Start: []float64{0}, Step: step, Clip: 3, Lambda: lambda}
				c := max(math.Abs(1-step*lambda), p.Gain()*1-(1-step*lambda))
				sum, power := 0., 1.
				for range n - 1 {
					sum += power
					power *= c
				}
				want := 2 * step * 3 * sum / float64(n)
				if got := p.Sensitivity(n, 1); !(math.Abs(got/want-1) <= 1e-6) {
					t.Errorf("n = %d, step %v, lambda %v: %v, want %v", n, step, lambda, got, want)
				}
				if lambda > 0 && step <= 2/(1+2*lambda) {
					if got := p.Sensitivity(n, 1); got > 2*3/(float64(n)*lambda)*(1+1e-9) {
						t.Errorf("n = %d, step %v, lambda %v: %v is more than 2 Clip/(n Lambda)", n, step, lambda, got)
					}
				}
			}
		}
	}
}
