package optimize

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/query"
)

// DifferenceBall selects the ball to which the difference between a record's gradients at two points w and
// w' is clipped. Let [l, L1] be the bounds on the eigenvalues of the Hessian of a record's loss. The zero
// DifferenceBall selects the smallest ball that contains every difference that these bounds allow. The
// centre of this ball is (l + L1)/2 times w - w'.
type DifferenceBall struct {
	// Fraction is c in (0, 1]. The difference between a record's gradients at two points w and w' is
	// clipped to the ball of radius c max(|l|, L1) ||w - w'|| around zero, where l and L1 bound the
	// eigenvalues of the Hessian of a record's loss. c = 1 is the bound of the textbook. With c below 1
	// differences may be clipped, which adds bias and does not weaken privacy. Zero means the smallest ball
	// that contains every difference that l and L1 allow.
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

// Slope returns the ratio of the ball's radius to the distance ||w - w'|| of the two points, without the
// limit 2 L0 of the method Difference.
func (b DifferenceBall) Slope(p Problem) float64 {
	if b.Fraction > 0 {
		return b.Fraction * p.DataSmoothness()
	}
	lo, hi := p.Curvature()
	return (hi - lo) / 2
}

// Difference returns the query term that sums, over the records of the cohort c, the gradient at w
// minus the gradient at prev. Each record's difference is clipped to the ball b, or to the ball of
// radius 2 L0 around zero if that ball is smaller: the difference of two gradients clipped at norm L0
// is never longer than 2 L0.
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

// Mix returns the terms of a query that releases K times the gradient term plus 1-K times the difference
// term. It omits a term whose weight is at most 2^-100, and a difference term whose ball has a radius of at
// most 2^-100.
func Mix(gradient, difference query.Term, K float64) []query.Term {
	var terms []query.Term
	// Queries reject weights and radii below 2^-200. A term with weight or radius 2^-100 is already
	// negligible compared with the other term.
	const least = 0x1p-100
	if K > least {
		terms = append(terms, gradient.Weighted(K))
	}
	if 1-K > least && difference.Ball().Radius > least {
		terms = append(terms, difference.Weighted(1-K))
	}
	return terms
}
