package firstorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Warm starts a method for stationary points at the result of gradient descent: a part of the budget goes to [GD], and
// the rest to the method Then, which starts where GD ends (Lowy, Ullman and Wright 2024, How to Make the Gradients
// Small Privately).
//
// Guarantee: mu-GDP. GD is charged Share of mu^2 and the method the rest. Its start is a released point. The paper
// proves that the excess risk of the start replaces F0 in the method's bound. For SpiderBoost the gradient norm is then
// O((sqrt(E L1 L0) a)^(2/3) + L0 a) for an excess risk E at the start and a = 2 sqrt(d)/(n mu), with mu that of the
// method.
//
// Deviations from the paper:
//   - The settings of Then follow from 4 times the excess risk that GD's plan forecasts, at most F0, in place of E, which
//     depends on the records. The forecast is no bound, so that a plan with Theorem states no promise. With F0 in place
//     of it warm starts were measured to lose what they gain.
//   - The paper warm starts with an algorithm whose excess risk is proved for convex and Lipschitz losses, and with the
//     exponential mechanism for others. Here it is GD with its own rule, which has no bound on the excess risk of losses
//     that are not convex.
//
// The zero Warm gives half of the budget to GD and the rest to SpiderBoost with its practical rule.
type Warm struct {
	// Share is the share of the budget mu^2 that the first method, gradient descent (gd), spends. It is above 0 and
	// below 1. Zero means .5.
	Share float64 `yaml:"share"`
	// Then is the method that continues from gd's result: spiderboost or storm. Zero means spiderboost.
	Then Follower `yaml:"then" trial:"storm"`
	// Theorem means that spiderboost has the settings of Theorem 9 (Arora et al. 2023), on all records.
	Theorem bool `yaml:"theorem"`
}

// Follower is the method that goes on from a warm start.
type Follower uint8

const (
	// ThenSpiderBoost is [SpiderBoost].
	ThenSpiderBoost Follower = iota
	// ThenSTORM is [STORM].
	ThenSTORM
)

var followerNames = [...]string{"spiderboost", "storm"}

func (f Follower) String() string { return optimize.NameOf(followerNames[:], "then", uint8(f)) }

// warmPlan is the plan of a [Warm]. second is the method's plan from the problem's start, whose numbers the plan
// states. A run makes the plan again, from the point to which first leads.
type warmPlan struct {
	optimize.Settled
	first, second optimize.Plan
	method        optimize.Algorithm
	rest          optimize.Problem
}

// Plan plans GD with its part of the budget, and the method with the rest. It returns an error if p is not valid or a
// setting is out of range.
func (c Warm) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	c.Share = cmp.Or(c.Share, .5)
	plan := &warmPlan{method: SpiderBoost{Theorem: c.Theorem, Batches: AllRecords}, rest: p}
	switch {
	case !(c.Share > 0 && c.Share < 1):
		return nil, fmt.Errorf("optimize: warm: share = %v: must be > 0 and < 1, or left out for .5", c.Share)
	case int(c.Then) >= len(followerNames):
		return nil, fmt.Errorf("optimize: warm: then = %v: must be one of %v", c.Then, followerNames)
	case c.Then == ThenSTORM && c.Theorem:
		return nil, errors.New("optimize: warm: theorem: must be with then: spiderboost, of which the theorem is")
	case c.Then == ThenSTORM:
		plan.method = STORM{}
	}
	begin := p
	begin.Mu, plan.rest.Mu = p.Mu*math.Sqrt(c.Share), p.Mu*math.Sqrt(1-c.Share)
	begin.Explained, plan.rest.Explained = false, false // the trace of a chain keeps no curvature at the result
	var err error
	if plan.first, err = (GD{}).Plan(ctx, begin); err != nil {
		return nil, err
	}
	// The method has less to fall than F0 from where GD ends.
	if expected := plan.first.Summary().Excess; expected > 0 {
		plan.rest.Constants.InitialGap = min(p.Constants.InitialGap, 4*expected)
	}
	if plan.second, err = plan.method.Plan(ctx, plan.rest); err != nil {
		return nil, err
	}
	a, b := plan.first.Summary(), plan.second.Summary()
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "warm",
			Citation:  "warm start (Lowy, Ullman and Wright 2024) by noisy gradient descent, then " + b.Citation,
			Steps:     a.Steps + b.Steps, StepSize: b.StepSize, Passes: a.Passes + b.Passes, Output: b.Output,
			Charges: fmt.Sprintf("%.3g of mu^2 for %d steps of gd, %s; the rest for %d steps: %s", c.Share, a.Steps, a.Charges,
				b.Steps, b.Charges),
			Predicted: b.Predicted, Population: b.Population, Excess: b.Excess,
		},
		Needs:      plan.second.Needs(), // GD has none
		Properties: optimize.Properties{Averaged: plan.second.Properties().Averaged, Restarted: true},
		Workload:   plan.first.Workload().Plus(plan.second.Workload()),
		Output:     optimize.Last,
	})
	return plan, err
}

// Run runs GD, and then the method from the point to which GD led.
func (w *warmPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	return optimize.Chain(ctx, o, observe, w.Summary().Steps, func(k int, from optimize.Result) (optimize.Plan, error) {
		switch k {
		case 0:
			return w.first, nil
		case 1:
			rest := w.rest
			rest.Start = from.W
			return w.method.Plan(ctx, rest)
		}
		return nil, nil
	})
}
