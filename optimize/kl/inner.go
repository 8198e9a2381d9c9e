package kl

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// Inner is the solver of the rounds of [Proximal].
type Inner uint8

var inners = [...]string{"strongly-convex", "gd", "spiderboost", "storm"}

func (i Inner) String() string { return optimize.NameOf(inners[:], "inner", uint8(i)) }

// solver returns the algorithm of a round with the given number of steps.
func (c Proximal) solver(steps int) optimize.Algorithm {
	switch c.Inner {
	case 2:
		return firstorder.SpiderBoost{Steps: steps, StepScale: c.StepScale}
	case 3:
		return firstorder.STORM{Steps: steps, StepScale: c.StepScale}
	}
	return firstorder.GD{Steps: steps, StepScale: c.StepScale}
}

// pull is the regularizer of a round: the problem's plus lambda ||w - centre||^2.
type pull struct {
	loss.Regularizer
	lambda float64
	centre []float64
}

func (q pull) Name() string {
	return fmt.Sprintf("%s + l2(%v) around a released point", q.Regularizer.Name(), 2*q.lambda)
}

func (q pull) Value(w []float64) float64 {
	sum := q.Regularizer.Value(w)
	for j, v := range w {
		sum += q.lambda * (v - q.centre[j]) * (v - q.centre[j])
	}
	return sum
}

func (q pull) AddGradient(dst, w []float64) {
	q.Regularizer.AddGradient(dst, w)
	for j, v := range w {
		dst[j] += 2 * q.lambda * (v - q.centre[j])
	}
}

func (q pull) Smoothness() float64 { return q.Regularizer.Smoothness() + 2*q.lambda }
func (q pull) Convexity() float64  { return q.Regularizer.Convexity() + 2*q.lambda }

// innerPlan is the plan of a [Proximal] whose rounds another algorithm solves. outer has the rounds and their charges.
type innerPlan struct {
	optimize.Settled
	of    Proximal
	outer *proximalPlan
}

// round returns the plan of round t, counted from 0, around the point centre. F falls by less than L0 ||w - centre|| -
// L~ ||w - centre||^2 from centre, which is at most L0^2/(4 L~).
func (g *innerPlan) round(ctx context.Context, p optimize.Problem, t int, centre []float64) (optimize.Plan, error) {
	steps, charge := g.outer.steps, g.outer.charge
	if t == g.outer.rounds-1 {
		steps, charge = g.outer.last, g.outer.lastCharge
	}
	p.Mu *= math.Sqrt(float64(steps) * charge / p.Charge())
	p.Constants.InitialGap = min(p.Constants.InitialGap, p.Constants.Lipschitz*p.Constants.Lipschitz/(4*g.outer.lambda))
	var err error
	if p.Set, err = g.outer.set(p, centre); err != nil {
		return nil, err
	}
	p.Start, p.Regularizer = centre, pull{p.Penalty(), g.outer.lambda, centre}
	return g.of.solver(steps).Plan(ctx, p)
}

// around plans the rounds of outer with the solver that c names.
func (c Proximal) around(ctx context.Context, p optimize.Problem, outer *proximalPlan, known optimize.KL) (optimize.Plan,
	error) {
	plan := &innerPlan{of: c, outer: outer}
	var work optimize.Workload
	var steps int
	var passes float64
	var last optimize.Plan
	for t := range outer.rounds {
		var err error
		if t == 0 || t == outer.rounds-1 { // rounds but the last are alike
			if last, err = plan.round(ctx, p, t, p.StartPoint()); err != nil {
				return nil, err
			}
		}
		s := last.Summary()
		work, steps, passes = work.Plus(last.Workload()), steps+s.Steps, passes+s.Passes
	}
	s := last.Summary()
	var err error
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: proximalName, Citation: "proximal point method (Menart et al. 2024, Algorithm 2) over " + s.Citation,
			Steps: steps, StepSize: s.StepSize, Passes: passes, Output: "of the last round: " + s.Output,
			Charges: fmt.Sprintf("%d rounds, of which the last has %d steps and %.3g of the budget; L~ = %.3g; %s; a round: %s",
				outer.rounds, outer.last, float64(outer.last)*outer.lastCharge/p.Charge(), outer.lambda, words(known), s.Charges),
		},
		Needs:      last.Needs(),
		Properties: optimize.Properties{Averaged: last.Properties().Averaged, Restarted: true},
		Workload:   work,
		Output:     optimize.Last,
	})
	plan.Expect(outer.forecast(p, known))
	return plan, err
}

