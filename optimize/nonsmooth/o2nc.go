package nonsmooth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// O2NC configures the conversion of online learning to nonconvex optimization (Cutkosky, Mehta and Orabona 2023; under
// differential privacy Kornowski, Liu and Talwar 2024, Algorithm 2). An online learner chooses each move delta within a
// ball of radius D. The learner's loss is <g, delta>, where g is the gradient estimate at a random point of the move.
//
//	for t = 1..T:  s ~ U[0,1];  z = x + s delta;  x = x + delta
//	               g = oracle(z);  delta = clip(delta - eta g, D)
//
// Steps form blocks of M steps. With the theorems' settings M D <= alpha, and the points of a block are within alpha of
// each other. By default M D = 2 alpha. The gradients are of f_alpha, the loss smoothed over radius alpha. With the
// theorems' settings, the norm of the mean of a block's gradients is therefore a Goldstein measure of radius r = 2
// alpha. The step size is eta = D/(G1 sqrt M), where G1 is the norm that the plan assumes for a gradient estimate.
//
// Oracles, which release the gradient estimates (field Oracle):
//
//	fresh        the gradient at z, of all records, each step
//	multi-pass   the gradient of all records every Period steps; between them, the last
//	             estimate plus a released difference from it (Algorithm 4); on Poisson samples of the
//	             records with AnchorBatch or DifferenceBatch (footnote 2 of the paper)
//	single-pass  fresh records for each item of a prefix sum over a period: gradients of
//	             B1 records first, then differences of B2 (Algorithms 3 and 5)
//
// The field Order selects how a record's gradient of f_alpha is computed. The gradient is clipped at C, and a
// difference of two gradients at min(M_alpha ||z_t - z_{t-1}||, 2 C), where M_alpha is about .8 sqrt(d) L0/alpha:
//
//	exact  the gradient of f_alpha in closed form, the limit of m to infinity; C = L0
//	first  the mean of m gradients at z + alpha u, u in the ball (Algorithm 5); C = L0
//	zero   the mean of (d/(2 alpha)) (f(z + alpha y) - f(z - alpha y)) y over m points y of
//	       the sphere (Algorithms 3 and 4); C = 2 L0
//
// Guarantee: mu-GDP whatever the constants, because of clipping. The paper's privacy guarantee holds only if the random
// directions concentrate. With Theorem the result is the mean of the points z over a block that is drawn uniformly. Up
// to constants and logarithms, which are set to 1, the result's expected Goldstein measure is (sqrt(F0) L0 d^(3/4)/(n
// epsilon sqrt(alpha)))^(2/3) for multi-pass (Theorem 4.1). For single-pass it is at most b if n is of order
// sqrt(d)/(alpha b^3) + d/(epsilon alpha b^2) (Theorem 3.1 with order zero, Theorem 6.1 with order first).
//
// Deviations from Kornowski, Liu and Talwar:
//   - With order exact, a difference is clipped to the ball given by the smoothed loss's curvature
//     interval. For convex losses the radius of this ball is half of the paper's bound.
//   - The random directions are public, and the same at both points of a difference. The paper draws new
//     directions at each point. With order zero, directions are drawn from the sphere, where Algorithms 3
//     and 4 print the ball. Clipping bounds the sensitivity for every m. Therefore m need not be of order
//     d^2 B1^2.
//   - Without Theorem the result is the average of the second half of the points z, and the constants were
//     found by measurement: M = 3, D = 2 alpha/M, and G1^2 = (.03 L0)^2 plus the square of the noise's
//     norm. The theorems' G1 >= L0 and their result, a random block's mean, were measured to be far worse.
//   - D of Theorem 4.1 is set to alpha (b/L0)^2. With this correction D has the unit of a length.
//   - Prefix sums of single-pass have the noise of the square-root Toeplitz matrix, also with Theorem. The paper's is
//     the tree's, which Prefix: tree gives: its variance is 4 times as large on average for 64 items, 6 times for 1024.
//   - The numbers s come from public random bits.
//   - The noise of all releases on samples is calibrated together by privacy-loss distributions. The paper's footnote
//     states amplification up to a constant.
//   - If parameters are restricted to a set, x and z are projected on it.
//   - With Look, several blocks are drawn, and [optimize.NormSelection] privately chooses one block by the norm of
//     the smoothed loss's gradient at the block's mean. If K blocks are drawn from a run, then with
//     probability at least 1 - 2^-K one of them has a Goldstein measure of at most twice the mean over the
//     run's blocks. The norm of the smoothed loss's gradient is a stricter measure than a block's Goldstein
//     measure, since its radius is alpha, not 2 alpha.
//
// The plan's forecast is the forecast for the starting point ([forecast.AtStart]), since the method has no forecast of
// its own. If the noise in the mean of all gradient estimates is at least as long as the gradient that is usual at the
// start, .14 L0, a single pass leaves the start only at random. The default rule then refuses the oracle single-pass
// with an error. If Steps, Period or Theorem is set, the plan warns instead ([optimize.Summary].AtRandom).
type O2NC struct {
	// Radius is r = 2 alpha, where alpha is the radius of the ball over which the loss is smoothed. Zero means d/N,
	// but at least .001 and at most 1.
	Radius float64 `yaml:"radius"`
	// Oracle is fresh, multi-pass or single-pass. Empty means fresh.
	Oracle Oracle `yaml:"oracle"`
	// Prefix is the factorization of the prefix sums that the oracle single-pass releases: tree or toeplitz.
	// Empty means toeplitz. With another oracle it must be empty or toeplitz.
	Prefix Prefix `yaml:"prefix"`
	// Steps is T. Zero means 3 N, but at least 300 and at most 3000. With the oracle single-pass, zero means 4 sqrt N,
	// or fewer if a step's cohort of records would otherwise be empty. With Theorem, zero means the theorem's number.
	Steps int `yaml:"steps"`
	// Block is M, the number of consecutive steps in a block. With Theorem the result is the average over one block.
	// Zero means 3, or with Theorem the theorem's number.
	Block int `yaml:"block"`
	// Period is the number of steps from one released gradient to the next. The steps in between release gradient
	// differences. Zero means 8 with the oracle multi-pass. With single-pass, zero means the power of 2, at most 64,
	// with which the gradient estimates have the least error. With Theorem, zero means the theorem's number. With the
	// oracle fresh it must be zero.
	Period int `yaml:"period"`
	// AnchorBatch and DifferenceBatch are the expected shares, in (0, 1], of the records in the Poisson sample of a
	// gradient and of a difference, with the oracle multi-pass and without Look. If one of the two is zero, its sample
	// has all records. If both are zero nothing is sampled.
	AnchorBatch     float64 `yaml:"anchor_batch"`
	DifferenceBatch float64 `yaml:"difference_batch"`
	// Theorem uses the settings of Kornowski, Liu and Talwar (2024): of Theorem 4.1 with the oracle
	// multi-pass, and of Theorem 3.1 or 6.1 with single-pass. The oracle fresh is not allowed.
	Theorem bool `yaml:"theorem"`
	// Order says how a record's gradient of the smoothed loss is computed. exact uses a closed form. first averages
	// gradients at random points within alpha. zero uses loss values at random points. Empty means first for networks
	// whose derivative jumps, and exact for all other losses.
	Order Order `yaml:"order"`
	// Directions is m, the number of random points (with order zero, pairs of points) at which a record's loss
	// is evaluated with order first or zero. Zero means d for order zero. For order first, zero means 4
	// alpha/(sqrt(d) D), the smallest number that estimates a difference well, or 1 with the oracle fresh.
	Directions int `yaml:"directions"`
	// Look is the number of averages of points that may become the result. The run chooses one average by the gradient
	// norm of the smoothed loss, and releases this norm. The choice costs a tenth of the budget, or with the oracle
	// single-pass a tenth of the records. With Theorem the averages are over random blocks, and otherwise over the
	// last 1/2, 1/4, 1/8, ... of the points. Zero means one average and no released norm. 1 means one average, at
	// which the norm is released.
	Look int `yaml:"look" zero:"none"`
}

