package dataset

import (
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// Interaction names two columns whose effects are combined: categories, numbers or dates. It has one
// feature for each pair of a feature of the first column and a feature of the second column, so that the
// effect of each column may depend on the other column. The features of a category include the feature
// "other". A number or date has pairKnots hats ([Hats]) as its features.
type Interaction [2]string

// cross is an interaction of two columns, bound to the cells from which a map reads them.
type cross struct {
	a, b    input
	at      int // index of the interaction's first feature
	width   int // number of features
	numbers int // how many of the two columns are numbers or dates
}

// crossed holds the two columns of an interaction in the order of its features, which are sorted by the first column
// and then by the second. If one column is a category and the other column a number, the category comes first.
type crossed [2]Column

func (s *Schema) crossed(pair Interaction) crossed {
	a, _ := s.column(pair[0])
	b, _ := s.column(pair[1])
	if a.isNumber() && !b.isNumber() {
		a, b = b, a
	}
	return crossed{a, b}
}

// numbers reports whether at least one of the interaction's columns is a number or date. It tests the
// second column only, since a category comes first.
func (x crossed) numbers() bool { return x[1].isNumber() }

// count returns how many of the interaction's two columns are numbers or dates.
func (x crossed) count() (n int) {
	for _, c := range x {
		if c.isNumber() {
			n++
		}
	}
	return n
}

// scale returns the factor by which the interaction's features are multiplied before the row is
// divided by [Schema.Scale]: 1, or spline.Scale for one number, or spline.Scale^2 for two numbers.
func (x crossed) scale() float64 {
	return []float64{1, spline.Scale, spline.Scale * spline.Scale}[x.count()]
}

// width returns the number of features of the interaction.
func (x crossed) width() int { return len(x[0].inPairs()) * len(x[1].inPairs()) }

// inPairs returns the names of a column's features in interactions.
func (c Column) inPairs() []string {
	if c.isNumber() {
		return c.knotNames(c.pairKnots())
	}
	return featureNames(c)
}

// width returns the number of features of a category or hash column, "other" included.
func (in *input) width() int { return in.other + 1 }

// checkInteractions validates the interactions. It appends the names of their features to s.features and their hats to
// s.hats, and adds the bounds of their squared norms to s.terms. taken holds the names of all features so far.
func (s *Schema) checkInteractions(taken map[string]bool) error {
	for i, pair := range s.interactions {
		field := itemField("interactions", i)
		for _, name := range pair {
			if c, listed := s.column(name); !listed || c.Kind != Category && !c.isNumber() {
				return &fieldError{field, strconv.Quote(name), "must be a category, number or date among the columns"}
			}
		}
		x := s.crossed(pair)
		if pair[0] == pair[1] {
			return &fieldError{field, strconv.Quote(pair[0]), "must be two different columns"}
		}
		for _, earlier := range s.interactions[:i] {
			if earlier == pair || earlier == (Interaction{pair[1], pair[0]}) {
				return &fieldError{field, "", "is listed twice"}
			}
		}
		s.first = append(s.first, len(s.features))
		outer, inner := x[0].inPairs(), x[1].inPairs()
		if len(outer) > maxTerms/len(inner) {
			return &fieldError{field, "", "must make at most " + strconv.Itoa(maxTerms) + " features"}
		}
		if x.numbers() {
			h := Hats{First: len(s.features), Width: len(outer) * len(inner), Group: -1}
			for _, c := range x {
				if c.isNumber() {
					h.Axes = append(h.Axes, c.axis(s.at(c.Name), c.pairKnots()))
				} else {
					h.Group = s.group(c.Name)
				}
			}
			s.hats = append(s.hats, h)
		}
		for _, a := range outer {
			for _, b := range inner {
				name := a + " & " + b
				if taken[name] {
					return &fieldError{field, "", "makes a second feature named " + strconv.Quote(name)}
				}
				taken[name] = true
				s.features = append(s.features, name)
			}
		}
		s.terms += []int{1, 2, 4}[x.count()]
	}
	return nil
}

// group returns the index, among [Schema.Groups], of the group of a category or hash column.
func (s *Schema) group(name string) (index int) {
	for _, c := range s.columns {
		if c.Name == name {
			return index
		}
		if c.Kind == Category || c.Kind == Hash {
			index++
		}
	}
	return index
}

// pairAt returns the index of the first feature of interaction i.
func (s *Schema) pairAt(i int) int { return s.first[len(s.columns)+i] }

// bindInteractions binds the interactions to the inputs of the map. names holds the name of the column of
// each of m.inputs.
func (m *Map) bindInteractions(names []string) {
	inputs := make(map[string]input, len(names))
	for i, name := range names {
		inputs[name] = m.inputs[i]
	}
	for i, pair := range m.schema.interactions {
		c := m.schema.crossed(pair)
		x := cross{inputs[c[0].Name], inputs[c[1].Name], m.schema.pairAt(i), c.width(), c.count()}
		m.crosses = append(m.crosses, x)
	}
}
