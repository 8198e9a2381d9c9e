package optimize

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
)

// settleTheorem fills in the settings of Theorem 4 for those fields that are
// zero. Its n is the number of records, epsilon and delta the budget's.
func (c TreeSpider) settleTheorem(plan *TreeSpiderPlan, p Problem, s Size, budget account.Budget) (eta float64, err error) {
	epsilon, delta := budget.Epsilon(), budget.Delta()
	if !(epsilon > 0) {
		return 0, fmt.Errorf("optimize: tree-spider: budget = %v: must be given for the theorem, which speaks of its epsilon and delta", budget)
	}
	n, d, l0, l1 := s.Records, float64(p.Dim), p.Constants.Lipschitz, p.Smoothness()
	b := max(math.Pow(n, 2./3), math.Sqrt(n)*math.Pow(d, .25)/math.Sqrt(epsilon))
	if plan.depth = c.Depth; plan.depth == 0 {
		plan.depth = 1
		for plan.depth < 19 && float64(plan.depth+1)*math.Exp2(float64(plan.depth+2)) <= b {
			plan.depth++
		}
	}
	D := float64(plan.depth)
	decay := c.Decay
	if decay == 0 {
		decay = 1
	}
	if plan.rounds = c.Rounds; plan.rounds > 0 {
		if !plan.divide(s, decay) {
			return 0, fmt.Errorf("optimize: tree-spider: %d rounds of depth %d: must leave every cohort of %v records one", plan.rounds, plan.depth, n)
		}
		b = plan.sizes[0]
	} else {
		b = math.Floor(b/math.Exp2(D)) * math.Exp2(D)
		ok := plan.size(b, decay)
		plan.rounds = 1
		plan.rounds = int(min(n/plan.records(), mostSteps/math.Exp2(D)))
		if !ok || plan.rounds < 1 {
			return 0, fmt.Errorf("optimize: tree-spider: records = %v: must suffice for a round of depth %d with the theorem's b = %v", n, plan.depth, b)
		}
	}
	if need := max(math.Sqrt(d)*(D/2+1)*(D/2+1)/epsilon, math.Pow(D/2+1, 3)); n < need {
		return 0, fmt.Errorf("optimize: tree-spider: records = %v: must be >= %.6g for the theorem", n, need)
	}
	alpha := math.Sqrt2 * l0 * max(math.Pow(n, -1./3), math.Sqrt(math.Sqrt(d)/(n*epsilon)))
	beta := c.Beta
	if beta == 0 {
		beta = alpha * min(1, math.Sqrt(b)*epsilon/math.Sqrt(d))
	}
	if plan.proved = plan.accuracy == 0; plan.proved {
		failure := c.Failure
		if failure == 0 {
			failure = .05
		}
		leaves := float64(plan.rounds) * math.Exp2(D+1)
		plan.accuracy = alpha * (256*math.Log(1.25/delta)*math.Log(2*leaves/failure) +
			8*l1*p.Constants.Range*math.Sqrt(2*D)*(D/2+1)/(2*l0*l0))
	}
	plan.length = beta / (math.Exp2(D/2) * l1)
	return plan.length / l0, nil
}

// predict follows the errors of the leaves: at leaf k that of the round's root
// and of the right children above it, whose distance to their parents is taken
// for as many steps in line as lie between. Between leaves the errors' sum
// changes by what a right child adds less what those below it had.
//
// With the theorem's alpha~ it is the theorem's 3 alpha~, or the gradient to
// expect at the start where that is smaller: the start then is returned. Other
// steps of one length are taken for those of the size they have at the start.
func (t *TreeSpiderPlan) predict(s Size) Forecast {
	p := t.problem
	l0, slope := p.Constants.Lipschitz, t.ball.slope(p)
	eta := t.outline.StepSize
	if t.length > 0 {
		start := p.passForecast(0, s, []float64{0, 1}, func(int, float64) (K, variance float64) { return 1, 0 })
		eta = t.length / start.Gradient
		if bound := 3 * t.accuracy; t.proved && bound < start.Gradient {
			return Forecast{Gradient: bound, Population: bound, Excess: start.Excess}
		} else if t.proved {
			return start
		}
	}
	weights := make([]float64, t.choice.steps)
	for i := range weights {
		weights[i] = leafWeight(i)
	}
	errors := make([]float64, t.depth+1) // of a leaf's ancestors, by depth
	var before float64
	return p.passForecast(eta, s, t.choice.passWeights(weights), func(step int, move float64) (K, variance float64) {
		k := step % (1 << t.depth)
		if k == 0 {
			clear(errors)
			errors[0] = l0 * l0 * t.scatter.of(t.sizes[0])
			before = errors[0]
			return 1, before / float64(p.Dim)
		}
		j := t.depth
		for ; k%2 == 0; k /= 2 {
			errors[j] = 0
			j--
		}
		radius := min(slope*move*math.Exp2(float64(t.depth-j)), 2*l0)
		errors[j] = radius * radius * t.scatter.of(t.sizes[j])
		var sum float64
		for _, e := range errors {
			sum += e
		}
		change := sum - before
		before = sum
		return 0, change / float64(p.Dim)
	})
}
