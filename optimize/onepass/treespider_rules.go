package onepass

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

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
