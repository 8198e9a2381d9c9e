package dataset

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// Coefficient is one term of a model's score, in the user's units.
type Coefficient struct {
	Feature string // name of the feature, as in Features
	Column  string // column of the feature; "(interactions)" for interactions, "" for the intercept
	Per     string // quantity that Value multiplies, such as "age" or "log1p(capital_gain)"; "" for an offset
	Value   float64
}

// interacting is the text in Coefficient.Column and Term.Column for interactions.
const interacting = "(interactions)"

// Explain restates a linear score <w, row> in the user's units. For cells within their bounds the
// score is the sum of
//
//   - the intercept;
//   - for each number and date: slope times the number (or times log1p of the number, or times the
//     days since the first date);
//   - for each category, hash or interaction of categories: the offset of the row's level or bucket;
//   - for each missing number with an indicator: an offset;
//   - for each number with a curve: the offsets of the two knots around the number, interpolated
//     linearly between them;
//   - for each interaction with numbers: the offsets of the knots around the numbers, interpolated
//     linearly (bilinearly for two numbers).
//
// A cell beyond a bound counts as the bound. A missing number counts as the midpoint of its
// (transformed) bounds, and has no offsets of knots. With a regression target, values are in the target's
// units and the sum is the prediction. With two classes, values are in units of the score.
//
// The sum leaves out the rounding to float32 and the division by max(1, ||x||). Except for rounding, this division
// changes a row only if the schema states norm and the row is longer than norm. Explain panics unless len(w) is Dim.
//
// If rate is true, the score is the logarithm of a rate, as in a loss for counts. The sum of the values is then the
// natural logarithm of the predicted count per unit of exposure (see [Target.Rate]).
func (s *Schema) Explain(w []float64, rate bool) []Coefficient {
	switch {
	case rate:
		return s.explain(w, 1, math.Log(s.target.Rate()))
	case s.target.Kind == Number:
		return s.explain(w, s.target.half(), s.target.mid())
	}
	return s.explain(w, 1, 0)
}

// explain returns the coefficients, as [Schema.Explain] does, of constant + unit times the score <w,
// row>.
func (s *Schema) explain(w []float64, unit, constant float64) []Coefficient {
	if len(w) != s.Dim() {
		panic(fmt.Sprintf("dataset: %d weights for %d features", len(w), s.Dim()))
	}
	if len(w) == 0 {
		return nil
	}
	unit /= s.Scale()

	last := len(w) - 1
	constant += unit * w[last]
	list := make([]Coefficient, 0, len(w))
	for _, c := range s.columns {
		at := len(list)
		switch c.Kind {
		case Number, Date:
			// The column's part of the score is w u = w (2 (t-from)/width - 1) = (2w/width) t - w
			// (from+to)/width, where t is the number or date after the transform.
			n := newInterval(spanned(c))
			constant -= unit * w[at] * (n.from/n.width + n.to/n.width)
			list = append(list, Coefficient{s.features[at], c.Name, s.slope(c, at, unit).Per, 2 * unit * w[at] / n.width})
			if c.Indicator {
				list = append(list, Coefficient{s.features[at+1], c.Name, "", unit * w[at+1]})
			}
			for i := range max(c.Curve, 0) {
				list = append(list, Coefficient{s.features[at+2+i], c.Name, "", unit * spline.Scale * w[at+2+i]})
			}
		case Category, Hash:
			for i := range c.width() {
				list = append(list, Coefficient{s.features[at+i], c.Name, "", unit * w[at+i]})
			}
		}
	}
	for _, pair := range s.interactions {
		x := s.crossed(pair)
		for range x.width() {
			at := len(list)
			list = append(list, Coefficient{Feature: s.features[at], Column: interacting, Value: unit * x.scale() * w[at]})
		}
	}
	return append(list, Coefficient{Feature: s.features[last], Value: constant})
}
