package onepass

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TreeSpider is tree-based private Spider, a method for the population risk in one pass (Arora, Bassily, González,
// Guzmán, Menart and Ullah 2023, Algorithm 2). Each of T rounds visits a binary tree of depth D, depth first:
//
//	root:           g = mean over b fresh records of clip(grad f(w; x), L0) + noise
//	left child:     has its parent's point and estimate
//	right child at depth j, at the point w reached by then, its parent at w':
//	                g = g' + mean over b/2^j fresh records of
//	                    clip(grad f(w; x) - grad f(w'; x), ball) + noise
//	leaf:           if ||g + grad reg(w)|| <= 2 alpha~ return w, else
//	                w <- w - eta (g + grad reg(w))
//
// An estimate is therefore a sum of at most D+1 answers, while a round makes 2^D steps. Each record is in
// one release only, so every release is charged the whole budget. The noise of a difference is proportional
// to the true distance between its two points, which are both released.
//
// Guarantee: mu-GDP whatever the constants. For an L1-smooth loss, the theorem's settings and n >=
// max(sqrt(d)(D/2+1)^2/epsilon, (D/2+1)^3), the run returns, with probability 1 - p, a leaf where the gradient norm of
// the expected loss is at most 3 alpha~ (Arora et al. 2023, Theorem 4). Here alpha~ = C~ sqrt2 L0 max(n^(-1/3),
// (sqrt(d)/(n epsilon))^(1/2)), and C~ is above 256 ln(1.25/delta) ln(2 T 2^(D+1)/p). For any realistic n, 3 alpha~ is
// above L0. The bound is then without content, since the gradient at the first leaf already satisfies it.
//
// Deviations from the paper:
//   - b is rounded down to a multiple of 2^D, and D is the largest depth for which D 2^(D+1) is at most
//     b.
//   - The noise of a release is computed from the exact budget and, for a difference, from the true
//     distance of its two points. For the same (epsilon, delta) this is less noise than the paper's formula
//     gives.
//   - The last leaf of a round also makes a step. Line 3 of the paper's algorithm, as printed, drops this
//     step.
//   - The paper's beta, which sets the length of steps, has the factor sqrt(b) epsilon/sqrt(d) that the
//     proof uses.
//   - A right child at the same point as its parent gets the estimate of its parent, and no records are
//     drawn for it.
//   - Differences are clipped, by default to the ball centred on the curvature interval (see
//     [optimize.DifferenceBall]).
//   - The regularizer's gradient is added exactly.
//
// The zero TreeSpider uses practical constants. With these, measured errors were smaller than with the constants of the
// theorem. Steps have the size h/L1 instead of one common length, and are shortened if they overshoot, as in [SGD]. No
// leaf is returned early. Cohorts at depth j have b/2^(3j/2) records if the sampling error of a cohort of b records is
// at least its noise, and b/2^j otherwise. All records are used. There are about 4 sqrt(N)/h steps, where N is the
// effective size, in at least four rounds if there are at least eight steps. The result is the average of the points
// that the second half of the steps reach, where the point of step t has the weight t^2.
type TreeSpider struct {
	// Theorem means that each setting that is zero has the value of Theorem 4 of Arora et al. (2023). All steps then
	// have the same length. If no leaf is returned early, the result is a random leaf, unless Output is set.
	Theorem bool `yaml:"theorem"`
	// Failure is p, the probability with which the theorem may fail. Zero means .05. Without
	// Theorem it must be zero.
	Failure float64 `yaml:"failure"`
	// Beta is the theorem's beta: steps have length beta/(2^(D/2) L1), where D is Depth. Zero means the
	// theorem's value. Without Theorem it must be zero.
	Beta float64 `yaml:"beta"`
	// Rounds is T, the number of rounds, each of which visits one binary tree. With Theorem, zero means as many rounds
	// as the records suffice for, if each root uses the theorem's number b of records. Without Theorem, zero means as
	// many rounds as give about 4 sqrt(N)/h steps in total. If Rounds is set, b is as large as the number of records
	// allows.
	Rounds int `yaml:"rounds"`
	// Depth is D, the depth of the binary tree that each round visits; a round makes 2^D steps. Zero means
	// the largest D that the theorem allows, or without Theorem the D for which four to eight rounds give
	// about 4 sqrt(N)/h steps in total.
	Depth int `yaml:"depth"`
	// Decay is k: a right child at depth j has b/2^(k j) records, where b is the number of records at the root. Zero
	// means 1 with Theorem. Without Theorem, zero means 3/2 if the sampling error of the mean over b records is at
	// least its noise, and 1 otherwise.
	Decay float64 `yaml:"decay"`
	// StepScale is h in eta = h/L1 of the first step. Zero means 16 for rank-one losses, networks and records of
	// several rows, and 1 for other losses, and less if errors of the gradient estimates alone would move the weights
	// by more than 2 sqrt(2 F0/L1) max(1, N/500). With Theorem it must be zero.
	StepScale float64 `yaml:"step_scale"`
	// Accuracy is alpha~. The run ends at the first leaf at which the gradient estimate has a norm of at
	// most 2 alpha~, and returns the point of this leaf. Zero means the theorem's value with Theorem, and
	// no early end without Theorem.
	Accuracy float64 `yaml:"accuracy"`
	// Ball is the ball to which each record's gradient difference is clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// Output is the rule that picks the result if no leaf is returned early. Zero means Random with
	// Theorem, else TailAverage.
	Output optimize.Output `yaml:"output"`
}

// treePlan is the plan of a [TreeSpider] for one problem.
type treePlan struct {
	optimize.Settled
	rounds, depth int // T, D
	// sizes[j] is the number of records that a right child at depth j uses; sizes[0] is the root's.
	sizes []float64
	// length is the length of every step. 0 means that steps have the size eta, and so different lengths.
	length   float64
	accuracy float64
	// proved means that accuracy has the value alpha~ for which Theorem 4 of Arora et al. 2023 is proved. A
	// leaf is returned if its estimate has a norm of at most 2 accuracy.
	proved  bool
	scatter meanError
	ball    optimize.DifferenceBall
}

// Plan implements [optimize.Algorithm]. With Theorem it uses epsilon and delta of the problem's budget. It returns
// an error if there are too few records.
func (c TreeSpider) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	err := cmp.Or(p.Validate(), c.Ball.Validate(), optimize.CheckCount("tree-spider", "rounds", c.Rounds), c.validate())
	if err != nil {
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
	importance := vector.Make(steps, leafWeight)
	rounds := float64(plan.rounds)
	work := optimize.Workload{}.Count(query.Gradient, rounds, plan.sizes[0]/p.Records)
	for j := 1; j <= plan.depth; j++ { // a tree has 2^(j-1) right children at depth j
		work = work.Count(query.Difference, rounds*float64(int(1)<<(j-1)), plan.sizes[j]/p.Records)
	}
	// The forecast needs step sizes. If all steps have one length, they are assumed to have the size of the
	// first step for the gradient norm that forecasts assume at the start.
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
			Charges: fmt.Sprintf("the whole budget to each of %d disjoint cohorts: %d rounds of a tree of depth %d, %.6g "+
				"records at the root and %.6g at a right leaf; ball %s",
				steps, plan.rounds, plan.depth, plan.sizes[0], plan.sizes[plan.depth], c.Ball),
			Passes: plan.records() / p.Records,
		},
		Needs: optimize.Needs{Cohorts: true}, Properties: optimize.Properties{OnePass: true}, Workload: work,
		UpdateRule: optimize.UpdateRule{
			OnePass: true, StepSize: taken, Importance: importance,
			Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz, Back: plan.back, Answer: plan.answer,
		},
		Output: c.Output.Or(output),
	})
	if err != nil {
		return nil, err
	}
	if plan.accuracy > 0 {
		plan.EndsEarly(fmt.Sprintf("the first leaf whose estimate is at most %.3g, else %s", 2*plan.accuracy,
			plan.Summary().Output))
	}
	plan.Expect(plan.forecast())
	if plan.proved {
		plan.Promises("Theorem 4 (Arora et al. 2023)", optimize.OfGradient, p.MostStart(), func(p optimize.Problem) float64 {
			var other treePlan
			if _, err := c.settleTheorem(&other, p); err != nil {
				return math.Inf(1) // too few records
			}
			return 3 * other.accuracy
		})
	}
	return plan, nil
}

