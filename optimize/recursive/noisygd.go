package recursive

import (
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// noisyGD solves a round, whose objective is strongly convex, by noisy gradient descent (Arora et al. 2023,
// Algorithm 7). It makes projected steps of one size, each along a noisy mean of clipped gradients. The
// result of the round is the average
//
//	sum_k (1-decay)^(-k) w_k / sum_k (1-decay)^(-k),   k = 1..K.
type noisyGD struct {
	steps  int     // number K of steps
	eta    float64 // step size
	safe   float64 // step size that is stable on every table, to which optimize.Pace may shorten eta
	decay  float64 // eta lambda_t, in [0, 1]
	charge float64 // charge of each step
}

// objective is a round's objective, F + sum_s (lambda_s/2) ||w - wbar_s||^2 over a feasible set. F is
// the mean loss of the round's records plus the problem's regularizer, and wbar_s is the solution of
// the earlier round s.
type objective struct {
	problem optimize.Problem
	pull    *pull
	set     convex.Set
}

// pull is the quadratic sum_s (lambda_s/2) ||w - wbar_s||^2 in the objective of a round, around the
// solutions wbar_s of the earlier rounds. The quadratic is public, and its gradient is added without noise.
type pull struct {
	strength float64   // sum_s lambda_s, the curvature of the quadratic
	linear   []float64 // sum_s lambda_s wbar_s
}

func newPull(dim int) *pull { return &pull{linear: make([]float64, dim)} }

// add adds (lambda/2) ||w - centre||^2 to the quadratic.
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

// solve makes the steps of a round, with queries on the given records. It returns the first error of a
// query. The run computes the average.
func (s noisyGD) solve(run *optimize.Run, records query.Cohort, f objective) error {
	for range s.steps {
		if err := run.Follow(s.charge, records, optimize.Use{Weight: 1}); err != nil {
			return err
		}
	}
	return nil
}

// paced returns a function that returns the size of each step. If eta is at most safe, the step size that
// is stable on every table, every step has the size eta. If eta is larger, steps begin with the size eta,
// and [optimize.Pace] shortens steps that overshoot, down to safe.
func (s noisyGD) paced() func(g []float64, noise float64) float64 {
	if !(s.eta > s.safe) {
		return func([]float64, float64) float64 { return s.eta }
	}
	return optimize.NewPace(s.eta, s.safe).Next
}
