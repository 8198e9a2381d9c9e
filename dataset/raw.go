package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// rawColumn, rawTarget, rawExposure, rawUnit and rawSchema are the common content of the YAML and
// JSON forms: each key as it was given, before the rules on combinations of keys are checked.
type rawColumn struct {
	Name      string    `json:"name"`
	Ignore    bool      `json:"ignore,omitempty"`
	Number    []float64 `json:"number,omitempty"`
	Transform string    `json:"transform,omitempty"`
	Category  []string  `json:"category,omitempty"`
	Public    []string  `json:"public,omitempty"`
	Hash      *int      `json:"hash,omitempty"`
	Date      []string  `json:"date,omitempty"`
	Layout    string    `json:"layout,omitempty"`
	Missing   string    `json:"missing,omitempty"`
	Curve     *rawCurve `json:"curve,omitempty"`
	Monotone  string    `json:"monotone,omitempty"`

	// Reference is the value of the category with which the other values are compared. A schema stores it
	// as the first of the category's values, so that JSON needs no key for it.
	Reference string `json:"-"`

	File string `json:"-"` // name of the file with the category's values; see WithLists
}

type rawTarget struct {
	Column  string    `json:"column"`
	Classes []string  `json:"classes,omitempty"`
	Number  []float64 `json:"number,omitempty"`

	Weight   string       `json:"weight,omitempty"`
	Exposure *rawExposure `json:"exposure,omitempty"`
	Offset   *rawExposure `json:"offset,omitempty"`
	Share    []float64    `json:"share,omitempty"`

	Event   string    `json:"event,omitempty"` // of the time to an event; YAML then writes time for column
	Entry   string    `json:"entry,omitempty"`
	Cuts    []float64 `json:"cuts,omitempty"`
	Hazards []float64 `json:"hazards,omitempty"`
	Grouped link      `json:"grouped,omitempty"`
	timed   bool      // the YAML key was time

	Changing     string    `json:"changing,omitempty"`
	HazardErrors []float64 `json:"hazard_errors,omitempty"`
	// Ignore is true in the JSON of a schema without a target. YAML has no such key.
	Ignore bool `json:"ignore,omitempty"`
}

// link is the name of a link. In JSON, true is complementary log-log, which schemas stored before they named links.
type link string

func (l *link) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		*l = cloglog
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

type rawExposure struct {
	Column string    `json:"column"`
	Number []float64 `json:"number"`
}

type rawSchema struct {
	Columns []rawColumn `json:"columns"`
	Target  rawTarget   `json:"target"`
	Where   string      `json:"where,omitempty"`
	Missing []string    `json:"missing"`
	Norm    float64     `json:"norm,omitempty"`

	Interactions [][]string `json:"interactions,omitempty"`

	Effects *Effects `json:"effects,omitempty"`

	Unit *rawUnit `json:"unit,omitempty"`
}

type rawUnit struct {
	Column string `json:"column"`
	Rows   int    `json:"rows"`
}

func (r rawSchema) schema() (*Schema, error) {
	def := Definition{Where: r.Where, Missing: r.Missing, Norm: r.Norm}
	for _, c := range r.Columns {
		column, err := c.column()
		if err != nil {
			return nil, err
		}
		def.Columns = append(def.Columns, column)
	}
	for i, names := range r.Interactions {
		if len(names) != 2 {
			return nil, &fieldError{itemField("interactions", i), fmt.Sprintf("%d columns", len(names)), "must be two columns"}
		}
		def.Interactions = append(def.Interactions, Interaction{names[0], names[1]})
	}
	target, err := r.Target.target()
	if err != nil {
		return nil, err
	}
	def.Target = target
	if u := r.Unit; u != nil {
		if u.Column == "" {
			return nil, &fieldError{"unit.column", `""`, "must name the column that says whose row it is"}
		}
		def.Unit = Unit(*u)
	}
	s, err := New(def)
	if err == nil && r.Effects != nil {
		s, err = s.WithEffects(*r.Effects)
	}
	return s, err
}