// back implements [optimize.UpdateRule].Back for the step at a leaf. The estimate of a leaf is the estimate of an
// earlier leaf plus a released difference. back returns the number of leaves from the earlier leaf to this
// leaf. Number the leaves of a tree from 0. Leaf k > 0 is reached through a right child. The parent of this
// right child has the estimate of the leaf whose number is k with its last binary digit 1 cleared. The
// first leaf of a tree has the root's estimate, without a difference; back then returns 1.
func (t *treePlan) back(step int) int {
	k := step % (1 << t.depth)
	return max(k&-k, 1)
}

// answer implements [optimize.UpdateRule].Answer. The weight K of the new gradient is 1 for the root of a tree and
// 0 for a right child, which releases a difference. The distance of a right child from its parent's point
// is assumed to be the sum of the lengths of the steps in between, as if all these steps had one direction.
func (t *treePlan) answer(step int, radius, _ float64) (K float64, fresh optimize.Variance) {
	k := step % (1 << t.depth)
	if k == 0 {
		return 1, t.scatter.variance(t.Problem().Constants.Lipschitz, t.sizes[0])
	}
	return 0, t.scatter.variance(radius, t.sizes[t.depth-bits.TrailingZeros(uint(k))])
}

// forecast returns the forecast for the law that the plan will follow. With the theorem's accuracy alpha~,
// the forecast of the gradient norm is the smaller of 3 alpha~ and the gradient norm expected at the start,
// since the run returns the start if the start satisfies the bound.
func (t *treePlan) forecast() optimize.Forecast {
	if !t.proved {
		return forecast.Of(t.Problem(), t.UpdateRule())
	}
	start := forecast.AtStart(t.Problem())
	if bound := 3 * t.accuracy; bound < start.Gradient {
		start.Gradient, start.Population = bound, bound
	}
	return start
}