// Oracle selects how gradient estimates are released. Fresh releases a new gradient of all records at every
// step. MultiPass releases a gradient of all records once in a period of steps, and differences of
// gradients of all records in the other steps. SinglePass releases gradients and differences as items of
// prefix sums, and each record is in one item only.
type Oracle uint8

const (
	// Fresh releases the gradient of all records at every step.
	Fresh Oracle = iota
	// MultiPass releases the gradient of all records once in a period of steps, and in the other
	// steps the gradient difference since the last step.
	MultiPass
	// SinglePass releases gradients and differences like MultiPass. The gradient and the differences
	// of a period are the items of a prefix sum, and each record is in one item only.
	SinglePass
)

var oracles = [...]string{"fresh", "multi-pass", "single-pass"}

func (o Oracle) String() string { return optimize.NameOf(oracles[:], "oracle", uint8(o)) }

// Prefix selects the factorization that makes the noise of prefix sums: toeplitz (0) or tree (1).
type Prefix uint8

var prefixes = [...]string{"toeplitz", "tree"}

func (p Prefix) String() string { return optimize.NameOf(prefixes[:], "prefix", uint8(p)) }

func (p Prefix) factorization() query.Factorization {
	if p == 1 {
		return query.Tree
	}
	return query.Toeplitz
}

