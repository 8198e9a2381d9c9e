package report

import (
	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// confident converts the values of a shape with one number to a Curve with confidence intervals. Each
// point is the difference from the reference knot, which is a contrast of the dim weights of a fit with
// intervals: the formula of such a fit has a column for the hat of each knot but the reference knot. If
// noise hides a knot, the formula has no column for it, and no point has an interval.
func (s shaped) confident(fit *inference.Fit, dim int) Curve {
	c := s.curve()
	reference := s.Axes[0].Reference()
	c.Centred, c.Level, c.Reference = AtReference, fit.Level, &c.Knots[reference]
	contrast, whole := fit.Contrasts(), true
	for i, p := range s.Places {
		whole = whole && (i == reference || fit.Has(p.Feature))
	}
	for n := range c.Points {
		i, share := n/betweenKnots, float64(n%betweenKnots)/betweenKnots
		weights := make([]float64, dim)
		s.add(weights, i, 1-share)
		if share > 0 {
			s.add(weights, i+1, share)
		}
		p := &c.Points[n]
		at := contrast(weights, 0)
		p.Effect, p.Low, p.High = at.Estimate, nil, nil
		switch {
		case !whole:
		case i == reference && share == 0:
			p.Low, p.High = new(float64), new(float64)
		case at.State == inference.Reported:
			p.Low, p.High = &at.Low, &at.High
		}
	}
	return c
}

// add adds factor times the weights' linear function that has the value of place i of the shape.
func (s shaped) add(weights []float64, i int, factor float64) {
	for _, part := range s.Places[i].Parts {
		weights[part.Feature] += factor * part.Factor
	}
}