// node is a vertex u of the tree with its point w and its gradient estimate g.
type node struct {
	w []float64
	g *optimize.Estimate
}

// Run walks the trees of all rounds and makes a step at each leaf. The numbers in comments are the
// lines of Algorithm 2 of Arora et al. 2023.
func (t *treePlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	run := t.Begin(ctx, o, observe)
	// The pace may shorten steps without a limit. The noise of a difference is proportional to the length of the last
	// steps. If the cohort is small, the noise may be longer than the difference itself. If steps were then not
	// shortened, the noise would make steps longer and longer steps would have more noise.
	run.Eta = paced(optimize.NewPace(t.UpdateRule().StepSize, 0))
	if t.length > 0 { // 23
		run.Eta = func(g []float64, _ float64) float64 { return t.length / optimize.Norm(g) }
	}
	return run.Loop(func() error {
		path := make([]node, t.depth+1) // the vertices from the root to the current one
		for range t.rounds {            // each round visits one tree
			for u := range depthFirst(t.depth) { // 7; depthFirst yields the root first
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
					return run.End(length, fmt.Sprintf("leaf %d, the first whose estimate is at most %.3g", run.Taken()+1,
						2*t.accuracy)) // 20
				}
				run.Descend(g, optimize.Use{Weight: leafWeight(run.Taken())}) // 22-24
			}
		}
		return nil // line 28 is the output rule
	})
}

// ask draws a cohort of the plan's size for the given depth, and releases the query term that the function
// term returns for the cohort (Arora et al. 2023, Algorithm 2, lines 4-6 and 13-15).
func (t *treePlan) ask(run *optimize.Run, depth int, term func(query.Cohort) query.Term) (optimize.Answer, error) {
	cohort, err := run.Draw(t.sizes[depth])
	if err != nil {
		return optimize.Answer{}, err
	}
	return run.Ask(t.scatter.charge, term(cohort))
}

// leafWeight returns (k+1)^2, the weight in the average of the point to which the step at leaf k
// leads. k counts from 0.
func leafWeight(k int) float64 { return float64(k+1) * float64(k+1) }

// still reports whether a vertex's point w and its parent's point are so near that no gradient difference is released:
// the clip radius of the difference would be at most 2^-100. (Queries reject clip radii below 2^-200.)
func (t *treePlan) still(w, parent []float64) bool {
	step := slices.Clone(w)
	optimize.Descend(step, parent, 1)
	return t.ball.Slope(t.Problem())*optimize.Norm(step) <= 0x1p-100
}