// o2ncPlan is the plan of an [O2NC] for one problem. Field names follow the paper.
type o2ncPlan struct {
	optimize.Settled
	oracle       Oracle
	prefix       query.Prefix
	T, M, period int
	D, eta       float64
	base         float64           // the part of G1 that is not noise
	anchor, rest float64           // charges of a gradient and of a difference; with single-pass, the sizes of their cohorts
	schedule     *account.Schedule // of the releases on Poisson samples; nil without samples
	clip         float64           // C, the clip norm of a gradient
	ball         optimize.DifferenceBall
	candidates   []stretch // the averages that may become the result
	look         optimize.NormSelection
	random       string  // why a single pass leaves the start only at random; "" if it is expected to leave it
	held         float64 // number of records held out for the look; 0 means that the look is at all records
}

// Plan implements [optimize.Algorithm]. It returns an error if there are too few records for the cohorts.
func (c O2NC) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.ValidateKinked(), c.check()); err != nil {
		return nil, err
	}
	c.Radius = cmp.Or(c.Radius, DefaultRadius(p))
	plan := &o2ncPlan{oracle: c.Oracle, clip: p.Constants.Lipschitz}
	p, err := c.smooth(plan, p)
	if err != nil {
		return nil, err
	}
	rest, err := plan.reserve(c, p)
	if err != nil {
		return nil, err
	}
	if c.Theorem {
		err = c.theorem(plan, rest)
	} else {
		c.practical(plan, rest)
	}
	if err != nil {
		return nil, err
	}
	if s := &p.Smoothing; s.Sampled() && s.Directions == 0 {
		s.Directions = plan.directions(s.By, s.Radius, p.Dim())
	}
	words, err := plan.divide(ctx, c, rest)
	if err != nil {
		return nil, err
	}
	output := plan.outputs(c, p)
	needs := optimize.Needs{Schedule: plan.schedule, Seed: true, PublicCoins: c.Theorem, Cohorts: c.Oracle == SinglePass,
		PrefixSums: c.Oracle == SinglePass, Selection: len(plan.candidates) > 1}
	anchors := math.Ceil(float64(plan.T) / float64(plan.period))
	first, later := c.batches()
	passes := rest.Records / p.Records
	if c.Oracle == SinglePass {
		first, later = plan.anchor/p.Records, plan.rest/p.Records
	} else {
		passes = each(p.Smoothing) * (anchors*first + 2*(float64(plan.T)-anchors)*later)
	}
	passes += plan.looks(p)
	work := optimize.Workload{}.Count(query.Gradient, anchors, first).
		Count(query.Difference, float64(plan.T)-anchors, later)
	if plan.look != (optimize.NormSelection{}) {
		work = work.Count(query.Norm, plan.norms(), plan.seen(p))
	}
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "o2nc",
			Citation: "online-to-nonconvex conversion (Kornowski, Liu and Talwar 2024, Algorithm 2), oracle " +
				c.Oracle.String() + asked(p.Smoothing),
			Steps: plan.T, StepSize: plan.eta, Clip: plan.clip, Output: output, Passes: passes, AtRandom: plan.random,
			Charges: fmt.Sprintf("%s; moves of at most %.3g, blocks of %d: a block's mean is judged by gradients within %.3g%s",
				words, plan.D, plan.M, c.Radius, plan.price(p)),
		},
		Needs: needs, Properties: optimize.Properties{OnePass: c.Oracle == SinglePass, Sampled: plan.schedule != nil,
			Averaged: !c.Theorem && c.Look == 0, Unmoved: plan.T == 1},
		Workload:   work,
		UpdateRule: optimize.UpdateRule{Answer: optimize.Fresh(func(int) float64 { return 0 })},
		// Run computes the average itself, so no output rule of optimize applies.
		Output: optimize.Last,
	})
	if err != nil {
		return nil, err
	}
	plan.Expect(forecast.AtStart(p))
	if c.Theorem {
		plan.Promises(c.theoremName(), "distance from 0 to the Goldstein subdifferential of the radius",
			p.Constants.Lipschitz, c.theoremBound)
	}
	return plan, nil
}

