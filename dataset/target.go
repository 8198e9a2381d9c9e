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
}

func (t Target) validate(missing []string) error {
	if rule := nameRule(t.Column); t.Column == "" {
		return &fieldError{"target.column", "", "must name the column to be predicted"}
	} else if rule != "" {
		return &fieldError{"target.column", strconv.Quote(t.Column), rule}
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
