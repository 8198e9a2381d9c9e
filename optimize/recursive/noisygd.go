package recursive

import (
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// noisyGD is noisy gradient descent as a sub-routine on a strongly convex
// objective (Arora et al. 2023, Algorithm 7): projected steps of one size, each
// on a noisy mean of clipped gradients, and as output the average
//
//	sum_k (1-decay)^(-k) w_k / sum_k (1-decay)^(-k),   k = 1..K.
type noisyGD struct {
	steps  int     // K
	eta    float64 // step size
	safe   float64 // that is stable on every table: longer ones are shortened (optimize.Pace)
	decay  float64 // eta lambda_t, in [0, 1]
	charge float64 // of each answer
}

// objective is F + sum_s (lambda_s/2) ||w - wbar_s||^2 over a set, F being the
// mean loss of some records plus the problem's regularizer.
type objective struct {
	problem optimize.Problem
	pull    *pull
	set     convex.Set
}

// pull is the gradient of sum_s (lambda_s/2) ||w - wbar_s||^2, which is public
// and added exactly.
type pull struct {
	strength float64   // sum_s lambda_s
	linear   []float64 // sum_s lambda_s wbar_s
}

func newPull(dim int) *pull { return &pull{linear: make([]float64, dim)} }

// add adds (lambda/2) ||w - centre||^2 to the objective.
func (p *pull) add(lambda float64, centre []float64) {
	p.strength += lambda
	for j, v := range centre {
		p.linear[j] += lambda * v
	}
}

func (p *pull) addGradient(g, w []float64) {
	for j := range g {
		g[j] += p.strength*w[j] - p.linear[j]
	}
}

// solve descends from where the round starts.
func (s noisyGD) solve(run *optimize.Run, records query.Cohort, f objective) error {
	for range s.steps {
		answer, err := run.Ask(s.charge, query.GradientAt(records, run.W, f.problem.Constants.Lipschitz))
		if err != nil {
			return err
		}
		run.Descend(run.Estimate(answer), optimize.Use{Weight: 1})
	}
	return nil
}

// paced says how long steps are.
func (s noisyGD) paced() func(g []float64, noise float64) float64 {
	if !(s.eta > s.safe) {
		return func([]float64, float64) float64 { return s.eta }
	}
	return optimize.NewPace(s.eta, s.safe).Next
}
