package onepass

import (
	"cmp"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// settleTheorem sets the fields of the plan, with the values of Theorem 4 of Arora et al. 2023 for settings
// that are zero. It returns the step size for a gradient of norm L0. The theorem's n is the number of
// records, and its epsilon and delta are those of the problem's budget. settleTheorem returns an error if
// the problem has no budget or too few records.
func (c TreeSpider) settleTheorem(plan *treePlan, p optimize.Problem) (eta float64, err error) {
	epsilon, delta := p.Budget.Epsilon(), p.Budget.Delta()
	if !(epsilon > 0) {
		return 0,
			fmt.Errorf("optimize: tree-spider: budget = %v: must be given for the theorem, which speaks of its epsilon and "+
				"delta", p.Budget)
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
	decay := c.Decay
	decay = cmp.Or(decay, 1)
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
			return 0,
				fmt.Errorf("optimize: tree-spider: records = %v: must suffice for a round of depth %d with the theorem's b = %v", n,
					plan.depth, b)
		}
	}
	if need := max(math.Sqrt(d)*(D/2+1)*(D/2+1)/epsilon, math.Pow(D/2+1, 3)); n < need {
		return 0, fmt.Errorf("optimize: tree-spider: records = %v: must be >= %.6g for the theorem", n, need)
	}
	alpha := math.Sqrt2 * l0 * max(math.Pow(n, -1./3), math.Sqrt(math.Sqrt(d)/(n*epsilon)))
	beta := c.Beta
	beta = cmp.Or(beta, alpha*min(1, math.Sqrt(b)*epsilon/math.Sqrt(d)))
	if plan.proved = plan.accuracy == 0; plan.proved {
		failure := c.Failure
		failure = cmp.Or(failure, .05)
		leaves := float64(plan.rounds) * math.Exp2(D+1)
		plan.accuracy = alpha * (256*math.Log(1.25/delta)*math.Log(2*leaves/failure) +
			8*l1*p.Constants.InitialGap*math.Sqrt(2*D)*(D/2+1)/(2*l0*l0))
	}
	plan.length = beta / (math.Exp2(D/2) * l1)
	return plan.length / l0, nil
}
