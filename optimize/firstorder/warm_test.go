package firstorder_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestWarmGoesOnWhereGDEnds runs Warm beside GD with the same part of the budget and the same noise. The first gradient
// after GD must be asked at GD's result, both parts must have their shares of the budget and no more, and steps and
// charges must go on counting. The test fails if either part is planned with the whole budget, or the second begins at
// the problem's start.
func TestWarmGoesOnWhereGDEnds(t *testing.T) {
	for i, p := range variants(t) {
		for _, c := range []firstorder.Warm{{}, {Share: .3, Then: firstorder.ThenSTORM}, {Theorem: true}} {
			if c.Theorem && i > 0 {
				continue // many steps
			}
			share := c.Share
			if share == 0 {
				share = .5
			}
			o := optimizetest.New(p.Config(budget(t), 1000, 5))
			problem := with(p.Public, o.Size())
			plan, err := c.Plan(ctx, problem)
			if err != nil {
				t.Fatal(err)
			}
			var steps []optimize.Step
			result, err := plan.Run(ctx, o, func(s optimize.Step) { steps = append(steps, s) })
			if err != nil {
				t.Fatal(err)
			}
			alone := optimizetest.New(p.Config(budget(t), 1000, 5))
			part := problem
			part.Mu *= math.Sqrt(share)
			method, err := firstorder.GD{}.Plan(ctx, part)
			gd := run(t, resolve(t, method, err), alone)
			if got := o.Asked[gd.Steps].Question.Terms()[0].Point(); !same(got, gd.W) {
				t.Errorf("%+v: goes on at %v: want gd's result %v", c, got, gd.W)
			}
			offered, _ := charges(o.Asked)
			withinBudget(t, part.Mu, offered[:gd.Steps])
			if got := sum(offered); got > problem.Mu*problem.Mu {
				t.Errorf("%+v: charges %v: must be at most %v", c, got, problem.Mu*problem.Mu)
			}
			last := steps[len(steps)-1]
			if len(steps) != result.Steps || last.Number != result.Steps || last.Of != plan.Summary().Steps ||
				!close(last.Charged, sum(offered), 1e-9) {
				t.Errorf("%+v: %d steps, the last %d of %d, charged %v: want %d and %v", c, len(steps), last.Number, last.Of,
					last.Charged, result.Steps, sum(offered))
			}
		}
	}
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func TestWarmRefuses(t *testing.T) {
	p := with(optimizetest.Problems()[0].Public, optimizetest.Size{Records: 1000, Mu: 1, Neighbours: 2})
	for _, c := range []firstorder.Warm{{Share: 1}, {Share: -.1}, {Share: math.NaN()}, {Then: 9},
		{Then: firstorder.ThenSTORM, Theorem: true}} {
		if _, err := c.Plan(ctx, p); err == nil {
			t.Errorf("%+v was planned", c)
		}
	}
}
