package dataset

import "math"

// Term is a number that a linear score says of the columns, in the user's units: a slope, a
// difference between two levels of a category, or the intercept. It is a sum over weights,
// and a constant.
//
// A single level of a category says nothing by itself: the same may be added to the
// weights of all levels and taken off the intercept, and no prediction changes. So levels
// are compared with a level of reference, which is the first one declared.
type Term struct {
	// Name is that of the feature; of a difference, of the level that is compared.
	Name string
	// Column is the column it belongs to; "(interactions)" for theirs, "" for the
	// intercept.
	Column string
	// Reference names what a difference is against: the feature of the first level declared;
	// "" for a slope and the intercept.
	Reference string
	// Per is what one unit is, as in Coefficient; "" for a difference and the intercept.
	Per      string
	Parts    []Part
	Constant float64
}

// Part is a weight's part in a term: its place among the features, and its factor.
type Part struct {
	Feature int
	Factor  float64
}

// Of is the term's value at some weights.
func (t Term) Of(w []float64) float64 {
	sum := t.Constant
	for _, p := range t.Parts {
		sum += p.Factor * w[p.Feature]
	}
	return sum
}

// midpoint is what the indicator of a missing number is against.
const midpoint = "at the midpoint of its bounds"

// Terms returns what a linear score says: for cells within their bounds it is the
// intercept, plus slope times number for each number and date (its log1p where the
// transform says so; of a date, the days since its first), plus the difference from the
// reference for the level of each category, plus what a missing number with an indicator
// adds to a number at the midpoint of its bounds. The intercept is the score at numbers of
// 0, dates at their first day and categories at their reference.
//
// Of crossed categories the difference between two levels of the one is that at the
// reference of the other, and the interaction's terms are what a pair of levels adds to
// both differences: none for pairs with a level of reference.
//
// Buckets of a hashed column stand for nobody knows which values, and have no terms; the
// intercept leaves out what they add. With a target that is a number, values are in the
// target's units and the sum is the prediction; with classes, in units of the score. With
// rate the score is the logarithm of a rate, as of [Schema.ExplainRate].
//
// Roundings and the division by max(1, ||x||) are left out, as of [Schema.Explain].
func (s *Schema) Terms(rate bool) []Term {
	unit, constant := 1., 0.
	switch {
	case rate:
		constant = math.Log(s.target.Rate())
	case s.target.Kind == Number:
		unit, constant = s.target.half(), s.target.mid()
	}
	unit /= s.Scale()
	start := make(map[string]int)
	next := 0
	for _, c := range s.columns {
		start[c.Name] = next
		next += c.width()
	}
	crossings := s.crossings(start, next)
	last := len(s.features) - 1
	whole := Term{Name: s.features[last], Parts: []Part{{last, unit}}, Constant: constant}
	var list []Term
	for _, c := range s.columns {
		at := start[c.Name]
		switch c.Kind {
		case Number, Date:
			slope := s.slope(c, at, unit)
			n := newInterval(spanned(c))
			whole.Parts = append(whole.Parts, Part{at, -unit * (n.from/n.width + n.to/n.width)})
			list = append(list, slope)
			if c.Indicator {
				list = append(list, Term{Name: s.features[at+1], Column: c.Name, Reference: midpoint, Parts: []Part{{at + 1, unit}}})
			}
		case Category:
			whole.Parts = append(whole.Parts, Part{at, unit})
			for i := 1; i < c.width(); i++ {
				t := Term{Name: s.features[at+i], Column: c.Name, Reference: s.features[at], Parts: []Part{{at + i, unit}, {at, -unit}}}
				for _, x := range crossings {
					t.Parts = append(t.Parts, x.difference(c.Name, i, unit)...)
				}
				list = append(list, t)
			}
		}
	}
	for _, x := range crossings {
		whole.Parts = append(whole.Parts, Part{x.place(0, 0), unit})
		for i := 1; i < x.width[0]; i++ {
			for j := 1; j < x.width[1]; j++ {
				list = append(list, Term{
					Name: s.features[x.place(i, j)], Column: interacting, Reference: s.features[x.place(0, 0)],
					Parts: []Part{{x.place(i, j), unit}, {x.place(i, 0), -unit}, {x.place(0, j), -unit}, {x.place(0, 0), unit}},
				})
			}
		}
	}
	return append(list, whole)
}

// spanned is a column with the bounds of a date in days from its first.
func spanned(c Column) Column {
	if c.Kind == Date {
		c.Low, c.High = 0, c.High-c.Low // exact, as both are whole
	}
	return c
}

// slope is a number's or a date's term: w u = w (2 (t-from)/width - 1), whose constant part
// goes to the intercept.
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

// crossing is an interaction's place among the features.
type crossing struct {
	columns Interaction
	width   [2]int
	at      int
}

// crossings are those of the interactions, whose features begin at next.
func (s *Schema) crossings(start map[string]int, next int) (list []crossing) {
	for _, pair := range s.interactions {
		a, _ := s.column(pair[0])
		b, _ := s.column(pair[1])
		list = append(list, crossing{pair, [2]int{a.width(), b.width()}, next})
		next += a.width() * b.width()
	}
	return list
}

// place is the feature of level i of the first column and level j of the second.
func (x crossing) place(i, j int) int { return x.at + i*x.width[1] + j }

// difference is what level i of a column adds to its difference from the reference, at
// the other column's reference.
func (x crossing) difference(column string, i int, unit float64) []Part {
	switch column {
	case x.columns[0]:
		return []Part{{x.place(i, 0), unit}, {x.place(0, 0), -unit}}
	case x.columns[1]:
		return []Part{{x.place(0, i), unit}, {x.place(0, 0), -unit}}
	}
	return nil
}
