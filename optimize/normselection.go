package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/query"
)

// NormSelection chooses one of several released points and releases the norm of the mean gradient at the chosen
// point. It prefers points where this norm is small. If the problem has a smoothing of radius r, the
// gradient is the gradient of the smoothed loss. A point at which this gradient has norm b is (r,
// b)-stationary in Goldstein's sense.
//
// The point is drawn by the exponential mechanism, which takes half of the charge. The norm takes the other
// half. With fewer than two points nothing is drawn, and the norm takes the whole charge. The norm is
// released at the chosen point only. If the norms at all points were released, their noise would grow with
// the number of points. The noise of the exponential mechanism does not grow with this number.
type NormSelection struct {
	mu, epsilon float64
}

// NewNormSelection returns a NormSelection that charges a record at most mu^2 for its two releases together. It returns an
// error if mu is too small for a selection by the exponential mechanism.
func NewNormSelection(mu float64) (NormSelection, error) {
	epsilon, err := selectionEpsilon(mu / math.Sqrt2)
	return NormSelection{mu, epsilon}, err
}

// Epsilon returns the parameter of the exponential mechanism.
func (l NormSelection) Epsilon() float64 { return l.epsilon }

// Charge returns the most that a record is charged for a NormSelection, as a part of the budget mu^2.
func (l NormSelection) Charge() float64 { return l.mu * l.mu }

// Choose releases the index k of one of the points, and the norm of the mean gradient at this point over
// the records of the cohort c, with the regularizer's gradient added. Each record's gradient is clipped at
// the norm clip.
func (l NormSelection) Choose(r *Run, c query.Cohort, clip float64, points [][]float64) (k int, found *SelectedNorm, err error) {
	p := r.plan.problem
	terms := make([]query.Term, len(points))
	for i, w := range points {
		shift := make([]float64, len(w))
		p.AddRegularizer(shift, w)
		terms[i] = query.NormAt(c, w, clip, shift)
	}
	terms = r.smoothed(terms)
	charge := l.Charge() * usable
	if len(points) > 1 {
		if k, err = drawn(r.ctx, r.oracle, l.epsilon, terms); err != nil {
			return 0, nil, err
		}
		mu, err := mechanism.SelectionMu(l.epsilon)
		if err != nil {
			return 0, nil, err
		}
		r.charge(c, mu*mu)
		charge /= 2
	}
	a, err := r.Ask(charge, terms[k])
	if err != nil {
		return 0, nil, err
	}
	return k, &SelectedNorm{GradientNorm: max(a.Mean[0], 0), Sigma: a.Sigma, Radius: p.Smoothing.Radius, Among: len(points)}, nil
}
