package optimize

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
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
// Deviations from the paper: b is rounded down to a multiple of 2^D, and D 2^(D+1)
// is the largest such number up to b; noise is that of the exact budget, which is
// below the paper's for the same (epsilon, delta), and of the true distance; the
// last leaf of a round steps too, where line 3 as printed drops its step; beta has
// the proof's sqrt(b) epsilon/sqrt(d); a right child that is at its parent's point
// has its parent's estimate, and no records are drawn for it; differences are
// clipped to the centred ball by default; the regularizer's gradient is added
// exactly.
//
// The zero TreeSpider has practical constants, measured to be better: steps of h/L1,
// shortened where they overshoot as OnePassSGD's, instead of steps of one length;
// no early return; cohorts of b/2^(3j/2) where the sampling error of a cohort
// of b outweighs its noise; all records used; about 4 sqrt(N)/h steps, at
// least four rounds if there are eight; the average of the points that the second
// half of the steps reach, that of step t weighted by t^2.
type TreeSpider struct {
	// Theorem takes the settings of Theorem 4, steps of one length, and a random
	// leaf where none is returned early.
	Theorem bool
	// Failure is the theorem's p; zero means .05. Beta is its beta: steps have
	// length beta/(2^(D/2) L1). Without Theorem both must be zero.
	Failure, Beta float64
	// Rounds is T and Depth is D. b is the theorem's if Theorem is set and Rounds
	// is not, else as large as records allow.
	Rounds, Depth int
	// Decay is k in b/2^(k j). Zero: 1 with Theorem, else as said above.
	Decay float64
	// StepScale is h in eta = h/L1 of the first step. Zero means 16 for rank-one
	// losses, else 1. With Theorem it must be zero.
	StepScale float64
	// Accuracy is alpha~. Zero: the theorem's with Theorem, else no early return.
	Accuracy float64
	Ball     Ball
	// Output is the rule that picks the result unless a leaf is returned early.
	// With Theorem set, TailAverage stands for Random; use Last or Smallest for
	// another.
	Output Output
}

// TreeSpiderPlan is a settled TreeSpider.
type TreeSpiderPlan struct {
	problem       Problem
	outline       Outline
	rounds, depth int
	// sizes[j] is the size of cohorts at depth j.
	sizes []float64
	// length is that of every step; 0 for steps of eta.
	length   float64
	accuracy float64
	// proved says that accuracy is the theorem's.
	proved  bool
	scatter scatter
	ball    Ball
	choice  choice
}

// Plan settles TreeSpider for a problem, a size and a budget. The budget is
// looked at for the theorem's epsilon and delta only.
func (c TreeSpider) Plan(p Problem, s Size, b account.Budget) (*TreeSpiderPlan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	if err := c.Ball.validate(); err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	plan := &TreeSpiderPlan{problem: p, scatter: newScatter(p, s), ball: c.Ball, accuracy: c.Accuracy}
	settle := c.settlePractical
	if c.Theorem {
		settle = c.settleTheorem
	}
	eta, err := settle(plan, p, s, b)
	if err != nil {
		return nil, err
	}
	output := c.Output
	if c.Theorem && output == TailAverage {
		output = Random
	}
	if plan.choice, err = newChoice(output, plan.rounds<<plan.depth); err != nil {
		return nil, err
	}
	plan.outline = Outline{
		Algorithm: "tree-spider",
		Citation:  "tree-based private Spider (Arora et al. 2023, Algorithm 2)",
		Steps:     plan.choice.steps,
		StepSize:  eta,
		Clip:      p.Constants.Lipschitz,
		Charges: fmt.Sprintf("the whole budget to each of %d disjoint cohorts: %d rounds of a tree of depth %d, %.6g records at the root and %.6g at a right leaf; ball %s",
			plan.rounds<<plan.depth, plan.rounds, plan.depth, plan.sizes[0], plan.sizes[plan.depth], c.Ball.describe()),
		Output:    plan.describe(),
		Effective: s.Effective(p),
		Floor:     s.Floor(p),
		Passes:    plan.records() / s.Records,
	}
	plan.outline.expect(plan.predict(s))
	return plan, nil
}

