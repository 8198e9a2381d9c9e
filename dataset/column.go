package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// ColumnKind says how a column is read. The zero ColumnKind is invalid.
type ColumnKind uint8

const (
	Number   ColumnKind = iota + 1 // a number within public bounds
	Category                       // one of a public list of values; in a target, a class
	Ignore                         // a column that is not used
	Public                         // a column that everybody knows for every row; not a feature
	Hash                           // a value without a public list, hashed into a number of buckets
	Date                           // a day or a time within public bounds
)

func (k ColumnKind) String() string {
	return nameOf(k, "Kind", "", "number", "category", "ignore", "public", "hash", "date")
}

// nameOf returns the name of a value of an enumeration, by the names of its values from zero on.
func nameOf[T ~uint8](value T, kind string, names ...string) string {
	if int(value) < len(names) && names[value] != "" {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", kind, uint8(value))
}

// Transform is applied to a number and to its bounds. The zero Transform leaves them unchanged.
type Transform uint8

const (
	identity Transform = iota
	Log1p              // log(1+x); the lower bound must exceed -1
)

func (t Transform) String() string { return nameOf(t, "Transform", "identity", "log1p") }

// Column describes one column of a table that is not the target.
type Column struct {
	Name       string
	Kind       ColumnKind
	Low, High  float64   // Number: public bounds, in the column's units; Date: in days since 1970-01-01 ([Day])
	Transform  Transform // Number: is applied to the number and to its bounds
	Categories []string  // Category: the public list, without "other"
	Values     []string  // Public: the list of all values
	Buckets    int       // Hash: number of buckets
	Layout     string    // Date: layout of the cells, such as %d.%m.%Y; empty: ISO 8601
	Indicator  bool      // Number, Date: a feature is 1 if the cell is missing or unreadable; set for a curve
	Curve      int       // Number, Date: number of knots of a curve; 0: no curve; or CurveAuto, CurveNone
	Knots      []float64 // the curve's knots, from Low to High, in the column's units; nil: equally spaced
	Monotone   Monotone  // Number, Date: the direction in which the score may move as the number grows
}

// other names the feature of a category for missing cells and for values outside the list. A hash column has
// the feature other for missing cells only.
const other = "other"

// indicator is the value of the key missing: that adds an indicator feature for missing cells.
const indicator = "indicator"

// width returns the number of features of the column.
func (c Column) width() int {
	switch c.Kind {
	case Number, Date:
		if c.Indicator {
			return 2 + max(c.Curve, 0)
		}
		return 1
	case Category:
		return len(c.Categories) + 1
	case Hash:
		return c.Buckets + 1
	}
	return 0
}

func (c Column) validate(missing []string) error {
	field := columnField(c.Name)
	if rule := nameRule(c.Name); rule != "" && (c.Name != "" || c.Kind != Ignore) {
		return &fieldError{field, strconv.Quote(c.Name), rule}
	}
	if c.Indicator && c.Kind != Number && c.Kind != Date {
		return &fieldError{field + ".missing", indicator,
			"only a number or a date has an indicator; a missing category is other already"}
	}
	if err := c.validateCurve(); err != nil {
		return err
	}
	switch c.Kind {
	case Number:
		return c.validateNumber(field)
	case Date:
		return c.validateDate(field)
	case Category:
		return c.validateCategories(field+".category", missing)
	case Public:
		return validateTexts(field+".public", c.Values, "must list all public values of the column",
			func(v string) string { return valueRule(v, missing) })
	case Hash:
		return c.validateBuckets(field + ".hash")
	case Ignore:
		return nil
	}
	return &fieldError{field, c.Kind.String(), "must be number, date, category, hash, public or ignore"}
}

func (c Column) validateNumber(field string) error {
	if err := validateBounds(field+".number", c.Low, c.High); err != nil {
		return err
	}
	if c.Transform != identity && c.Transform != Log1p {
		return &fieldError{field + ".transform", c.Transform.String(), "must be log1p or absent"}
	}
	if c.Transform == Log1p && !(c.Low > -1) {
		return &fieldError{field + ".number", showBounds(c.Low, c.High), "transform log1p needs a lower bound above -1"}
	}
	if c.Transform == Log1p && !(repromath.Log1p(c.Low) < repromath.Log1p(c.High)) {
		return &fieldError{field + ".number", showBounds(c.Low, c.High), "the bounds coincide after log1p"}
	}
	return nil
}

func (c Column) validateCategories(field string, missing []string) error {
	return validateTexts(field, c.Categories, "must list at least one value", func(v string) string {
		if rule := valueRule(v, missing); rule != "" || v != other {
			return rule
		}
		return "is already the feature of values that are not listed; leave it out and its cells go there"
	})
}

// validateTexts returns an error if a list of values is empty, with the rule empty, if ruleOf states a rule that a value
// breaks, or if a value is listed twice.
func validateTexts(field string, values []string, empty string, ruleOf func(v string) string) error {
	if len(values) == 0 {
		return &fieldError{field, "[]", empty}
	}
	seen := make(map[string]bool, len(values))
	for i, v := range values {
		rule := ruleOf(v)
		if rule == "" && seen[v] {
			rule = "is listed twice"
		}
		if rule != "" {
			return &fieldError{itemField(field, i), strconv.Quote(v), rule}
		}
		seen[v] = true
	}
	return nil
}

func validateBounds(field string, low, high float64) error {
	rule := ""
	switch {
	case !vector.Finite(low) || !vector.Finite(high):
		rule = "both bounds must be finite"
	case !(low < high):
		rule = "the lower bound must be below the upper"
	case !vector.Finite(high - low):
		rule = "the bounds are too far apart for a float64"
	default:
		return nil
	}
	return &fieldError{field, showBounds(low, high), rule}
}

// valueRule returns the rule that v breaks as the text of a category's value or a class, or "" if it
// breaks none.
func valueRule(v string, missing []string) string {
	switch {
	case v == "":
		return "must not be empty"
	case !utf8.ValidString(v):
		return "must be UTF-8"
	case v != strings.TrimSpace(v):
		return "must not begin or end with white space (cells are trimmed)"
	}
	if slices.Contains(missing, v) {
		return "is listed under missing"
	}
	return ""
}

// nameRule returns the rule that a column's name breaks, or "" if it breaks none.
func nameRule(name string) string {
	switch {
	case name == "":
		return "a column without a name can only be ignored"
	case !utf8.ValidString(name):
		return "a column's name must be UTF-8"
	case name != strings.TrimSpace(name):
		return "a column's name must not begin or end with white space"
	}
	return ""
}

func showBounds(low, high float64) string { return "[" + showFloat(low) + ", " + showFloat(high) + "]" }

func showFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// fieldError is an error in a schema. field is a path such as columns.age.number. It is the same whether the
// schema comes from YAML, JSON or Go.
type fieldError struct {
	field string
	value string // the invalid value; empty if there is no value to show
	rule  string
}

func (e *fieldError) Error() string {
	field := safetext.Text(e.field) // a field may contain the name of a column
	if e.value == "" {
		return fmt.Sprintf("dataset: %s: %s", field, e.rule)
	}
	return fmt.Sprintf("dataset: %s = %s: %s", field, e.value, e.rule)
}

func columnField(name string) string { return "columns." + name }

func itemField(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
