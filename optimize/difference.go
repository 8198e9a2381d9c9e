package optimize

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/query"
)

// DifferenceBall says which ball per-record gradient differences are clipped to.
// The zero DifferenceBall is centred on the curvature interval.
type DifferenceBall struct {
	// Fraction c in (0, 1] takes the ball of radius c max(|l|, L1) ||w - w'||
	// around zero instead. c = 1 is the textbook's bound; below 1 it may clip,
	// which biases and never harms privacy.
	Fraction float64 `yaml:"ball_fraction"`
}

// Validate checks the fraction.
func (b DifferenceBall) Validate() error {
	if b.Fraction != 0 && !(b.Fraction > 0 && b.Fraction <= 1) {
		return fmt.Errorf("optimize: ball fraction = %v: must be 0 (the centred ball) or in (0, 1]", b.Fraction)
	}
	return nil
}

// String describes the ball.
func (b DifferenceBall) String() string {
	if b.Fraction == 0 {
		return "centred on the curvature interval"
	}
	return fmt.Sprintf("%g of the smoothness bound around zero", b.Fraction)
}

// Slope is the ball's radius for points at distance 1.
func (b DifferenceBall) Slope(p Problem) float64 {
	if b.Fraction > 0 {
		return b.Fraction * p.DataSmoothness()
	}
	lo, hi := p.Curvature()
	return (hi - lo) / 2
}

// Difference asks for the per-record gradient difference between w and prev,
// clipped to the ball, or to the ball of radius 2 L0 around zero that two
// clipped gradients never leave, whichever is smaller.
func (b DifferenceBall) Difference(p Problem, c query.Cohort, w, prev []float64) query.Term {
	if b.Fraction == 0 {
		lo, hi := p.Curvature()
		if t := query.DifferenceByCurvature(c, w, prev, lo, hi); t.Ball().Radius < 2*p.Constants.Lipschitz {
			return t
		}
	}
	t := query.DifferenceWithin(c, w, prev, 0)
	return query.DifferenceWithin(c, w, prev, min(b.Slope(p)*t.Distance(), 2*p.Constants.Lipschitz))
}

// Mix weights gradient and difference by K and 1-K, leaving out what cannot
// move.
func Mix(gradient, difference query.Term, K float64) []query.Term {
	var terms []query.Term
	// Questions take no weights or radii below 2^-200; far above that a term is
	// already nothing beside the other.
	const least = 0x1p-100
	if K > least {
		terms = append(terms, gradient.Weighted(K))
	}
	if 1-K > least && difference.Ball().Radius > least {
		terms = append(terms, difference.Weighted(1-K))
	}
	return terms
}
