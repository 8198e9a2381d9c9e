package dataset

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// Term is one quantity of a linear score in the user's units: a slope, a difference between two levels of a category,
// or the intercept. Its value is a constant plus a linear combination of weights.
//
// The weight of a single level of a category has no meaning of its own: adding a number to the
// weights of all levels and subtracting it from the intercept changes no prediction. Each level is
// therefore compared with a reference level, which is the first level that the schema declares.
type Term struct {
	// Name is the name of the term's feature. For a difference, it is the feature of the level or knot that
	// is compared with Reference.
	Name string
	// Column is the column of the feature. It is "(interactions)" for an interaction and "" for the
	// intercept.
	Column string
	// Reference is the feature that a difference is relative to: the reference level, the middle knot,
	// or a text such as "no interaction". It is "" for a slope and for the intercept.
	Reference string
	// Per is the quantity that a slope multiplies, as in [Coefficient]. It is "" for a difference and for
	// the intercept.
	Per string
	// Parts and Constant give the term's value: Constant plus the sum of the parts.
	Parts    []Part
	Constant float64
}

// Part is one weight of a term's linear combination: the index of its feature, and the factor of
// the weight.
type Part struct {
	Feature int
	Factor  float64
}

// Of returns the term's value at the weights w.
func (t Term) Of(w []float64) float64 {
	sum := t.Constant
	for _, p := range t.Parts {
		sum += p.Factor * w[p.Feature]
	}
	return sum
}

// midpoint is the text in Term.Reference for the indicator of a missing number. The indicator's term is the
// difference between the score of a missing number and the score of a number at the midpoint of the bounds.
const midpoint = "the midpoint of its bounds"

// Terms returns the terms of a linear score, the intercept last. For cells within their bounds the score
// is the sum of
//
//   - the intercept: the score, without interactions with numbers, of a row with numbers at 0, dates at
//     their first day, numbers and dates with curves at their middle knot, and categories at their
//     reference level;
//   - for each number or date without a curve: the slope times the number, times the log1p of the
//     number if it has that transform, or times the days since the first date;
//   - for each number or date with a curve: the difference between the curve's value and its value at
//     the middle knot (of two middle knots, the lower). There is one term for each other knot, and
//     between knots the curve is linear (on the scale of log1p if the number has that transform). There
//     is no slope;
//   - for each number or date with an indicator, if it is missing: the difference from a number at the
//     midpoint of the transformed bounds. The two items above count a missing number as this midpoint;
//   - for each category: the difference between the row's level and the reference level. If the category
//     interacts with another category, the difference holds at the reference level of the other category;
//   - for each interaction of two categories: one term for each pair of levels, neither of which is the
//     reference level. The term is the difference between the score of the pair and the score that the
//     terms of the two categories alone would give;
//   - for each interaction with a number: one term for each feature. Between the knots of a number the
//     terms are interpolated linearly.
//
// The buckets of a hash column have no terms, because the values in a bucket are unknown. The sum does not
// include the contribution of hash columns. If the target is a number, values are in the target's units
// and the sum is the prediction. If the target has classes, values are in units of the score. If rate is
// true, the score is the logarithm of a rate, as in [Schema.Explain].
//
// As in [Schema.Explain], roundings and the division by max(1, ||x||) are left out.
func (s *Schema) Terms(rate bool) []Term {
	unit, constant := 1., 0.
	switch {
	case rate:
		constant = math.Log(s.target.Rate())
	case s.target.Kind == Number:
		unit, constant = s.target.half(), s.target.mid()
	}
	unit /= s.Scale()
	crossings := s.crossings()
	last := len(s.features) - 1
	whole := Term{Name: s.features[last], Parts: []Part{{last, unit}}, Constant: constant}
	var list []Term
	for i, c := range s.columns {
		terms, reference := s.columnTerms(c, s.first[i], unit, crossings)
		list, whole.Parts = append(list, terms...), append(whole.Parts, reference...)
	}
	for _, x := range crossings {
		list = append(list, s.crossingTerms(x, unit)...)
		if x.scale == 1 {
			whole.Parts = append(whole.Parts, Part{x.place(0, 0), unit})
		}
	}
	return append(list, whole)
}

// columnTerms returns the terms of a column whose features begin at at, and its parts of the term of the reference row.
func (s *Schema) columnTerms(c Column, at int, unit float64, crossings []crossing) (list []Term, reference []Part) {
	switch {
	case (c.Kind == Number || c.Kind == Date) && c.Curve > 0:
		middle := referenceKnot(c.knots())
		return s.knotTerms(c, at, unit),
			[]Part{{at, unit * c.knots().Position(middle)}, {at + 2 + middle, unit * spline.Scale}}
	case c.Kind == Number || c.Kind == Date:
		list = append(list, s.slope(c, at, unit))
		if c.Indicator {
			list = append(list, Term{Name: s.features[at+1], Column: c.Name, Reference: midpoint, Parts: []Part{{at + 1, unit}}})
		}
		n := newInterval(spanned(c))
		return list, []Part{{at, -unit * (n.from/n.width + n.to/n.width)}}
	case c.Kind == Category:
		for i := 1; i < c.width(); i++ {
			t := Term{Name: s.features[at+i], Column: c.Name, Reference: s.features[at],
				Parts: []Part{{at + i, unit}, {at, -unit}}}
			for _, x := range crossings {
				t.Parts = append(t.Parts, x.difference(c.Name, i, unit)...)
			}
			list = append(list, t)
		}
		return list, []Part{{at, unit}}
	}
	return nil, nil
}

