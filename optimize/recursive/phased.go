package recursive

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// phasedSGD solves a round by phased SGD (Feldman, Koren and Talwar 2020; Arora et al. 2023, Algorithm 5).
// Phase i = 1, 2, ... makes one pass over the share 2^-i of the round's records with steps of size 4^-i
// eta. Phase 1 starts at the round's start, and every later phase at the point that the phase before it
// released.
//
// The privacy of phased SGD needs stability: steps must not increase the distance between two runs on
// neighbouring tables. Steps of at most 2/(L1 + Lambda) have this property if the round's objective is
// convex with smoothness L1 + Lambda. Lambda is the convexity that the earlier rounds' quadratics add to
// the objective. Each phase has its own records, so each phase may be charged the whole budget.
type phasedSGD struct {
	sizes  []int   // n_i, the number of records of each phase
	eta    float64 // phase i, counted from 1, makes steps of size 4^-i eta
	charge float64 // charge of each phase
}

// phaseSizes returns the number of records of each phase i = 1, 2, ...: 2^-i times records, rounded down,
// as long as this number is at least 2. With a single record the average of a phase would be the phase's
// start.
func phaseSizes(records int) []int {
	var sizes []int
	for n := records / 2; n >= 2; n /= 2 {
		sizes = append(sizes, n)
	}
	return sizes
}

// errUnresolved means that the steps of a round's first phase are too small compared with the rounding
// errors of float64 (see resolved).
var errUnresolved = errors.New("phased-sgd")

// resolved reports whether a pass over n records is accurate enough in float64 for the curator to answer
// it. Let reach bound the norms of the points that the pass computes with. The rounding error of one step
// is below d 2^-53 reach for large d. The rounding errors of all n steps together must be at most 1/80 of
// the longest step. The standard deviation of the noise must be at least 2^-29 reach. These limits are a
// little stricter than the curator's own.
func resolved(p query.Pass, n int, smoothness, mu float64) bool {
	d := float64(len(p.Start))
	reach := optimize.Norm(p.Centre) + p.Radius + optimize.Norm(p.Start)
	reach += p.Step * (p.Clip + p.Lambda*reach)
	step := 0x1p-53 * reach * ((p.Step*smoothness+1)*(d/8+6) + d/2 + 16)
	return 80*float64(n)*step <= p.Step*p.Clip && p.Sensitivity(n, smoothness) >= 0x1p-29*reach*mu
}

// step returns the step size of phase i, counted from 0.
func (s phasedSGD) step(i int) float64 { return math.Ldexp(s.eta, -2*(i+1)) }

// solve makes, in each phase, one pass over a new cohort, and releases the average of the pass with
// noise. The round's result is the release of the last phase.
func (s phasedSGD) solve(run *optimize.Run, f objective) error {
	pass := query.Pass{Clip: f.problem.Constants.Lipschitz, Lambda: f.pull.strength, Linear: slices.Clone(f.pull.linear)}
	// The quadratic regularizer (a/2) ||w - c||^2 has gradient a w + b, where b is its gradient at 0.
	if r := f.problem.Regularizer; r != nil {
		b := make([]float64, len(run.W))
		r.AddGradient(b, make([]float64, len(b)))
		pass.Lambda += r.Smoothness()
		optimize.Descend(pass.Linear, b, 1)
	}
	if ball, ok := f.set.(convex.Ball); ok {
		pass.Radius, pass.Centre = ball.Radius(), ball.Centre()
	}
	for i, size := range s.sizes {
		cohort, err := run.Draw(float64(size))
		if err != nil {
			return err
		}
		pass.Start, pass.Step = slices.Clone(run.W), s.step(i)
		q, err := query.NewStable(s.charge, cohort, pass)
		if err != nil {
			return err
		}
		answer, err := run.Stable(q)
		if err != nil {
			return err
		}
		// A pass releases no gradient. The run records the pass as one step from the pass's start to its
		// release. The average of the iterates is about half as far from the start as the last iterate, so
		// the recorded step size is half the sum of the pass's step sizes.
		run.Land(answer, pass.Step*float64(size)/2)
	}
	return nil
}

// checkPhased returns an error if phased SGD would not be stable or if the curator does not offer it for
// the problem. This is so under add-or-remove, for a loss that is not rank-one with one margin, for a
// regularizer that is not quadratic, and for a feasible set that is neither a ball nor the whole space.
func checkPhased(p optimize.Problem) error {
	switch r := p.Regularizer; {
	case p.Relation == account.AddOrRemove:
		return errors.New("optimize: recursive: inner = phased-sgd: must be noisy-gd under add-or-remove, where a " +
			"record's place in a pass would tell how many there are")
	case !p.RankOne || p.Shape.Margins != 1:
		return errors.New("optimize: recursive: inner = phased-sgd: must be noisy-gd for a loss that is not rank-one")
	case r != nil && r.Smoothness() != r.Convexity():
		return fmt.Errorf("optimize: recursive: inner = phased-sgd: regularizer %s has curvatures from %v to %v: must be "+
			"quadratic, such as l2", r.Name(), r.Convexity(), r.Smoothness())
	}
	switch p.Set.(type) {
	case nil, convex.Whole, convex.Ball:
		return nil
	}
	return fmt.Errorf("optimize: recursive: inner = phased-sgd: set %s: must be a ball", p.Set.Name())
}
