package report

import (
	"github.com/stillpoint-dp/stillpoint/inference"
)

// confident converts the values of a shape with one number to a Curve with confidence intervals. Each
// point is the difference from the reference knot, which is a contrast of the dim weights of a fit with
// intervals: the formula of such a fit has a column for the hat of each knot but the reference knot. A
// knot that is not in the formula counts as the reference knot. The points between it and its neighbours
// have no interval and are thin: noise hides the rows there.
func (s shaped) confident(fit *inference.Fit, dim int) Curve {
	c := s.curve()
	reference := s.Axes[0].Reference()
	c.Centred, c.Level, c.Reference = AtReference, fit.Level, &c.Knots[reference]
	contrast := fit.Contrasts()
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
		switch p.Thin = s.hidden(fit, i) || share > 0 && s.hidden(fit, i+1); {
		case p.Thin:
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

// hidden reports whether knot i, which is not the reference knot, is not in the fit's formula.
func (s shaped) hidden(fit *inference.Fit, i int) bool {
	return i != s.Axes[0].Reference() && !fit.Has(s.Places[i].Feature)
}