// crossingTerms returns the terms of an interaction.
func (s *Schema) crossingTerms(x crossing, unit float64) (list []Term) {
	if x.scale != 1 {
		for k := range x.width[0] * x.width[1] {
			list = append(list, Term{Name: s.features[x.at+k], Column: interacting, Reference: noInteraction,
				Parts: []Part{{x.at + k, unit * x.scale}}})
		}
		return list
	}
	for i := 1; i < x.width[0]; i++ {
		for j := 1; j < x.width[1]; j++ {
			list = append(list, Term{
				Name: s.features[x.place(i, j)], Column: interacting, Reference: s.features[x.place(0, 0)],
				Parts: []Part{{x.place(i, j), unit}, {x.place(i, 0), -unit}, {x.place(0, j), -unit}, {x.place(0, 0), unit}},
			})
		}
	}
	return list
}

// spanned returns the column unchanged or, for a date, with bounds counted in days from its first
// date.
func spanned(c Column) Column {
	if c.Kind == Date {
		c.Low, c.High = 0, c.High-c.Low // exact, because both bounds are whole numbers
	}
	return c
}

// slope returns the term of a number or date without a curve, whose feature has the index at. The
// contribution of the column to the score is w u = w (2 (t-from)/width - 1) for the weight w and the
// transformed value t. The part that does not depend on t belongs to the intercept's term.
func (s *Schema) slope(c Column, at int, unit float64) Term {
	per := c.Name
	n := newInterval(spanned(c))
	switch {
	case c.Kind == Date:
		per = "days(" + c.Name + " - " + ShowDay(c.Low) + ")"
	case n.log:
		per = "log1p(" + c.Name + ")"
	}
	return Term{Name: s.features[at], Column: c.Name, Per: per, Parts: []Part{{at, 2 * unit / n.width}}}
}

// noInteraction is the text in Term.Reference for the terms of an interaction with a number.
const noInteraction = "no interaction"

// knotTerms returns the terms of a number with a curve, whose features begin at index at. The weight of the
// number itself, and not only the weights of its hats, is part of each difference between knots.
func (s *Schema) knotTerms(c Column, at int, unit float64) (list []Term) {
	k := c.knots()
	first := at + 2
	middle := referenceKnot(k)
	for i := range k.Len() {
		if i == middle {
			continue
		}
		list = append(list, Term{
			Name: s.features[first+i], Column: c.Name, Reference: s.features[first+middle],
			Parts: []Part{{first + i, unit * spline.Scale}, {first + middle, -unit * spline.Scale},
				{at, unit * (k.Position(i) - k.Position(middle))}},
		})
	}
	missing := Term{Name: s.features[at+1], Column: c.Name, Reference: midpoint, Parts: []Part{{at + 1, unit}}}
	cell, f := k.Cell(0)
	missing.Parts = append(missing.Parts, Part{first + cell, -unit * spline.Scale * (1 - f)},
		Part{first + cell + 1, -unit * spline.Scale * f})
	return append(list, missing)
}

// crossing is the range of features of one interaction of two columns. at is the index of its first
// feature, width holds the number of features of each column, and scale is the factor of the features
// (spline.Scale for each number). scale is 1 if neither column is a number.
type crossing struct {
	columns Interaction
	width   [2]int
	at      int
	scale   float64
}

// crossings returns the feature ranges of the interactions.
func (s *Schema) crossings() (list []crossing) {
	for i, pair := range s.interactions {
		x := s.crossed(pair)
		list = append(list, crossing{Interaction{x[0].Name, x[1].Name},
			[2]int{len(x[0].inPairs()), len(x[1].inPairs())}, s.pairAt(i), x.scale()})
	}
	return list
}

// place returns the index of the feature of level i of the interaction's first column and level j of
// its second.
func (x crossing) place(i, j int) int { return x.at + i*x.width[1] + j }

// difference returns the interaction's part of a category's term: of the effect of changing the given column
// from its reference level to level i, while the other column of the interaction is at its reference level.
// It returns nil if one of the interaction's columns is a number or if column is not in the interaction. unit
// is the change of the score by a feature of weight 1 when the feature changes from 0 to its full value.
func (x crossing) difference(column string, i int, unit float64) []Part {
	if x.scale != 1 {
		return nil
	}
	switch column {
	case x.columns[0]:
		return []Part{{x.place(i, 0), unit}, {x.place(0, 0), -unit}}
	case x.columns[1]:
		return []Part{{x.place(0, i), unit}, {x.place(0, 0), -unit}}
	}
	return nil
}
