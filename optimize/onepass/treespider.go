package onepass

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TreeSpider configures tree-based private Spider, a method for the population
// risk in one pass (Arora, Bassily, González, Guzmán, Menart and Ullah 2023,
// Algorithm 2). Each of T rounds visits a binary tree of depth D depth first:
//
//	root:           g = mean over b fresh records of clip(grad f(w; x), L0) + noise
//	left child:     has its parent's point and estimate
//	right child at depth j, at the point w reached by then, its parent at w':
//	                g = g' + mean over b/2^j fresh records of
//	                    clip(grad f(w; x) - grad f(w'; x), ball) + noise
//	leaf:           if ||g + grad reg(w)|| <= 2 alpha~ return w, else
//	                w <- w - eta (g + grad reg(w))
//
// so that an estimate is a sum of at most D+1 answers in 2^D steps. Each record
// is in one release only and every release has the whole budget; a difference's
// noise follows the true distance between the two points, which is released.
//
// Guarantee: mu-GDP whatever the constants. For an L1-smooth loss and the
// theorem's settings, with probability 1 - p a leaf is returned whose gradient of
// the expected loss is at most 3 alpha~, alpha~ = C~ sqrt2 L0 max(n^(-1/3),
// (sqrt(d)/(n epsilon))^(1/2)) (Theorem 4), if n >= max(sqrt(d)(D/2+1)^2/epsilon,
// (D/2+1)^3). C~ is above 256 ln(1.25/delta) ln(2 T 2^(D+1)/p), so that the bound
// says nothing below astronomical n: the estimate at the first leaf is within it.
//
// Deviations from the paper:
//   - b is rounded down to a multiple of 2^D, and D 2^(D+1) is the largest such
//     number up to b;
//   - noise is that of the exact budget, which is below the paper's for the same
//     (epsilon, delta), and of the true distance;
//   - the last leaf of a round steps too, where line 3 as printed drops its step;
//   - beta has the proof's sqrt(b) epsilon/sqrt(d);
//   - a right child that is at its parent's point has its parent's estimate, and no
//     records are drawn for it;
//   - differences are clipped to the centred ball by default;
//   - the regularizer's gradient is added exactly.
//
// The zero TreeSpider has practical constants, measured to be better: steps of h/L1,
// shortened where they overshoot as SGD's, instead of steps of one length;
// no early return; cohorts of b/2^(3j/2) where the sampling error of a cohort
// of b outweighs its noise; all records used; about 4 sqrt(N)/h steps, at
// least four rounds if there are eight; the average of the points that the second
// half of the steps reach, that of step t weighted by t^2.
type TreeSpider struct {
	// Theorem takes the settings of Theorem 4, steps of one length, and a random
	// leaf where none is returned early.
	Theorem bool `yaml:"theorem"`
	// Failure is the theorem's p; zero means .05. Without Theorem it must be zero.
	Failure float64 `yaml:"failure"`
	// Beta is the theorem's: steps have length beta/(2^(D/2) L1). Without Theorem
	// it must be zero.
	Beta float64 `yaml:"beta"`
	// Rounds is T. b is the theorem's if Theorem is set and Rounds is not, else as
	// large as records allow.
	Rounds int `yaml:"rounds"`
	// Depth is D.
	Depth int `yaml:"depth"`
	// Decay is k in b/2^(k j). Zero: 1 with Theorem, else as said above.
	Decay float64 `yaml:"decay"`
	// StepScale is h in eta = h/L1 of the first step. Zero means 16 for rank-one
	// losses, else 1. With Theorem it must be zero.
	StepScale float64 `yaml:"step_scale"`
	// Accuracy is alpha~. Zero: the theorem's with Theorem, else no early return.
	Accuracy float64 `yaml:"accuracy"`
	// Ball is what differences are clipped to.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// Output is the rule that picks the result unless a leaf is returned early;
	// zero means Random with Theorem, else TailAverage.
	Output optimize.Output `yaml:"output"`
}

// treePlan is a settled TreeSpider.
type treePlan struct {
	optimize.Settled
	rounds, depth int // T, D
	// sizes[j] is the size of cohorts at depth j.
	sizes []float64
	// length is that of every step; 0 for steps of eta.
	length   float64
	accuracy float64
	// proved says that accuracy is the theorem's.
	proved  bool
	scatter scatter
	ball    optimize.DifferenceBall
}

// Plan settles TreeSpider for a problem, whose budget is looked at for the
// theorem's epsilon and delta only.
func (c TreeSpider) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := c.Ball.Validate(); err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	plan := &treePlan{scatter: newScatter(p), ball: c.Ball, accuracy: c.Accuracy}
	settle, output := c.settlePractical, optimize.TailAverage
	if c.Theorem {
		settle, output = c.settleTheorem, optimize.Random
	}
	eta, err := settle(plan, p)
	if err != nil {
		return nil, err
	}
	steps := plan.rounds << plan.depth
	importance := make([]float64, steps)
	for t := range importance {
		importance[t] = leafWeight(t)
	}
	// Steps of one length are taken for those of the size they have at the start.
	taken := eta
	if plan.length > 0 {
		taken = plan.length / forecast.AtStart(p).Gradient
	}
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "tree-spider",
			Citation:  "tree-based private Spider (Arora et al. 2023, Algorithm 2)",
			Steps:     steps,
			StepSize:  eta,
			Charges: fmt.Sprintf("the whole budget to each of %d disjoint cohorts: %d rounds of a tree of depth %d, %.6g records at the root and %.6g at a right leaf; ball %s",
				steps, plan.rounds, plan.depth, plan.sizes[0], plan.sizes[plan.depth], c.Ball),
			Passes: plan.records() / p.Records,
		},
		Needs: optimize.Needs{Cohorts: true}, Properties: optimize.Properties{OnePass: true},
		Law: optimize.Law{
			OnePass: true, StepSize: taken, Importance: importance,
			Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz, Back: plan.back, Answer: plan.answer,
		},
		Output: c.Output.Or(output),
	})
	if err != nil {
		return nil, err
	}
	if plan.accuracy > 0 {
		plan.EndsEarly(fmt.Sprintf("the first leaf whose estimate is at most %.3g, else %s", 2*plan.accuracy, plan.Summary().Output))
	}
	plan.Expect(plan.forecast())
	return plan, nil
}

