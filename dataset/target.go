package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// Target describes the column to be predicted.
type Target struct {
	Column    string
	Kind      ColumnKind // Number for regression, Category for classes, Ignore for a schema without a target
	Classes   []string   // Category: the cells of the classes; two are -1 and +1, more are 0, 1, 2, ...
	Low, High float64    // Number: public bounds, in the target's units

	// Weight names the column of a record's weight in the objective, from 0 to 1. If Weight is empty, each
	// record has weight 1.
	Weight string
	// Share is the base rate as far as it is public knowledge; nil if nothing is stated. It is the share of the
	// second of two classes, the share of each of more classes, or the mean of a number, such as the mean count of
	// a record, in the target's units. It changes no fit: plans state their outlook for it.
	Share []float64
	// Exposure describes the exposure of a count, such as years observed. With the zero Exposure
	// all counts have the same exposure.
	Exposure Exposure
	// Offset says that the cells and the bounds of Exposure are natural logarithms of exposures: an offset on the scale
	// of the score, of which the coefficient is 1.
	Offset bool

	// Event names the column that says whether the event occurred at the time in Column (1, or true) or the record was
	// only observed until then (0, or false). With the form column=value it has occurred where the cell is the value.
	// The target is then the time to an event: Kind is Number, Low is 0, and High is the end of the time that is
	// modelled, after which records count as observed without an event. If Event is empty, the target is no time.
	Event string
	// Entry names the column of the time at which a record came under observation; empty: all records at time 0.
	Entry string
	// Cuts are the ends of the intervals in each of which the baseline hazard is constant, in the units of Column. The
	// last is High. New fills in 8 equal intervals where there are none.
	Cuts []float64
	// Grouped says that the time of an event is known by its interval alone, as in tables with a time in whole years. It
	// names the link of the model of discrete time: "cloglog", complementary log-log hazards, or "logit", logit hazards,
	// whose coefficients are log odds ratios. If it is empty, times are known exactly.
	Grouped string
	// Changing names a column of categories whose hazard ratios change between intervals: each listed level has a baseline
	// hazard of its own. Other cells have that of the first level.
	Changing string
	// Hazards are the integrals of the baseline hazard over the intervals, whose sum is 1, once a fit has released
	// them; nil: the baseline hazard is constant. With Changing those of the first level come first, then those of the
	// next. HazardErrors are the standard errors of their logarithms, of sampling and noise, if they are known.
	Hazards, HazardErrors []float64
}

// Exposure describes the column of exposures: the extent, such as years, over which events were
// counted.
type Exposure struct {
	Column    string
	Low, High float64 // public bounds, in the column's units; 0 < Low < High
}

// defaultIntervals is the number of intervals of the baseline hazard where a target lists no cuts.
const defaultIntervals = 8

// timed reports whether the target is the time to an event.
func (t Target) timed() bool { return t.Event != "" }

