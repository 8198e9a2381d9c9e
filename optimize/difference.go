package optimize

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/query"
)

// DifferenceBall selects the ball to which gradient differences of records are clipped. The zero
// DifferenceBall is the ball centred on the curvature interval.
type DifferenceBall struct {
	// Fraction c in (0, 1] selects the ball of radius c max(|l|, L1) ||w - w'|| around zero instead. c
	// = 1 is the bound of the textbook. With c below 1 differences may be clipped, which adds bias and
	// does not weaken privacy.
	Fraction float64 `yaml:"ball_fraction"`
}

// Validate returns an error unless the fraction is 0 or in (0, 1].
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

// Slope returns the radius of the ball for points at distance 1.
func (b DifferenceBall) Slope(p Problem) float64 {
	if b.Fraction > 0 {
		return b.Fraction * p.DataSmoothness()
	}
	lo, hi := p.Curvature()
	return (hi - lo) / 2
}

// Difference returns the term for the records' gradient differences between w and prev. Differences are
// clipped to the ball, or to the ball of radius 2 L0 around zero if that is smaller: the difference of
// two clipped gradients is never longer than 2 L0.
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

// Mix gives the gradient the weight K and the difference the weight 1-K. It leaves out a term whose
// weight or radius is at most 2^-100.
func Mix(gradient, difference query.Term, K float64) []query.Term {
	var terms []query.Term
	// Queries reject weights and radii below 2^-200. A term far above that limit is already negligible
	// beside the other.
	const least = 0x1p-100
	if K > least {
		terms = append(terms, gradient.Weighted(K))
	}
	if 1-K > least && difference.Ball().Radius > least {
		terms = append(terms, difference.Weighted(1-K))
	}
	return terms
}