// back is the law: how many leaves ago the point is that the last right child at
// or above leaf t has its difference to. Counted from 0 within its tree, leaf k =
// ...10..0 in binary is reached through a right child whose parent is at the leaf
// with that last 1 cleared. Roots correct nothing.
func (t *treePlan) back(step int) int {
	k := step % (1 << t.depth)
	return max(k&-k, 1)
}

// answer is the law: roots have gain 1, right children gain 0. The distance to
// the parent's point is taken for as many steps in line as lie between.
func (t *treePlan) answer(step int, radius, _ float64) (K float64, fresh optimize.Variance) {
	k := step % (1 << t.depth)
	if k == 0 {
		return 1, t.scatter.variance(t.Problem().Constants.Lipschitz, t.sizes[0])
	}
	return 0, t.scatter.variance(radius, t.sizes[t.depth-bits.TrailingZeros(uint(k))])
}

// forecast is that of the law. With the theorem's alpha~ it is the theorem's 3
// alpha~, or the gradient to expect at the start where that is smaller: the start
// then is returned.
func (t *treePlan) forecast() optimize.Forecast {
	if !t.proved {
		return forecast.Of(t.Problem(), t.Law())
	}
	start := forecast.AtStart(t.Problem())
	if bound := 3 * t.accuracy; bound < start.Gradient {
		start.Gradient, start.Population = bound, bound
	}
	return start
}

// node is a vertex u of the tree: its point w_u and its estimate.
type node struct {
	w []float64
	g *optimize.Estimate
}

// Run carries the plan out. Numbers are the lines of Algorithm 2.
func (t *treePlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	run := t.Begin(ctx, o, observe)
	// No least step: differences over small cohorts may carry more noise than the
	// distance they are over, which shorter steps alone end.
	run.Eta = paced(optimize.NewPace(t.Law().StepSize, 0))
	if t.length > 0 { // 23
		run.Eta = func(g []float64, _ float64) float64 { return t.length / optimize.Norm(g) }
	}
	return run.Loop(func() error {
		path := make([]node, t.depth+1) // the vertices above the current one
		for range t.rounds {            // 2
			for u := range depthFirst(t.depth) { // 7, the root put first
				j := u.depth
				switch {
				case j == 0: // 3-6
					answer, err := t.ask(run, j, func(c query.Cohort) query.Term {
						return query.GradientAt(c, run.W, t.Problem().Constants.Lipschitz)
					})
					if err != nil {
						return err
					}
					path[0] = node{slices.Clone(run.W), run.Estimate(answer)}
				case !u.right: // 9-11
					path[j] = path[j-1]
				default: // 12-16
					parent := path[j-1]
					if t.still(run.W, parent.w) {
						path[j] = parent
						break
					}
					answer, err := t.ask(run, j, func(c query.Cohort) query.Term {
						return t.ball.Difference(t.Problem(), c, run.W, parent.w)
					})
					if err != nil {
						return err
					}
					path[j] = node{slices.Clone(run.W), run.Mix(parent.g, 1, answer, 1)}
				}
				if j < t.depth { // 18
					continue
				}
				g := path[j].g
				if length := optimize.Norm(run.Regularized(g.Vector())); t.accuracy > 0 && length <= 2*t.accuracy { // 19
					return run.End(length, fmt.Sprintf("leaf %d, the first whose estimate is at most %.3g", run.Taken()+1, 2*t.accuracy)) // 20
				}
				run.Descend(g, optimize.Use{Weight: leafWeight(run.Taken())}) // 22-24
			}
		}
		return nil // 28 is the output rule
	})
}

// ask draws a cohort of the depth's size and asks about it: lines 4-6 and 13-15.
func (t *treePlan) ask(run *optimize.Run, depth int, term func(query.Cohort) query.Term) (optimize.Answer, error) {
	cohort, err := run.Draw(t.sizes[depth])
	if err != nil {
		return optimize.Answer{}, err
	}
	return run.Ask(t.scatter.charge, term(cohort))
}

// leafWeight is the weight of the point reached from leaf k, counted from 0, in
// the average.
func leafWeight(k int) float64 { return float64(k+1) * float64(k+1) }

// still reports whether the points are too close for a difference to be asked
// about: questions take no radii below 2^-200.
func (t *treePlan) still(w, parent []float64) bool {
	step := slices.Clone(w)
	optimize.Descend(step, parent, 1)
	return t.ball.Slope(t.Problem())*optimize.Norm(step) <= 0x1p-100
}
