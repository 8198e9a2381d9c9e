package firstorder_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestDPZeroAsksOneNumber recomputes a run from its questions and answers. Question t must be about the change of the
// loss along a vector u of length sqrt(d) that no other question has, about the iterate, clipped to 2hC. The step
// must be the answer's slope, plus the regularizer's along u, times u. The test fails if a step goes another way or
// by another length, if the regularizer is left out or counted twice, or if the charges do not add up to the budget.
func TestDPZeroAsksOneNumber(t *testing.T) {
	const T = 12
	for _, p := range variants(t) {
		o := optimizetest.New(p.Config(budget(t), 1000, 3))
		c := firstorder.DPZero{Steps: T, Clip: 1.5, Rank: 2, Output: optimize.Last}
		plan, err := c.Plan(ctx, with(p.Public, o.Size()))
		result := run(t, resolve(t, plan, err), o)
		d := p.Public.Dim()
		trace := 2 * p.Public.DataSmoothness()
		if r := p.Public.Regularizer; r != nil {
			trace += float64(d) * r.Smoothness()
		}
		eta := 1 / (trace + 2*p.Public.Smoothness())
		w := p.Public.StartPoint()
		var offered []float64
		seen := map[float64]bool{}
		for k, a := range o.Asked {
			term := a.Question.Terms()[0]
			onEverybody(t, k, term, 1)
			ahead, behind := term.Point(), term.Previous()
			u := add(ahead, -1, behind)
			h := length(u) / 2 / math.Sqrt(float64(d))
			centre := add(behind, .5, u)
			for j := range u {
				u[j] /= 2 * h
				if !(math.Abs(centre[j]-w[j]) <= 1e-9) {
					t.Fatalf("%s: question %d is about %v: must be %v", p.Name, k, centre, w)
				}
			}
			clip := 2 * h * 1.5 * p.Public.Constants.Lipschitz
			if term.Kind() != query.ValueChange || !close(term.Ball().Radius, clip, 1e-9) || h > .01 || seen[u[0]] {
				t.Fatalf("%s: question %d: %s clipped to %v, h = %v, along %v", p.Name, k, a.Question.Name(),
					term.Ball().Radius, h, u)
			}
			seen[u[0]] = true
			slope := a.Answer.Mean[0] / (2 * h)
			reg := make([]float64, d)
			p.Public.AddRegularizer(reg, w)
			for j, v := range reg {
				slope += v * u[j]
			}
			w = add(w, -eta*slope, u)
			p.Public.Project(w)
			offered = append(offered, a.Question.Charge())
		}
		if len(o.Asked) != T || length(add(w, -1, result.W)) > 1e-6*(1+length(w)) {
			t.Errorf("%s: %d questions, result %v: want %d, %v", p.Name, len(o.Asked), result.W, T, w)
		}
		withinBudget(t, o.Size().Mu, offered)
		if all := sum(offered); !close(all, o.Size().Mu*o.Size().Mu, 1e-8) || !close(offered[T-1], T*offered[0], 1e-9) {
			t.Errorf("%s: charges %v", p.Name, offered)
		}
	}
}

// TestDPZeroTheorem compares the mean squared gradient norm of random iterates with the bound, on a quadratic of
// effective rank 18 in 30 dimensions. The test fails if directions have length 1, so that a step is 30 times too
// short, if steps are too long for the effective rank, or if the clip norm is too short for slopes along directions
// of length sqrt(d).
func TestDPZeroTheorem(t *testing.T) {
	const d, seeds = 30, 8
	p := wide(d, .01)
	var square, bound float64
	for seed := range uint64(seeds) {
		o := optimizetest.New(p.Config(budget(t), 3e6, seed))
		problem := with(p.Public, o.Size())
		problem.Seed = seed
		plan, err := firstorder.DPZero{Theorem: true, Rank: 18}.Plan(ctx, problem)
		result := run(t, resolve(t, plan, err), o)
		bound = plan.Summary().Promise.Bound
		norm := func(w []float64) (sum float64) {
			for j, e := range p.Loss.(optimizetest.Quadratic).Eigenvalues {
				sum += e * e * w[j] * w[j]
			}
			return math.Sqrt(sum)
		}
		square += norm(result.W) * norm(result.W) / seeds
		if start := norm(problem.StartPoint()); !(bound < start/2) {
			t.Fatalf("bound %v, at the start %v: the test shows nothing", bound, start)
		}
	}
	if got := math.Sqrt(square); got > bound {
		t.Errorf("gradient norm %v (root mean square): must be at most %v", got, bound)
	}
}

