package dataset

import (
	"fmt"
	"math"
)

// Coefficient is a weight in the user's units.
type Coefficient struct {
	Feature string // as in Features
	Column  string // the column it belongs to; "(interactions)" for theirs, "" for the intercept
	Per     string // what one unit is: "age", "log1p(capital_gain)", "days(seen - 2019-01-01)"; "" for an offset
	Value   float64
}

// interacting is the column of an interaction's coefficients.
const interacting = "(interactions)"

// Explain restates a linear score <w, row> in the user's units: for cells
// within their bounds the score is the sum of slope times number (times its
// log1p where the transform says so; of a date, times the days since its first), of one
// offset for each category and for each number that is missing and has an indicator, and of
// the intercept. A cell beyond a bound counts as the bound, a missing number as
// the midpoint of the (transformed) bounds. With a regression target, values
// are in the target's units and the sum is the prediction; with two classes
// they are in units of the score.
//
// The division by max(1, ||x||), which changes nothing but roundings unless the
// schema says norm and the row is longer, and the rounding to float32 are left out. Explain panics unless len(w) is Dim.
func (s *Schema) Explain(w []float64) []Coefficient {
	if s.target.Kind == Number {
		return s.explain(w, s.target.half(), s.target.mid())
	}
	return s.explain(w, 1, 0)
}

// ExplainRate is Explain of a score that is the logarithm of a rate, as a loss of counts
// has it: values are in units of the natural logarithm of the rate ([Target.Rate]).
func (s *Schema) ExplainRate(w []float64) []Coefficient {
	return s.explain(w, 1, math.Log(s.target.Rate()))
}

// explain is about a score that means constant + unit times it.
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
			// w u = w (2 (t-from)/width - 1) = (2w/width) t - w (from+to)/width
			first := c.Low
			if c.Kind == Date {
				c.Low, c.High = 0, c.High-c.Low // exact, as both are whole
			}
			n := newInterval(c)
			constant -= unit * w[at] * (n.from/n.width + n.to/n.width)
			per := c.Name
			if n.log {
				per = "log1p(" + c.Name + ")"
			}
			if c.Kind == Date {
				per = "days(" + c.Name + " - " + ShowDay(first) + ")"
			}
			list = append(list, Coefficient{s.features[at], c.Name, per, 2 * unit * w[at] / n.width})
			if c.Indicator {
				list = append(list, Coefficient{s.features[at+1], c.Name, "", unit * w[at+1]})
			}
		case Category, Hash:
			for i := range c.width() {
				list = append(list, Coefficient{s.features[at+i], c.Name, "", unit * w[at+i]})
			}
		}
	}
	for at := len(list); at < last; at++ { // interactions
		list = append(list, Coefficient{Feature: s.features[at], Column: interacting, Value: unit * w[at]})
	}
	return append(list, Coefficient{Feature: s.features[last], Value: constant})
}