func (c TreeSpider) validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"step scale", c.StepScale}, {"beta", c.Beta}, {"accuracy", c.Accuracy}, {"decay", c.Decay}} {
		if f.value != 0 && !positive(f.value) {
			return fmt.Errorf("optimize: tree-spider: %s = %v: must be finite and > 0, or 0 for the rule's", f.name, f.value)
		}
	}
	switch {
	case !(c.Failure >= 0 && c.Failure < 1):
		return fmt.Errorf("optimize: tree-spider: failure = %v: must be > 0 and < 1, or 0 for .05", c.Failure)
	case c.Rounds < 0 || c.Rounds > mostSteps:
		return fmt.Errorf("optimize: tree-spider: rounds = %d: must be between 0 (the rule's number) and %d", c.Rounds, mostSteps)
	case c.Depth < 0 || c.Depth > 19: // 2^20 > mostSteps
		return fmt.Errorf("optimize: tree-spider: depth = %d: must be between 0 (the rule's) and 19", c.Depth)
	case c.Rounds<<c.Depth > mostSteps:
		return fmt.Errorf("optimize: tree-spider: rounds = %d of depth %d: must be at most %d steps", c.Rounds, c.Depth, mostSteps)
	case c.Theorem && c.StepScale != 0:
		return fmt.Errorf("optimize: tree-spider: step scale = %v: must be 0 with the theorem, whose steps have one length", c.StepScale)
	case !c.Theorem && (c.Beta != 0 || c.Failure != 0):
		return fmt.Errorf("optimize: tree-spider: beta = %v, failure = %v: must be 0 without the theorem", c.Beta, c.Failure)
	}
	return nil
}

// settlePractical fills in the practical rules' values.
func (c TreeSpider) settlePractical(plan *TreeSpiderPlan, p Problem, s Size, _ account.Budget) (eta float64, err error) {
	h := c.StepScale
	if h == 0 {
		h = p.onePassScale()
	}
	steps := onePassSteps(s.Effective(p), h)
	if plan.depth = c.Depth; plan.depth == 0 {
		plan.depth = max(bits.Len(uint(steps))-3, 1) // four to eight rounds
	}
	if plan.rounds = c.Rounds; plan.rounds == 0 {
		plan.rounds = (steps + 1<<plan.depth - 1) >> plan.depth
	}
	for !plan.divide(s, c.Decay) {
		switch {
		case plan.depth > 0 && c.Depth == 0:
			plan.depth--
		case plan.rounds > 1 && c.Rounds == 0:
			plan.rounds--
		case plan.depth == 0 && plan.rounds == 1: // less than one record is declared
			plan.sizes = []float64{s.Records}
			return p.stepSize(h), nil
		default:
			return 0, fmt.Errorf("optimize: tree-spider: %d rounds of depth %d: must leave every cohort of %v records one", plan.rounds, plan.depth, s.Records)
		}
	}
	return p.stepSize(h), nil
}

// divide shares all records out to rounds of trees: b/2^(k j) at depth j, where
// there are 2^(j-1) right children. It reports whether each cohort has a record.
//
// The squared error of a leaf is a sum over its right ancestors of
// (distance/size)^2 (noise) or distance^2/size (sampling), the distance at depth
// j being in proportion to 2^-j. For given records the first is least for k = 1,
// the second for k = 3/2. Where the two are equal follows from scatter.
func (t *TreeSpiderPlan) divide(s Size, decay float64) bool {
	try := func(k float64) bool {
		var round float64
		for j := range t.depth + 1 {
			round += float64(cohorts(j)) * math.Exp2(-k*float64(j))
		}
		root := s.Records / float64(t.rounds) / round
		return t.size(root, k)
	}
	if decay != 0 {
		return try(decay)
	}
	if !try(1.5) {
		return try(1)
	}
	if noise := t.scatter.of(t.sizes[0]) - 1/t.sizes[0]; noise > 1/t.sizes[0] {
		return try(1)
	}
	return true
}

// cohorts is how many cohorts a tree has at depth j.
func cohorts(j int) int { return max(1<<j/2, 1) }