func (c TreeSpider) validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"step scale", c.StepScale}, {"beta", c.Beta}, {"accuracy", c.Accuracy}, {"decay", c.Decay}} {
		if f.value != 0 && !optimize.Positive(f.value) {
			return fmt.Errorf("optimize: tree-spider: %s = %v: must be finite and > 0, or left out for the rule's",
				f.name, f.value)
		}
	}
	switch {
	case !(c.Failure >= 0 && c.Failure < 1):
		return fmt.Errorf("optimize: tree-spider: failure = %v: must be > 0 and < 1, or left out for .05", c.Failure)
	case c.Depth < 0 || c.Depth > 19: // 2^20 > optimize.MostSteps
		return fmt.Errorf("optimize: tree-spider: depth = %d: must be between 1 and 19, or left out for the rule's", c.Depth)
	case c.Rounds<<c.Depth > optimize.MostSteps:
		return fmt.Errorf("optimize: tree-spider: rounds = %d of depth %d: must be at most %d steps", c.Rounds, c.Depth,
			optimize.MostSteps)
	case c.Theorem && c.StepScale != 0:
		return fmt.Errorf("optimize: tree-spider: step scale = %v: must be 0 with the theorem, whose steps have one length",
			c.StepScale)
	case !c.Theorem && (c.Beta != 0 || c.Failure != 0):
		return fmt.Errorf("optimize: tree-spider: beta = %v, failure = %v: must be 0 without the theorem", c.Beta, c.Failure)
	}
	return nil
}

// settlePractical sets the plan's depth, rounds and cohort sizes by the practical rule and returns the step
// size eta. If a cohort would have less than one record, it first reduces the depth and then the number of
// rounds, unless these are set. It returns an error if a cohort still has less than one record.
func (c TreeSpider) settlePractical(plan *treePlan, p optimize.Problem) (eta float64, err error) {
	h := cmp.Or(c.StepScale, stepScale(p))
	steps := stepRule(p.Effective(), h)
	if plan.depth = c.Depth; plan.depth == 0 {
		plan.depth = max(bits.Len(uint(steps))-3, 1) // four to eight rounds
	}
	if plan.rounds = c.Rounds; plan.rounds == 0 {
		plan.rounds = (steps + 1<<plan.depth - 1) >> plan.depth
	}
	for !plan.divide(p, c.Decay) {
		switch {
		case plan.depth > 0 && c.Depth == 0:
			plan.depth--
		case plan.rounds > 1 && c.Rounds == 0:
			plan.rounds--
		case plan.depth == 0 && plan.rounds == 1: // the declared number of records is below one
			plan.sizes = []float64{p.Records}
			return c.eta(plan, p, h), nil
		default:
			return 0, fmt.Errorf("optimize: tree-spider: %d rounds of depth %d: must leave every cohort of %v records one",
				plan.rounds, plan.depth, p.Records)
		}
	}
	return c.eta(plan, p, h), nil
}

// eta returns the step size h/L1, or by the rule a smaller one (see within). The leaves of a round share the error of
// its root.
func (c TreeSpider) eta(plan *treePlan, p optimize.Problem, h float64) float64 {
	leaves := float64(int(1) << plan.depth)
	if c.StepScale != 0 {
		return p.StepSize(h)
	}
	return within(p, p.StepSize(h), float64(plan.rounds)*leaves*leaves*plan.scatter.of(plan.sizes[0]))
}

