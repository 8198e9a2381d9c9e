package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Target describes the column to be predicted.
type Target struct {
	Column    string
	Kind      ColumnKind // Number (regression) or Category (classes)
	Classes   []string   // Category: two are the cells that mean -1 and +1, more 0, 1, 2, ...
	Low, High float64    // Number: public bounds, in the target's units

	// Weight names the column of a record's weight, from 0 to 1, by which it counts;
	// empty: each counts alike.
	Weight string
	// Exposure is what a count is a count in, such as years; the zero Exposure: each is
	// one in as much as any other.
	Exposure Exposure
}

// Exposure describes the column that says in how much a count was counted.
type Exposure struct {
	Column    string
	Low, High float64 // public bounds, in its units; 0 < Low < High
}

// beside is the column that a target's share is read from; "" for none.
func (t Target) beside() string {
	if t.Weight != "" {
		return t.Weight
	}
	return t.Exposure.Column
}

// share is the weight or the exposure of a cell, as a share of the largest.
func (t Target) share(cell string, missing []string) (share float64, ok bool) {
	x, ok := parse(strings.TrimSpace(cell), missing)
	if !ok {
		return 0, false
	}
	if t.Weight != "" {
		return min(max(x, 0), 1), true
	}
	return min(max(x, t.Exposure.Low), t.Exposure.High) / t.Exposure.High, true
}

// Least is the least exposure as a share of the largest; 0 for a target without one.
func (t Target) Least() float64 {
	if t.Exposure == (Exposure{}) {
		return 0
	}
	return t.Exposure.Low / t.Exposure.High
}

// Rate is the largest count there may be or, with exposures, as many in the largest, per
// unit of it: what a rate of 1 in a loss's units is in the user's.
func (t Target) Rate() float64 {
	if t.Exposure == (Exposure{}) {
		return t.High
	}
	return t.High / t.Exposure.High
}

// validateBeside checks the column of a weight or an exposure.
func (t Target) validateBeside() error {
	field, name := "target.weight", t.Weight
	if t.Exposure != (Exposure{}) {
		if t.Weight != "" {
			return &fieldError{"target.weight", strconv.Quote(t.Weight), "must not be given beside an exposure"}
		}
		field, name = "target.exposure", t.Exposure.Column
		if t.Kind != Number {
			return &fieldError{field, strconv.Quote(name), "only a number, a count, has an exposure"}
		}
		if err := validateBounds("target.exposure.number", t.Exposure.Low, t.Exposure.High); err != nil {
			return err
		}
		if !(t.Least() >= leastExposure) {
			return &fieldError{"target.exposure.number", showFloat(t.Exposure.Low), "the lower bound must be above 0, and at least " + showFloat(leastExposure) + " of the upper"}
		}
	} else if name == "" {
		return nil
	}
	rule := nameRule(name)
	switch {
	case name == "":
		rule = "must name a column"
	case rule == "" && name == t.Column:
		rule = "is the target"
	}
	if rule != "" {
		return &fieldError{field, strconv.Quote(name), rule}
	}
	return nil
}

// leastExposure keeps what a record of little exposure may do within bounds.
const leastExposure = 1e-6

func (t Target) validate(missing []string) error {
	if rule := nameRule(t.Column); t.Column == "" {
		return &fieldError{"target.column", "", "must name the column to be predicted"}
	} else if rule != "" {
		return &fieldError{"target.column", strconv.Quote(t.Column), rule}
	}
	if err := t.validateBeside(); err != nil {
		return err
	}
	switch t.Kind {
	case Number:
		return validateBounds("target.number", t.Low, t.High)
	case Category:
		if len(t.Classes) < 2 {
			return &fieldError{"target.classes", fmt.Sprintf("%d values", len(t.Classes)), classesRule}
		}
		listed := make(map[string]bool, len(t.Classes))
		for i, c := range t.Classes {
			rule := valueRule(c, missing)
			if rule == "" && listed[c] {
				rule = "is listed twice"
			}
			listed[c] = true
			if rule == "" && strings.ContainsFunc(c, unseen) {
				rule = "must not hold control or invisible characters: predictions are written with it"
			}
			if rule != "" {
				return &fieldError{itemField("target.classes", i), strconv.Quote(c), rule}
			}
		}
		return nil
	}
	return &fieldError{"target", "", "needs classes (of two the negative first) or number (two bounds)"}
}

const classesRule = "must list at least two, of two the negative class first"

// codes maps the cell of a class to the number that a loss takes for it.
func (t Target) codes() map[string]float64 {
	if len(t.Classes) == 2 {
		return map[string]float64{t.Classes[0]: -1, t.Classes[1]: 1}
	}
	codes := make(map[string]float64, len(t.Classes))
	for i, c := range t.Classes {
		codes[c] = float64(i)
	}
	return codes
}

func (t Target) clone() Target {
	t.Classes = slices.Clone(t.Classes)
	return t
}

// unseen reports a character that does not show, but for the joiners and
// non-joiners of Persian and Indic words.
func unseen(r rune) bool { return !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' }

// half and mid map [-1, 1] to [Low, High] without overflow.
func (t Target) half() float64 { return t.High/2 - t.Low/2 }
func (t Target) mid() float64  { return t.Low/2 + t.High/2 }