// Run runs the solver once for each round, around the result of the round before.
func (g *innerPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	p := g.Problem()
	return optimize.Chain(ctx, o, observe, g.Summary().Steps, func(k int, from optimize.Result) (optimize.Plan, error) {
		switch k {
		case 0:
			from.W = p.StartPoint()
		case g.outer.rounds:
			return nil, nil
		}
		return g.round(ctx, p, k, from.W)
	})
}

// condition returns the KL condition that a plan assumes. The algorithm's own setting, the parameter given, comes
// first. If it is not set, condition returns the condition of the problem p. If the problem has none, condition returns
// the condition that strong convexity with modulus m implies: kappa = 2 and gamma = 1/sqrt(2m). Here m is the
// objective's known modulus if this is positive, and otherwise the smallest curvature that forecasts assume (see
// leastAssumed). condition returns an error if the setting given is not valid.
func condition(given optimize.KL, p optimize.Problem) (optimize.KL, error) {
	if err := given.Validate(); err != nil {
		return given, err
	}
	if given.Known() {
		return given, nil
	}
	if p.KL.Known() {
		return p.KL, nil
	}
	m := convexity(p)
	if !(m > 0) {
		m = leastAssumed(p)
	}
	return optimize.KL{Kappa: 2, Gamma: 1 / math.Sqrt(2*m)}, nil
}

// convexity returns the known modulus of strong convexity of the objective: a lower bound on the curvature
// of loss plus regularizer. It is 0 or negative if the objective is not known to be strongly convex.
func convexity(p optimize.Problem) float64 {
	lo, _ := p.Curvature()
	return lo + p.Penalty().Convexity()
}

// leastAssumed returns the smallest eigenvalue of the Hessian that forecasts assume (see
// [forecast.Assumed]).
func leastAssumed(p optimize.Problem) float64 {
	least := math.Inf(1)
	for _, e := range forecast.Assumed(p) {
		least = min(least, e.Eigenvalue)
	}
	return least
}

// longest is the largest default number of steps T for kappa below 2, and for the landing of [Adaptive].
// For kappa below 2 the excess risk without noise falls only like T^(-kappa/(2-kappa)), and more steps
// help. For kappa = 2, optimize.RuleSteps steps are enough.
const longest = 2 * optimize.RuleSteps

// noise returns the standard deviation, per coordinate, of the noise in the mean gradient of all records
// when the gradient is released at the given charge. It is Delta/sqrt(charge), where Delta is the
// sensitivity of the mean gradient.
func noise(p optimize.Problem, charge float64) float64 {
	return p.Neighbours() * p.Constants.Lipschitz / (p.Records * math.Sqrt(charge))
}

// chargeFor returns the charge at which the released mean gradient of all records has noise of standard
// deviation sigma per coordinate. It is the inverse of noise.
func chargeFor(p optimize.Problem, sigma float64) float64 {
	s := p.Neighbours() * p.Constants.Lipschitz / (p.Records * sigma)
	return s * s
}

// rootRho returns n sqrt(rho) for n records, where rho = mu^2/2 is the budget in zCDP, if neighbours are by
// replace-one, as in the paper (Menart et al. 2024). Under add-or-remove it returns 2 n sqrt(rho), since a
// sensitivity is half as large there.
func rootRho(p optimize.Problem) float64 {
	return p.Effective() * math.Sqrt(float64(p.Dim())) / math.Sqrt2
}

// failure returns the probability beta with which a theorem may fail: the setting beta, or .05 if beta is
// 0. It returns an error if beta is neither 0 nor in (0, 1), or if beta is set but theorem is false.
func failure(algorithm string, theorem bool, beta float64) (float64, error) {
	switch {
	case !theorem && beta != 0:
		return 0, fmt.Errorf("optimize: %s: failure = %v: is the theorem's, which is not asked for", algorithm, beta)
	case beta == 0:
		return defaultFailure, nil
	case !(beta > 0 && beta < 1):
		return 0, fmt.Errorf("optimize: %s: failure = %v: must be > 0 and < 1, or left out for .05", algorithm, beta)
	}
	return beta, nil
}

const defaultFailure = .05