// divide divides all records among the cohorts of all rounds. If the root's cohort has b records, a right
// child at depth j gets b/2^(k j), where k is decay, and there are 2^(j-1) right children at depth j. If
// decay is 0, divide chooses k (see below). divide reports whether each cohort has at least one record.
//
// The squared error of a leaf's estimate is a sum over the right children above the leaf. Noise adds (distance/size)^2
// for each right child, and the sampling of records adds distance^2/size, up to constants. size is the size of the
// child's cohort, and distance is the distance between the child's point and its parent's point, which at depth j is
// about proportional to 2^-j. For a given number of records the noise is smallest for k = 1, and the sampling error is
// smallest for k = 3/2. divide chooses k = 1 if the noise at the root is larger than the sampling error, or if a cohort
// would have less than one record with k = 3/2. Otherwise divide chooses 3/2.
func (t *treePlan) divide(p optimize.Problem, decay float64) bool {
	try := func(k float64) bool {
		var round float64
		for j := range t.depth + 1 {
			round += float64(cohorts(j)) * math.Exp2(-k*float64(j))
		}
		root := p.Records / float64(t.rounds) / round
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

// cohorts returns the number of cohorts that the vertices at depth j of a tree use: one for each
// right child, and one for the root.
func cohorts(j int) int { return max(1<<j/2, 1) }

// size sets the cohort sizes of all depths: root is the size at the root, and the size at depth j is root/2^(decay j).
// Under replace-one sizes are whole numbers. It reports whether each cohort has at least one record.
func (t *treePlan) size(root, decay float64) bool {
	t.sizes = make([]float64, t.depth+1)
	for j := range t.sizes {
		t.sizes[j] = root * math.Exp2(-decay*float64(j))
		if t.scatter.neighbours == 2 {
			t.sizes[j] = math.Floor(t.sizes[j])
		}
	}
	return t.sizes[t.depth] >= 1
}

// records returns the number of records that all cohorts of the plan use.
func (t *treePlan) records() float64 {
	var round float64
	for j, size := range t.sizes {
		round += float64(cohorts(j)) * size
	}
	return round * float64(t.rounds)
}

// vertex is a vertex of a complete binary tree. right is true for right children, and false for left
// children and the root.
type vertex struct {
	depth int
	right bool
}

// depthFirst yields the vertices of a complete binary tree of the given depth D, parents before children and left
// before right. The root comes first. The other vertices have the order DFS[D] of Arora et al. 2023, Algorithm 2.
//
// Number the leaves from 0, and let z be the number of trailing zeros of k in binary. Leaf k > 0 is
// reached through a right child at depth D - z, and from there through left children only.
func depthFirst(depth int) iter.Seq[vertex] {
	return func(yield func(vertex) bool) {
		for k := range uint64(1) << depth {
			top := vertex{}
			if k > 0 {
				top = vertex{depth - bits.TrailingZeros64(k), true}
			}
			if !yield(top) {
				return
			}
			for j := top.depth + 1; j <= depth; j++ {
				if !yield(vertex{depth: j}) {
					return
				}
			}
		}
	}
}

// settleTheorem sets the fields of the plan, with the values of Theorem 4 of Arora et al. 2023 for settings
// that are zero. It returns the step size for a gradient of norm L0. The theorem's n is the number of
// records, and its epsilon and delta are those of the problem's budget. settleTheorem returns an error if
// the problem has no budget or too few records.
func (c TreeSpider) settleTheorem(plan *treePlan, p optimize.Problem) (eta float64, err error) {
	epsilon, delta := p.Budget.Epsilon(), p.Budget.Delta()
	if !(epsilon > 0) {
		return 0, fmt.Errorf("optimize: tree-spider: budget = %v: must be given for the theorem, which speaks of its "+
			"epsilon and delta", p.Budget)
	}
	n, d, l0, l1 := p.Records, float64(p.Dim()), p.Constants.Lipschitz, p.Smoothness()
	b := max(math.Pow(n, 2./3), math.Sqrt(n)*math.Pow(d, .25)/math.Sqrt(epsilon))
	if plan.depth = c.Depth; plan.depth == 0 {
		plan.depth = 1
		for plan.depth < 19 && float64(plan.depth+1)*math.Exp2(float64(plan.depth+2)) <= b {
			plan.depth++
		}
	}
	D := float64(plan.depth)
	decay := cmp.Or(c.Decay, 1)
	if plan.rounds = c.Rounds; plan.rounds > 0 {
		if !plan.divide(p, decay) {
			return 0, fmt.Errorf("optimize: tree-spider: %d rounds of depth %d: must leave every cohort of %v records one",
				plan.rounds, plan.depth, n)
		}
		b = plan.sizes[0]
	} else {
		b = math.Floor(b/math.Exp2(D)) * math.Exp2(D)
		ok := plan.size(b, decay)
		plan.rounds = 1
		plan.rounds = int(min(n/plan.records(), optimize.MostSteps/math.Exp2(D)))
		if !ok || plan.rounds < 1 {
			return 0, fmt.Errorf("optimize: tree-spider: records = %v: must suffice for a round of depth %d with the "+
				"theorem's b = %v", n, plan.depth, b)
		}
	}
	if need := max(math.Sqrt(d)*(D/2+1)*(D/2+1)/epsilon, math.Pow(D/2+1, 3)); n < need {
		return 0, fmt.Errorf("optimize: tree-spider: records = %v: must be >= %.6g for the theorem", n, need)
	}
	alpha := math.Sqrt2 * l0 * max(math.Pow(n, -1./3), math.Sqrt(math.Sqrt(d)/(n*epsilon)))
	beta := cmp.Or(c.Beta, alpha*min(1, math.Sqrt(b)*epsilon/math.Sqrt(d)))
	if plan.proved = plan.accuracy == 0; plan.proved {
		failure := cmp.Or(c.Failure, .05)
		leaves := float64(plan.rounds) * math.Exp2(D+1)
		plan.accuracy = alpha * (256*math.Log(1.25/delta)*math.Log(2*leaves/failure) +
			8*l1*p.Constants.InitialGap*math.Sqrt(2*D)*(D/2+1)/(2*l0*l0))
	}
	plan.length = beta / (math.Exp2(D/2) * l1)
	return plan.length / l0, nil
}