func (r rawColumn) column() (Column, error) {
	field := columnField(r.Name)
	given := 0
	for _, set := range []bool{r.Ignore, r.Number != nil, r.Category != nil, r.Public != nil, r.Hash != nil,
		r.Date != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return Column{}, &fieldError{field, "", "needs exactly one of number, date, category, hash, public and ignore"}
	}
	c := Column{Name: r.Name, Kind: Ignore}
	switch {
	case r.Number != nil:
		c.Kind = Number
		low, high, err := pair(field+".number", r.Number)
		if err != nil {
			return Column{}, err
		}
		c.Low, c.High = low, high
	case r.Date != nil:
		if err := c.days(field+".date", r); err != nil {
			return Column{}, err
		}
	case r.Category != nil:
		var err error
		c.Kind = Category
		if c.Categories, err = referenceFirst(field+".reference", r.Category, r.Reference); err != nil {
			return Column{}, err
		}
	case r.Public != nil:
		c.Kind, c.Values = Public, r.Public
	case r.Hash != nil:
		c.Kind, c.Buckets = Hash, *r.Hash
	}
	switch {
	case r.Missing != "" && r.Missing != indicator:
		return Column{}, &fieldError{field + ".missing", strconv.Quote(r.Missing),
			"must be indicator or absent; cells that mean missing are listed in schema.missing"}
	case r.Reference != "" && c.Kind != Category:
		return Column{}, &fieldError{field + ".reference", strconv.Quote(r.Reference), "only a category has a reference"}
	case r.Layout != "" && c.Kind != Date:
		return Column{}, &fieldError{field + ".layout", strconv.Quote(r.Layout), "only a date has a layout"}
	}
	c.Indicator = r.Missing == indicator
	if err := c.setCurve(r.Curve); err != nil {
		return Column{}, err
	}
	var err error
	if c.Monotone, err = monotoneOf(field+".monotone", r.Monotone); err != nil {
		return Column{}, err
	}
	switch {
	case r.Transform == "":
	case c.Kind != Number:
		return Column{}, &fieldError{field + ".transform", strconv.Quote(r.Transform), "only a number has a transform"}
	case r.Transform != Log1p.String():
		return Column{}, &fieldError{field + ".transform", strconv.Quote(r.Transform), "must be log1p or absent"}
	default:
		c.Transform = Log1p
		if autobounds.Are(c.Low, c.High, false) {
			c.Low = 0 // number: auto
		}
	}
	return c, nil
}

// referenceFirst returns the values of a category with the value reference moved to the front. An empty
// reference leaves the order as it is. It is an error if a nonempty reference is not among the values.
func referenceFirst(field string, values []string, reference string) ([]string, error) {
	if reference == "" {
		return values, nil
	}
	at := slices.Index(values, reference)
	if at < 0 {
		return nil, &fieldError{field, strconv.Quote(reference), "must be one of the category's values"}
	}
	return slices.Concat([]string{reference}, values[:at], values[at+1:]), nil
}

// days makes c a date column: it sets the kind, the layout and the bounds, in days since 1970-01-01, from r.
// It returns an error unless r.Date has two ISO dates.
func (c *Column) days(field string, r rawColumn) error {
	c.Kind, c.Layout = Date, r.Layout
	if len(r.Date) != 2 {
		return &fieldError{field, fmt.Sprintf("%d values", len(r.Date)), "must list two, the first and the last public date"}
	}
	days, err := daysIn(field, r.Date)
	if err == nil {
		c.Low, c.High = days[0], days[1]
	}
	return err
}

// daysIn reads a list of dates of a schema.
func daysIn(field string, dates []string) (days []float64, err error) {
	for i, text := range dates {
		day, err := Day(text)
		if err != nil {
			return nil, &fieldError{itemField(field, i), strconv.Quote(text),
				"must be an ISO date, such as 2024-12-31, whatever the layout of cells"}
		}
		days = append(days, day)
	}
	return days, nil
}