func (c O2NC) check() error {
	if err := cmp.Or(optimize.CheckSteps("o2nc", c.Steps), optimize.CheckCount("o2nc", "block", c.Block),
		optimize.CheckCount("o2nc", "period", c.Period)); err != nil {
		return err
	}
	switch {
	case c.Radius != 0 && !optimize.Positive(c.Radius):
		return fmt.Errorf("optimize: o2nc: radius = %v: must be > 0, or left out for the rule's", c.Radius)
	case c.Period > 0 && c.Oracle == Fresh:
		return fmt.Errorf("optimize: o2nc: period = %d: must be 0 with oracle fresh, which asks for a gradient each step",
			c.Period)
	case c.Prefix != 0 && c.Oracle != SinglePass:
		return fmt.Errorf("optimize: o2nc: prefix = %v: is of oracle single-pass", c.Prefix)
	case c.Look < 0 || c.Look > mostLooks:
		return fmt.Errorf("optimize: o2nc: look = %d: must be between 0 (none) and %d", c.Look, mostLooks)
	case !(c.AnchorBatch >= 0 && c.AnchorBatch <= 1 && c.DifferenceBatch >= 0 && c.DifferenceBatch <= 1):
		return fmt.Errorf("optimize: o2nc: anchor batch = %v, difference batch = %v: must be > 0 and <= 1 of the records, or "+
			"left out", c.AnchorBatch, c.DifferenceBatch)
	case c.AnchorBatch+c.DifferenceBatch > 0 && (c.Oracle != MultiPass || c.Look > 0):
		return fmt.Errorf("optimize: o2nc: anchor batch = %v, difference batch = %v: must be with oracle multi-pass, and "+
			"without a look", c.AnchorBatch, c.DifferenceBatch)
	case c.Directions < 0:
		return fmt.Errorf("optimize: o2nc: directions = %d: must be >= 1, or left out for the rule's", c.Directions)
	case c.Directions > 0 && c.Order != FirstOrder && c.Order != ZeroOrder:
		return fmt.Errorf("optimize: o2nc: directions = %d: must be with order first or zero", c.Directions)
	case c.Theorem && c.Oracle == Fresh:
		return errors.New("optimize: o2nc: theorem: must be with oracle multi-pass or single-pass, of which the theorems are")
	}
	return nil
}

// anchorShare is the share of the budget that pays for gradients, and not for gradient differences,
// with the oracle multi-pass.
const anchorShare = .8

// divide divides the budget, or for a single pass the records, among gradients and gradient differences. It
// computes the step size eta from the resulting noise. It returns a description of the division for the
// plan's summary, or an error if a single pass has too few records.
func (g *o2ncPlan) divide(ctx context.Context, c O2NC, p optimize.Problem) (words string, err error) {
	C, d, anchors := g.clip, float64(p.Dim()), math.Ceil(float64(g.T)/float64(g.period))
	differences := float64(g.T) - anchors
	far := g.farthest(p)
	var variance float64 // error variance per coordinate, at the end of a period
	square := func(radius, size, charge float64) float64 {
		s := p.Neighbours() * radius / size
		return s * s / charge
	}
	switch g.oracle {
	case Fresh:
		g.period, g.anchor = 1, p.Charge()/float64(g.T)
		variance, words = square(C, p.Records, g.anchor), "every step alike"
	case MultiPass:
		share := anchorShare
		if differences == 0 {
			share = 1
		}
		g.anchor, g.rest = p.Charge()*share/anchors, p.Charge()*(1-share)/max(differences, 1)
		words = fmt.Sprintf("%.2g of the budget to gradients every %d steps, the rest to differences", share, g.period)
		b1, b2 := c.batches()
		if b1*b2 < 1 {
			release := func(batch, charge float64) account.SampledSteps {
				return account.SampledSteps{NoiseMultiplier: batch / math.Sqrt(max(charge, math.SmallestNonzeroFloat64)),
					Sampling: batch}
			}
			if g.schedule, g.anchor, g.rest, err = firstorder.Amplify(ctx, p, g.T, g.period, release(b1, g.anchor),
				release(b2, g.rest)); err != nil {
				return "", err
			}
			words += fmt.Sprintf(", on Poisson samples of %.3g (gradients) and %.3g (differences) of the records", b1, b2)
		}
		variance = square(C, p.Records, g.anchor) + (1/b1-1)*C*C/(p.Records*d)
		if differences > 0 {
			variance += float64(g.period-1) * (square(far, p.Records, g.rest) + (1/b2-1)*far*far/(p.Records*d))
		}
	case SinglePass:
		if g.rest = cohort(p, g.T, g.period); !(g.rest >= 1) {
			return "", fmt.Errorf("optimize: o2nc: steps = %d: must leave every cohort of %v records one", g.T, p.Records)
		}
		g.anchor = g.rest * float64(g.period)
		g.prefix = g.items(c, p, g.period)
		sigma := g.prefix.Sigma(g.period)
		variance = sigma*sigma + C*C/g.anchor/d
		if g.random, err = g.leaves(c, p); err != nil {
			return "", err
		}
		words = fmt.Sprintf("the whole budget to each record's item of a prefix sum (%v) over %d steps: cohorts of %.6g "+
			"and %.6g records", g.prefix.Factorization, g.period, g.anchor, g.rest)
	}
	G1 := math.Hypot(g.base, math.Sqrt(d*variance))
	g.eta = g.D / (G1 * math.Sqrt(float64(g.M)))
	return words, nil
}