// size sets the sizes from that of the root; whole under replace-one.
func (t *TreeSpiderPlan) size(root, decay float64) bool {
	t.sizes = make([]float64, t.depth+1)
	for j := range t.sizes {
		t.sizes[j] = root * math.Exp2(-decay*float64(j))
		if t.scatter.neighbours == 2 {
			t.sizes[j] = math.Floor(t.sizes[j])
		}
	}
	return t.sizes[t.depth] >= 1
}

// records is how many records the plan takes.
func (t *TreeSpiderPlan) records() float64 {
	var round float64
	for j, size := range t.sizes {
		round += float64(cohorts(j)) * size
	}
	return round * float64(t.rounds)
}

func (t *TreeSpiderPlan) describe() string {
	if t.accuracy == 0 {
		return t.choice.describe()
	}
	return fmt.Sprintf("the first leaf whose estimate is at most %.3g, else %s", 2*t.accuracy, t.choice.describe())
}

// Outline describes the plan. Where steps have one length its step size is that
// at an estimate of norm L0.
func (t *TreeSpiderPlan) Outline() Outline { return t.outline }

// Run carries the plan out.
func (t *TreeSpiderPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p, out := t.problem, t.choice.begin()
	records := newDrawer(o, t.scatter.neighbours)
	w := p.start()
	// No least step: differences over small cohorts may carry more noise than the
	// distance they are over, which shorter steps alone end.
	pace := pace{eta: t.outline.StepSize}
	points, estimates := make([][]float64, t.depth+1), make([][]float64, t.depth+1) // by depth
	var charged float64
	step := 0
	answer := func(depth int, term func(query.Cohort) query.Term) ([]float64, error) {
		cohort, err := records.draw(t.sizes[depth])
		if err != nil {
			return nil, err
		}
		a, err := ask(ctx, o, t.scatter.charge, term(cohort))
		charged = max(charged, a.Charge)
		return a.Mean, err
	}
	for range t.rounds {
		for u := range depthFirst(t.depth) {
			j := u.depth
			switch {
			case j == 0:
				g, err := answer(0, func(c query.Cohort) query.Term { return query.GradientAt(c, w, p.Constants.Lipschitz) })
				if err != nil {
					return out.result(w), stepError("tree-spider", step, err)
				}
				points[0], estimates[0] = slices.Clone(w), g
			case !u.right || t.still(w, points[j-1]):
				points[j], estimates[j] = points[j-1], estimates[j-1]
			default:
				g, err := answer(j, func(c query.Cohort) query.Term { return t.ball.difference(p, c, w, points[j-1]) })
				if err != nil {
					return out.result(w), stepError("tree-spider", step, err)
				}
				for i, v := range estimates[j-1] {
					g[i] += v
				}
				points[j], estimates[j] = slices.Clone(w), g
			}
			if j < t.depth {
				continue
			}
			grad := slices.Clone(estimates[j])
			p.addRegularizer(grad, w)
			if t.accuracy > 0 && norm(grad) <= 2*t.accuracy {
				r := Result{W: w, Steps: step, Complete: true,
					Output: fmt.Sprintf("leaf %d, the first whose estimate is at most %.3g", step+1, 2*t.accuracy)}
				if observe != nil {
					observe(Step{Number: step + 1, Of: t.choice.steps, GradientNorm: norm(grad), Charged: charged, W: w})
				}
				return r, nil
			}
			eta := t.length / norm(grad)
			if t.length == 0 {
				eta = pace.next(grad)
			}
			out.step(p, w, grad, eta, leafWeight(step))
			step++
			if observe != nil {
				observe(Step{Number: step, Of: t.choice.steps, GradientNorm: norm(grad), Charged: charged, W: w})
			}
		}
	}
	return out.result(w), nil
}

// leafWeight is the weight of the point reached from leaf k, counted from 0, in
// the average.
func leafWeight(k int) float64 { return float64(k+1) * float64(k+1) }

// still reports whether the points are too close for a difference to be asked
// about: questions take no radii below 2^-200.
func (t *TreeSpiderPlan) still(w, parent []float64) bool {
	step := slices.Clone(w)
	descend(step, parent, 1)
	return t.ball.slope(t.problem)*norm(step) <= 0x1p-100
}
