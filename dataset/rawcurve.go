package dataset

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// rawCurve is the value of the key curve in YAML and JSON: auto, a number of knots, or a list of knots. The
// listed knots are all numbers or all dates.
type rawCurve struct {
	knots int
	at    []float64
	dates []string
}

// MarshalJSON implements json.Marshaler.
func (c rawCurve) MarshalJSON() ([]byte, error) {
	switch {
	case c.dates != nil:
		return json.Marshal(c.dates)
	case c.at != nil:
		return json.Marshal(c.at)
	case c.knots < 0:
		return json.Marshal(showCurve(c.knots))
	}
	return json.Marshal(c.knots)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *rawCurve) UnmarshalJSON(text []byte) error {
	*c = rawCurve{}
	switch {
	case string(text) == strconv.Quote(auto):
		c.knots = CurveAuto
		return nil
	case string(text) == strconv.Quote(noCurve):
		c.knots = CurveNone
		return nil
	case json.Unmarshal(text, &c.knots) == nil && c.knots > 0:
		return nil
	}
	c.knots = 0
	if json.Unmarshal(text, &c.at) == nil && len(c.at) > 0 {
		return nil
	}
	c.at = nil
	if json.Unmarshal(text, &c.dates) == nil && len(c.dates) > 0 {
		return nil
	}
	return errors.New("curve: must be auto, none, a number of knots or the knots")
}

// yaml returns the curve in YAML form.
func (c rawCurve) yaml() string {
	switch {
	case c.dates != nil:
		return "[" + strings.Join(c.dates, ", ") + "]"
	case c.at != nil:
		return yamlNumbers(c.at)
	}
	return showCurve(c.knots)
}

// setCurve sets the column's Curve and Knots from r. It returns an error if the knots are dates for
// a number, numbers for a date, or invalid dates. A nil r leaves the column without a curve.
func (c *Column) setCurve(r *rawCurve) error {
	if r == nil {
		return nil
	}
	c.Curve, c.Knots = r.knots, r.at
	field := columnField(c.Name) + ".curve"
	switch {
	case r.dates != nil && c.Kind != Date:
		return &fieldError{field, strconv.Quote(r.dates[0]), "the knots of a number must be numbers"}
	case r.at != nil && c.Kind == Date:
		return &fieldError{field, showFloat(r.at[0]), "the knots of a date must be dates"}
	}
	days, err := daysIn(field, r.dates)
	if err != nil {
		return err
	}
	c.Knots = append(c.Knots, days...)
	if c.Knots != nil {
		c.Curve = len(c.Knots)
	}
	return nil
}

// rawCurve is the inverse of setCurve: it returns the column's curve in its written form. It returns nil
// for a column without a curve.
func (c Column) rawCurve() *rawCurve {
	switch {
	case c.Curve == 0:
		return nil
	case c.Knots == nil:
		return &rawCurve{knots: c.Curve}
	case c.Kind != Date:
		return &rawCurve{at: c.Knots}
	}
	r := new(rawCurve)
	for _, day := range c.Knots {
		r.dates = append(r.dates, ShowDay(day))
	}
	return r
}