func (r rawTarget) target() (Target, error) {
	t := Target{Column: r.Column, Weight: r.Weight, Share: r.Share,
		Event: r.Event, Entry: r.Entry, Cuts: r.Cuts, Hazards: r.Hazards, Grouped: string(r.Grouped), Changing: r.Changing, HazardErrors: r.HazardErrors}
	if r.Ignore {
		t.Kind = Ignore
	}
	if r.Column == "" {
		return t, nil // New returns the error
	}
	switch {
	case r.timed && r.Event == "":
		return t, &fieldError{"target.event", "", "must name the column that says whether the event occurred"}
	case r.Event != "" && r.Classes == nil && r.Number == nil && len(r.Cuts) > 0:
		r.Number = []float64{0, r.Cuts[len(r.Cuts)-1]}
	case r.Event != "" && r.Classes == nil && r.Number == nil:
		return t, &fieldError{"target.cuts", "", "must list the ends of the intervals, or number the bounds 0 and the end of the time"}
	}
	for key, e := range map[string]*rawExposure{"exposure": r.Exposure, "offset": r.Offset} {
		if e == nil {
			continue
		} else if r.Exposure != nil && r.Offset != nil {
			return t, &fieldError{"target.offset", "", "must not be given beside an exposure"}
		}
		low, high, err := pair("target."+key+".number", e.Number)
		if err != nil {
			return t, err
		}
		t.Exposure, t.Offset = Exposure{e.Column, low, high}, key == "offset"
	}
	if (r.Classes == nil) == (r.Number == nil) {
		return t, &fieldError{"target", "", "needs either classes (of two the negative first) or number (two bounds)"}
	}
	if r.Number != nil {
		t.Kind = Number
		low, high, err := pair("target.number", r.Number)
		t.Low, t.High = low, high
		return t, err
	}
	t.Kind, t.Classes = Category, r.Classes
	return t, nil
}

func pair(field string, bounds []float64) (low, high float64, err error) {
	if len(bounds) != 2 {
		return 0, 0, &fieldError{field, fmt.Sprintf("%d values", len(bounds)),
			"must list two, the lower and the upper public bound"}
	}
	return bounds[0], bounds[1], nil
}

// raw is the inverse of rawSchema.schema: it converts a schema to its written form.
func (s *Schema) raw() (rawSchema, error) {
	if err := s.usable(); err != nil {
		return rawSchema{}, err
	}
	r := rawSchema{Where: s.filter.String(), Missing: s.missing, Norm: s.norm, Columns: vector.Map(s.columns, Column.raw),
		Interactions: vector.Map(s.interactions, func(pair Interaction) []string { return pair[:] })}
	if u := rawUnit(s.unit); u != (rawUnit{}) {
		r.Unit = &u
	}
	r.Target = s.target.raw()
	if e, ok := s.Effects(); ok {
		r.Effects = &e
	}
	return r, nil
}

func (c Column) raw() rawColumn {
	r := rawColumn{Name: c.Name}
	switch c.Kind {
	case Number:
		r.Number = []float64{c.Low, c.High}
		if c.Transform != identity {
			r.Transform = c.Transform.String()
		}
	case Category:
		r.Category = c.Categories
	case Public:
		r.Public = c.Values
	case Hash:
		r.Hash = &c.Buckets
	case Date:
		r.Date, r.Layout = []string{ShowDay(c.Low), ShowDay(c.High)}, c.Layout
	default:
		r.Ignore = true
	}
	if c.Indicator {
		r.Missing = indicator
	}
	r.Curve = c.rawCurve()
	if c.Monotone != 0 {
		r.Monotone = c.Monotone.String()
	}
	return r
}

func (t Target) raw() rawTarget {
	r := rawTarget{Column: t.Column, Weight: t.Weight, Share: t.Share,
		Event: t.Event, Entry: t.Entry, Cuts: t.Cuts, Hazards: t.Hazards, Grouped: link(t.Grouped), Changing: t.Changing, HazardErrors: t.HazardErrors}
	if e := t.Exposure; e != (Exposure{}) {
		of := &rawExposure{e.Column, []float64{e.Low, e.High}}
		if t.Offset {
			r.Offset = of
		} else {
			r.Exposure = of
		}
	}
	switch {
	case t.none():
		r.Ignore = true
	case t.Kind == Number:
		r.Number = []float64{t.Low, t.High}
	default:
		r.Classes = t.Classes
	}
	return r
}

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
	return &rawCurve{dates: vector.Map(c.Knots, ShowDay)}
}

// MarshalJSON returns the schema as a JSON object. The columns are an array, which preserves their order.
// Bounds are written with all their bits.
func (s *Schema) MarshalJSON() ([]byte, error) {
	raw, err := s.raw()
	if err != nil {
		return nil, err
	}
	return json.Marshal(raw)
}

// UnmarshalJSON reads the output of MarshalJSON and checks every rule of [New]. Unknown keys are
// errors. On error s is unchanged.
func (s *Schema) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var raw rawSchema
	if err := decoder.Decode(&raw); err != nil {
		return fmt.Errorf("dataset: schema: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("dataset: schema: more than one JSON value")
	}
	decoded, err := raw.schema()
	if err != nil {
		return err
	}
	*s = *decoded
	return nil
}
