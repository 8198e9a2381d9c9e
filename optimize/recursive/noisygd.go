package recursive

import (
	"slices"

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

// solve descends from start and returns the average reached, even beside an
// error; it is start where no step was taken.
func (s noisyGD) solve(run *optimize.Run, records query.Cohort, f objective, start []float64) (average, weights []float64, err error) {
	w, average := slices.Clone(start), slices.Clone(start)
	var sum float64 // of the weights of the points so far, in units of the latest's
	var fresh []float64
	pace, eta := optimize.NewPace(s.eta, min(s.eta, s.safe)), s.eta
	for range s.steps {
		answer, err := run.Ask(s.charge, query.GradientAt(records, w, f.problem.Constants.Lipschitz))
		if err != nil {
			return average, parts(fresh), err
		}
		grad := answer.Mean
		f.problem.AddRegularizer(grad, w)
		estimate := optimize.Norm(grad)
		f.pull.addGradient(grad, w)
		if s.eta > s.safe {
			eta = pace.Next(grad, answer.Sigma)
		}
		optimize.Descend(w, grad, eta)
		f.set.Project(w)
		sum = 1 + (1-s.decay)*sum
		for j := range average {
			average[j] += (w[j] - average[j]) / sum
		}
		fresh = append(fresh, 1/sum)
		run.Took(optimize.Use{Noise: answer.Sigma}, eta)
		run.Reach(w, estimate)
	}
	return average, parts(fresh), nil
}

// parts returns the weights of points in an average to which each in turn was
// added with weight fresh[k], and that of all before times 1 - fresh[k].
func parts(fresh []float64) []float64 {
	weights, rest := make([]float64, len(fresh)), 1.
	for k := len(fresh) - 1; k >= 0; k-- {
		weights[k] = rest * fresh[k]
		rest *= 1 - fresh[k]
	}
	return weights
}
