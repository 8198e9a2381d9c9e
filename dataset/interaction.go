package dataset

import "strconv"

// Interaction crosses two category columns: it has one feature for each pair of their features,
// other included, so that the effect of one column may depend on the other.
type Interaction [2]string

// cross is an interaction, bound to the inputs of a map.
type cross struct {
	a, b input
	at   int // index of its first feature
}

// width returns the number of features of a category.
func (in *input) width() int { return in.other + 1 }

// checkInteractions validates the interactions and appends their features.
func (s *Schema) checkInteractions(taken map[string]bool) error {
	for i, pair := range s.interactions {
		field := itemField("interactions", i)
		var crossed [2]Column
		for k, name := range pair {
			c, listed := s.column(name)
			if !listed || c.Kind != Category {
				return &fieldError{field, strconv.Quote(name), "must be a category among the columns"}
			}
			crossed[k] = c
		}
		if pair[0] == pair[1] {
			return &fieldError{field, strconv.Quote(pair[0]), "must be two different columns"}
		}
		for _, earlier := range s.interactions[:i] {
			if earlier == pair || earlier == (Interaction{pair[1], pair[0]}) {
				return &fieldError{field, "", "is listed twice"}
			}
		}
		if crossed[0].width() > maxTerms/crossed[1].width() {
			return &fieldError{field, "", "must make at most " + strconv.Itoa(maxTerms) + " features"}
		}
		for _, a := range featureNames(crossed[0]) {
			for _, b := range featureNames(crossed[1]) {
				name := a + " & " + b
				if taken[name] {
					return &fieldError{field, "", "makes a second feature named " + strconv.Quote(name)}
				}
				taken[name] = true
				s.features = append(s.features, name)
			}
		}
		s.terms++
	}
	return nil
}

// bindInteractions binds the interactions to the inputs of a map. next is the number of features
// before them.
func (m *Map) bindInteractions(names []string, next int) {
	inputs := make(map[string]input, len(names))
	for i, name := range names {
		inputs[name] = m.inputs[i]
	}
	for _, pair := range m.schema.interactions {
		x := cross{inputs[pair[0]], inputs[pair[1]], next}
		m.crosses = append(m.crosses, x)
		next += x.a.width() * x.b.width()
	}
}
