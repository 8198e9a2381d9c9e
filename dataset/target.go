package dataset

import (
	"strconv"
	"strings"
	"unicode"
)

// Target describes the column to be predicted.
type Target struct {
	Column    string
	Kind      ColumnKind // Number (regression) or Category (two classes)
	Classes   [2]string  // Category: the cells that mean -1 and +1
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
		for i, c := range t.Classes {
			rule := valueRule(c, missing)
			if rule == "" && strings.ContainsFunc(c, unseen) {
				rule = "must not hold control or invisible characters: predictions are written with it"
			}
			if rule != "" {
				return &fieldError{itemField("target.classes", i), strconv.Quote(c), rule}
			}
		}
		if t.Classes[0] == t.Classes[1] {
			return &fieldError{itemField("target.classes", 1), strconv.Quote(t.Classes[1]), "is listed twice"}
		}
		return nil
	}
	return &fieldError{"target", "", "needs classes (two values, negative first) or number (two bounds)"}
}

// unseen reports a character that does not show, but for the joiners and
// non-joiners of Persian and Indic words.
func unseen(r rune) bool { return !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' }

// half and mid map [-1, 1] to [Low, High] without overflow.
func (t Target) half() float64 { return t.High/2 - t.Low/2 }
func (t Target) mid() float64  { return t.Low/2 + t.High/2 }