// TestDPZeroDoesNotDependOnTheDimension plans for 10 and 1000 dimensions: without a regularizer the bound, steps and
// step size of a generalised linear model must be equal.
func TestDPZeroDoesNotDependOnTheDimension(t *testing.T) {
	var plans []optimize.Summary
	for _, d := range []int{10, 1000} {
		p := with(optimizetest.Problems()[0].Public, optimizetest.Size{Records: 1e6, Mu: .3, Neighbours: 2})
		p.Shape, p.RankOne, p.Start = optimize.Vector(d), true, nil
		plan, err := firstorder.DPZero{Theorem: true}.Plan(ctx, p)
		plans = append(plans, resolve(t, plan, err).Summary())
	}
	a, b := plans[0], plans[1]
	if a.Promise != b.Promise || a.Steps != b.Steps || a.StepSize != b.StepSize || a.Promise.From == 0 {
		t.Errorf("%+v and %+v differ", a, b)
	}
}

func TestDPZeroRefuses(t *testing.T) {
	p := with(optimizetest.Problems()[0].Public, optimizetest.Size{Records: 1000, Mu: 1, Neighbours: 2})
	for _, c := range []firstorder.DPZero{{Steps: -1}, {Clip: -1}, {Clip: math.NaN()}, {Rank: .5}, {Rank: math.Inf(1)},
		{StepScale: -1}, {Output: 99}} {
		if _, err := c.Plan(ctx, p); err == nil {
			t.Errorf("%+v was planned", c)
		}
	}
}

// TestDPZeroNumbersByHand works out the noise of a number that is released with the whole budget, from which the default
// number of steps and the promised gradient follow: the neighbours' distance times the clip times L0 over n mu.
func TestDPZeroNumbersByHand(t *testing.T) {
	for _, p := range variants(t) {
		for _, records := range []int{1000, 40_000} {
			public := with(p.Public, optimizetest.New(p.Config(budget(t), records, 3)).Size())
			d, n := float64(public.Dim()), public.Records
			trace := 2*public.DataSmoothness() + d*(public.Smoothness()-public.DataSmoothness())
			clip := math.Sqrt(2 * math.Log(math.E+n*n))
			noise := public.Neighbours() * clip * public.Constants.Lipschitz / (n * public.Mu)
			plan, err := firstorder.DPZero{Rank: 2, Theorem: true}.Plan(ctx, public)
			if err != nil {
				t.Fatal(err)
			}
			gap := public.Constants.InitialGap
			want := int(min(max(math.Ceil(math.Sqrt(2*gap/trace)*(trace+2*public.Smoothness())/noise), 1), optimize.MostSteps))
			last, err := firstorder.DPZero{Steps: 3, Output: optimize.Last}.Plan(ctx, public)
			if err != nil {
				t.Fatal(err)
			}
			if needs := last.Needs(); !needs.Seed || needs.Cohorts || needs.Schedule != nil {
				t.Errorf("%s: needs %+v: must be a seed alone, from which the directions are drawn", p.Name, needs)
			}
			s := plan.Summary()
			if s.Steps != want || !close(s.Promise.Bound, math.Sqrt(2*noise*math.Sqrt(2*gap*trace)), 1e-9) {
				t.Errorf("%s, %d records: %d steps, promise %v: must be %d, %v", p.Name, records, s.Steps, s.Promise.Bound, want,
					math.Sqrt(2*noise*math.Sqrt(2*gap*trace)))
			}
		}
	}
}