// Run makes the steps of Algorithm 2 of Kornowski, Liu and Talwar 2024. It returns the average of the points z over a
// stretch of steps that the plan fixes, or with a look over the stretch that the look chooses.
func (g *o2ncPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	p := g.Problem()
	run := g.Begin(ctx, o, observe)
	run.Bound(g.D)
	d := len(run.W)
	x, delta := append([]float64(nil), run.W...), make([]float64, d)
	ask := g.estimates(run)
	coins := p.PublicCoins(2, 24)
	kept := newAverages(g.candidates)
	var held query.Cohort
	if g.held > 0 {
		var err error
		if held, err = run.Draw(g.held); err != nil {
			return run.ResultAt(run.W, false), run.Failed(err)
		}
	}
	for t := range g.T {
		s := coins.Float64()
		z := make([]float64, d)
		for j, v := range delta {
			z[j] = x[j] + s*v
			x[j] += v
		}
		// A projection does not make a move longer.
		p.Project(z)
		p.Project(x)
		copy(run.W, z)
		estimate, sigma, err := ask(t, z)
		if err != nil {
			return run.ResultAt(kept[0].Or(z), false), run.Failed(err)
		}
		kept.add(t, z)
		gradient := run.Regularized(estimate)
		vector.Add(delta, -g.eta, gradient)
		if long := optimize.Norm(delta); long > g.D {
			vector.Scale(delta, g.D/long)
		}
		run.Reach(z, optimize.Norm(gradient), sigma, g.eta)
	}
	if g.look == (optimize.NormSelection{}) {
		return run.ResultAt(kept[0].Or(x), true), nil
	}
	return g.choose(run, held, kept)
}

// estimates returns a function that releases the gradient estimate at z in step t, in the way that the plan's oracle
// selects. The function also returns the standard deviation of the release's noise per coordinate.
func (g *o2ncPlan) estimates(run *optimize.Run) func(t int, z []float64) ([]float64, float64, error) {
	p := g.Problem()
	var prev, estimate []float64
	var variance float64 // of the estimate's noise, without the samples'
	var period *optimize.PrefixSum
	return func(t int, z []float64) ([]float64, float64, error) {
		first := t%g.period == 0
		defer func() { prev = z }()
		cohort, err := run.All(), error(nil)
		if g.schedule != nil {
			if cohort, err = run.Sample(); err != nil {
				return nil, 0, err
			}
		}
		charge, size := g.rest, g.rest
		if first {
			charge, size = g.anchor, g.anchor
		}
		term := func() query.Term {
			if first {
				return query.GradientAt(cohort, z, g.clip)
			}
			return g.difference(p, cohort, z, prev)
		}
		still := !first && !(term().Ball().Radius > 0x1p-100)
		if still && g.schedule == nil {
			return estimate, 0, nil // z has not moved: the last estimate is used again, without a query
		}
		if g.oracle == SinglePass {
			if first {
				if period, err = run.OpenPrefix(g.prefix); err != nil {
					return nil, 0, err
				}
			}
			if cohort, err = run.Draw(size); err != nil {
				return nil, 0, err
			}
			answer, err := period.Add(term())
			estimate = answer.Mean
			return estimate, answer.Sigma, err
		}
		asked := term()
		if still { // every sample is asked: a gradient joins the estimate by inverse variances
			asked = query.GradientAt(cohort, z, g.clip)
		}
		answer, err := run.Ask(charge, asked)
		if err != nil {
			return nil, 0, err
		}
		fresh, keep, take := answer.Sigma*answer.Sigma, 1., 1.
		switch {
		case first:
			keep, variance = 0, 0
		case still:
			take = variance / (variance + fresh)
			keep = 1 - take
		}
		for j, v := range estimate {
			answer.Mean[j] = take*answer.Mean[j] + keep*v
		}
		variance = keep*keep*variance + take*take*fresh
		estimate = answer.Mean
		return estimate, answer.Sigma, nil
	}
}
