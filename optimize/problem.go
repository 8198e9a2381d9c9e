package optimize

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Problem is what is public about a minimisation: F(w) = mean of f(w; x_i) over
// records plus a regularizer.
type Problem struct {
	// Dim is the number of coordinates of w.
	Dim int
	// Constants are those of the data term, for rows of norm at most 1. The
	// Lipschitz constant and the curvature are enforced by clipping.
	Constants loss.Constants
	// RankOne says that f(w; x) depends on w through <w, x> alone. Rows then
	// span few directions at full length, and steps of several times 1/L1 are
	// stable in practice.
	RankOne bool
	// Regularizer is public and added exactly; nil for none.
	Regularizer loss.Regularizer
	// Set is what w is projected on; nil for the whole space.
	Set convex.Set
	// Start is w_0; nil for zero.
	Start []float64
}

// Validate returns an error naming the field, its value and the rule.
func (p Problem) Validate() error {
	c := p.Constants
	switch {
	case p.Dim < 1:
		return fmt.Errorf("optimize: dimension = %d: must be >= 1", p.Dim)
	case p.Start != nil && len(p.Start) != p.Dim:
		return fmt.Errorf("optimize: start has %d coordinates: must have %d", len(p.Start), p.Dim)
	case !positive(c.Lipschitz):
		return fmt.Errorf("optimize: Lipschitz constant = %v: must be finite and > 0", c.Lipschitz)
	case !(c.Curvature.Lo <= c.Curvature.Hi) || math.IsInf(c.Curvature.Hi-c.Curvature.Lo, 0):
		return fmt.Errorf("optimize: curvature = [%v, %v]: must be a finite interval", c.Curvature.Lo, c.Curvature.Hi)
	case c.Curvature.Lo == 0 && c.Curvature.Hi == 0:
		return fmt.Errorf("optimize: curvature = [0, 0]: must hold more than 0, or no step size follows")
	case !positive(c.Range):
		return fmt.Errorf("optimize: range F0 = %v: must be finite and > 0", c.Range)
	}
	return nil
}

// Curvature returns [l, L1]: every eigenvalue of a record's Hessian lies in it,
// and so does zero (a row has directions it does not see).
func (p Problem) Curvature() (lo, hi float64) {
	return min(0, p.Constants.Curvature.Lo), max(0, p.Constants.Curvature.Hi)
}

// DataSmoothness returns the smoothness of the data term, max(|l|, L1).
func (p Problem) DataSmoothness() float64 {
	lo, hi := p.Curvature()
	return max(-lo, hi)
}

// Smoothness returns that of the whole objective.
func (p Problem) Smoothness() float64 {
	s := p.DataSmoothness()
	if p.Regularizer != nil {
		s += p.Regularizer.Smoothness()
	}
	return s
}

// initialGradient returns G0 = sqrt(2 L1 F0), which bounds ||grad F(w_0)||.
func (p Problem) initialGradient() float64 {
	return math.Sqrt(2 * p.Smoothness() * p.Constants.Range)
}

// stepSize returns h/L1 for the given h, kept stable for the regularizer, which
// unlike the data is known to have its full curvature in every direction.
func (p Problem) stepSize(h float64) float64 {
	eta := h / p.Smoothness()
	if p.Regularizer != nil {
		if s := p.Regularizer.Smoothness(); s > 0 {
			eta = min(eta, 1/s)
		}
	}
	return eta
}

// defaultStepScale is h in eta = h/L1.
func (p Problem) defaultStepScale() float64 {
	if p.RankOne {
		return 4
	}
	return 1
}

// start returns a copy of w_0.
func (p Problem) start() []float64 {
	w := make([]float64, p.Dim)
	copy(w, p.Start)
	p.project(w)
	return w
}

func (p Problem) project(w []float64) {
	if p.Set != nil {
		p.Set.Project(w)
	}
}

// addRegularizer adds the public gradient at w.
func (p Problem) addRegularizer(g, w []float64) {
	if p.Regularizer != nil {
		p.Regularizer.AddGradient(g, w)
	}
}

// Size is what is public about the data and the budget.
type Size struct {
	// Records is the declared number of records.
	Records float64
	// Mu is the budget in Gaussian differential privacy.
	Mu float64
	// Neighbours is the sensitivity of a clipped sum in units of the clip norm:
	// 2 under replace-one, 1 under add-or-remove. Zero means 2.
	Neighbours float64
}

func (s Size) validate() error {
	if !positive(s.Records) {
		return fmt.Errorf("optimize: records = %v: must be finite and > 0", s.Records)
	}
	if !positive(s.Mu) {
		return fmt.Errorf("optimize: mu = %v: must be finite and > 0", s.Mu)
	}
	if s.Neighbours != 0 && s.Neighbours != 1 && s.Neighbours != 2 {
		return fmt.Errorf("optimize: neighbours = %v: must be 1 or 2", s.Neighbours)
	}
	return nil
}

func (s Size) neighbours() float64 {
	if s.Neighbours == 0 {
		return 2
	}
	return s.Neighbours
}

// Effective returns N = n mu/sqrt(d) (2/neighbours), the effective number of
// records: all rates are powers of it.
func (s Size) Effective(p Problem) float64 {
	return s.Records * s.Mu / math.Sqrt(float64(p.Dim)) * 2 / s.neighbours()
}

// Floor returns r = 2 L0/N: the norm of the noise of one gradient released with
// the whole budget. Up to constants it is the lower bound of Arora et al. 2023,
// Theorem 2, on the gradient norm any private algorithm can reach in the worst
// case; on a kind problem less is possible.
func (s Size) Floor(p Problem) float64 {
	return 2 * p.Constants.Lipschitz / s.Effective(p)
}

// LowerBound returns L0 min(1, sqrt(d log(1/delta))/(n epsilon)): up to a
// constant, no (epsilon, delta)-DP algorithm has a smaller gradient norm on every
// problem with these constants (Arora et al. 2023, Theorem 2, for epsilon of
// order 1 at most). A given problem may be kinder.
func LowerBound(p Problem, records, epsilon, delta float64) float64 {
	return p.Constants.Lipschitz * min(1, math.Sqrt(float64(p.Dim)*math.Log(1/delta))/(records*epsilon))
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