// eventColumn returns the name of the column of events, and the value of the cell of an event; value is empty where
// cells are 0 and 1.
func (t Target) eventColumn() (name, value string) {
	name, value, _ = strings.Cut(t.Event, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// times returns the columns of a time to an event beside the time itself: that of events and, if there is one, that of
// entries.
func (t Target) times() (names []string) {
	if !t.timed() {
		return nil
	}
	name, _ := t.eventColumn()
	names = []string{name}
	if t.Entry != "" {
		names = append(names, t.Entry)
	}
	return names
}

// validateTimes validates a time to an event.
func (t Target) validateTimes() error {
	if !t.timed() {
		if t.Entry != "" || len(t.Cuts) > 0 || len(t.Hazards) > 0 || t.Changing != "" || t.Grouped != "" {
			return &fieldError{"target", "", "entry, cuts, grouped and changing are for the time to an event: must be given with time and event"}
		}
		return nil
	}
	if name := t.beside(); name != "" || t.Exposure != (Exposure{}) {
		field := "target.weight"
		if t.Weight == "" {
			field = t.exposed()
		}
		return &fieldError{field, strconv.Quote(name), "must be left out: the time to an event has no weight, exposure or offset"}
	}
	if t.Kind != Number || t.Low != 0 {
		return &fieldError{"target.number", showBounds(t.Low, t.High),
			"the time to an event begins at 0, and has no classes"}
	}
	if name, value := t.eventColumn(); value == "" && name != strings.TrimSpace(t.Event) {
		return &fieldError{"target.event", strconv.Quote(t.Event), "must have the value of an event behind =, or no ="}
	}
	for i, name := range t.times() {
		rule := nameRule(name)
		switch {
		case name == "":
			rule = "must name a column"
		case rule == "" && (name == t.Column || i > 0 && name == t.times()[0]):
			rule = "is another column of the target"
		}
		if rule != "" {
			return &fieldError{[]string{"target.event", "target.entry"}[i], strconv.Quote(name), rule}
		}
	}
	if t.Grouped != "" && t.Grouped != cloglog && t.Grouped != logit {
		return &fieldError{"target.grouped", strconv.Quote(t.Grouped), groupedRule}
	}
	if t.Grouped == logit && t.Changing != "" {
		return &fieldError{"target.changing", strconv.Quote(t.Changing), "must be left out with grouped = logit: only hazard ratios can change"}
	}
	before := 0.
	for i, c := range t.Cuts {
		if !(c > before) || c > t.High || i == len(t.Cuts)-1 && c != t.High {
			return &fieldError{itemField("target.cuts", i), showFloat(c), "must rise from above 0 to the end of the time, " +
				showFloat(t.High)}
		}
		before = c
	}
	sum := 0.
	for _, h := range t.Hazards {
		if sum += h; !(h >= 0) {
			return &fieldError{"target.hazards", showFloat(h), "must be at least 0"}
		}
	}
	if len(t.Cuts) > mostIntervals || len(t.Hazards) > 0 && math.Abs(sum-1) > 1e-6 {
		return &fieldError{"target.cuts", fmt.Sprintf("%d", len(t.Cuts)), fmt.Sprintf("must be at most %d, with a hazard "+
			"each, whose sum is 1, if hazards are given", mostIntervals)}
	}
	return nil
}

// validateHazards validates the column whose hazard ratios change, and the number of hazards.
func (s *Schema) validateHazards() error {
	t, levels := s.target, 1
	if t.Changing != "" {
		c, _ := s.column(t.Changing)
		if levels = len(c.Categories); c.Kind != Category || levels < 2 || len(t.Cuts) < 2 || levels*len(t.Cuts) > mostIntervals {
			return &fieldError{"target.changing", strconv.Quote(t.Changing), fmt.Sprintf("must be a column of at least two "+
				"categories, with at least two intervals, and at most %d levels and intervals multiplied", mostIntervals)}
		}
	}
	stated := len(t.HazardErrors)
	if n := len(t.Hazards); n > 0 && n != levels*len(t.Cuts) || stated > 0 && stated != n {
		return &fieldError{"target.hazards", strconv.Itoa(n), "must be one for each interval and level, with an error each or none"}
	}
	return nil
}

const mostIntervals = 64

// Links of times that are known by interval, as Target.Grouped names them.
const cloglog, logit = "cloglog", targetpair.Logit

const groupedRule = "must be true (complementary log-log), logit or false"

// beside returns the name of the column of weights or exposures, or "" if the target has neither.
func (t Target) beside() string {
	if t.Weight != "" {
		return t.Weight
	}
	return t.Exposure.Column
}

// fraction returns a weight or an exposure x as a fraction: a weight clamped to [0, 1], or an exposure
// clamped to its bounds and divided by the largest exposure. NaN stays NaN.
func (t Target) fraction(x float64) float64 {
	if t.Weight != "" {
		return min(max(x, 0), 1)
	}
	x = min(max(x, t.Exposure.Low), t.Exposure.High)
	if t.Offset {
		return repromath.Exp(x - t.Exposure.High)
	}
	return x / t.Exposure.High
}

// Least returns the least exposure as a fraction of the largest exposure. It returns 0 for a target without
// an exposure.
func (t Target) Least() float64 {
	switch {
	case t.timed():
		return targetpair.Least
	case t.Exposure == (Exposure{}):
		return 0
	}
	return t.fraction(t.Exposure.Low)
}

// Rate returns the count per unit of exposure that a loss for counts treats as a rate of 1. It is the
// largest count divided by the largest exposure. Without exposures it is the largest count. For the time to an event it
// is 1 event from time 0 to High.
func (t Target) Rate() float64 {
	switch {
	case t.timed():
		return 1
	case t.Exposure == (Exposure{}):
		return t.High
	case t.Offset:
		return t.High / repromath.Exp(t.Exposure.High)
	}
	return t.High / t.Exposure.High
}

// exposed returns the field of an exposure or of its logarithm, an offset.
func (t Target) exposed() string {
	if t.Offset {
		return "target.offset"
	}
	return "target.exposure"
}

// validateBeside validates the column of a weight or an exposure.
func (t Target) validateBeside() error {
	field, name := "target.weight", t.Weight
	if t.Exposure != (Exposure{}) {
		if t.Weight != "" {
			return &fieldError{"target.weight", strconv.Quote(t.Weight), "must not be given beside an exposure"}
		}
		rule := "the lower bound must be above 0, and at least " + showFloat(leastExposure) + " of the upper"
		if field, name = t.exposed(), t.Exposure.Column; t.Offset {
			rule = "the bounds must be at most 13.8 apart, a factor of a million"
		}
		if t.Kind != Number {
			return &fieldError{field, strconv.Quote(name), "only a number, a count, has an exposure or an offset"}
		}
		if err := validateBounds(field+".number", t.Exposure.Low, t.Exposure.High); err != nil {
			return err
		}
		if most := t.Rate(); !(t.Least() >= leastExposure) || !(most > 0) || math.IsInf(most, 0) {
			return &fieldError{field + ".number", showFloat(t.Exposure.Low), rule}
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

// validateShare validates the stated base rate.
func (t Target) validateShare() error {
	const field = "target.share"
	if len(t.Share) == 0 {
		return nil
	}
	want, low, high, sum := 1, 0., 1., 0.
	switch {
	case t.timed(): // the share of records with an event
	case t.Kind == Number:
		low, high = t.Low, t.High
	case len(t.Classes) > 2:
		want = len(t.Classes)
	}
	if len(t.Share) != want {
		rule := "must be one number: the mean of the target, or the share of the second class"
		if want > 1 {
			rule = fmt.Sprintf("must list the shares of all %d classes", want)
		}
		return &fieldError{field, fmt.Sprintf("%d numbers", len(t.Share)), rule}
	}
	for _, v := range t.Share {
		sum += v
		if !(v > low && v < high) {
			return &fieldError{field, showFloat(v), "must be above " + showFloat(low) + " and below " + showFloat(high)}
		}
	}
	if want > 1 && math.Abs(sum-1) > .01 {
		return &fieldError{field, showFloat(sum), "the shares of all classes must have the sum 1"}
	}
	return nil
}

// leastExposure is the least allowed value of Low/High of an exposure. It bounds the loss of a
// record with a small exposure.
const leastExposure = 1e-6

// none reports whether the schema has no target: its rows are described and not learned from.
func (t Target) none() bool { return t.Kind == Ignore && t.Column == "" }

func (t Target) validate(missing []string) error {
	if t.none() && t.beside() == "" && t.Share == nil && t.Classes == nil {
		return nil
	}
	if rule := nameRule(t.Column); t.Column == "" {
		return &fieldError{"target.column", "", "must name the column to be predicted"}
	} else if rule != "" {
		return &fieldError{"target.column", strconv.Quote(t.Column), rule}
	}
	if err := cmp.Or(t.validateBeside(), t.validateTimes()); err != nil {
		return err
	}
	switch t.Kind {
	case Number:
		return cmp.Or(validateBounds("target.number", t.Low, t.High), t.validateShare())
	case Category:
		if len(t.Classes) < 2 {
			return &fieldError{"target.classes", fmt.Sprintf("%d values", len(t.Classes)), classesRule}
		}
		err := validateTexts("target.classes", t.Classes, classesRule, func(c string) string {
			if rule := valueRule(c, missing); rule != "" || !strings.ContainsFunc(c, unseen) {
				return rule
			}
			return "must not hold control or invisible characters: predictions are written with it"
		})
		return cmp.Or(err, t.validateShare())
	}
	return &fieldError{"target", "", "needs classes (of two the negative first) or number (two bounds)"}
}

const classesRule = "must list at least two, of two the negative class first"

// codes maps the cell of a class to the number that losses use for the class, such as -1 and +1 for
// two classes.
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
	t.Classes, t.Share = slices.Clone(t.Classes), slices.Clone(t.Share)
	t.Cuts, t.Hazards, t.HazardErrors = slices.Clone(t.Cuts), slices.Clone(t.Hazards), slices.Clone(t.HazardErrors)
	return t
}

// unseen reports whether a character is a control or invisible character. It returns false for the joiner and
// the non-joiner of Persian and Indic words.
func unseen(r rune) bool { return !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' }

// half returns the half-width, and mid the midpoint, of the target's bounds [Low, High], computed without
// overflow. mid + half u maps u in [-1, 1] to [Low, High].
func (t Target) half() float64 { return t.High/2 - t.Low/2 }
func (t Target) mid() float64  { return t.Low/2 + t.High/2 }

// interval returns the bounds within which a target that is a number is read.
func (t Target) interval() interval { return newInterval(Column{Low: t.Low, High: t.High}) }

// fromUnit maps u in [-1, 1] to [Low, High] by a linear function.
func (t Target) fromUnit(u float64) float64 { return float64(u*t.half()) + t.mid() }
