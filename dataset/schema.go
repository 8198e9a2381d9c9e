package dataset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// NormBound is an upper bound of the Euclidean norm of every row that [Map.Encode] writes.
const NormBound = 1 + 0x1p-23

// maxTerms is the largest allowed square of the norm of a row before it is divided by [Schema.Scale]. The
// proof of [NormBound] requires this bound.
const maxTerms = 1 << 20

// leastNorm is the smallest allowed value of the schema's norm. Every row is longer before it is
// divided, because the intercept is 1.
const leastNorm = .001

// intercept names the constant feature.
const intercept = "(intercept)"

// Definition holds the parts of a schema, for [New].
type Definition struct {
	Columns []Column // all columns except the target; their order is the order of the features
	Target  Target
	// Interactions cross two columns. Their features follow the features of the columns.
	Interactions []Interaction

	Where   string   // row filter column=value, on a public column; empty: every row is a record
	Missing []string // cells that mean missing; nil: only the empty cell
	// Norm, if not 0, is the divisor of rows in place of the largest norm that a row could have. Rows longer than Norm
	// are scaled down to this norm. Norm must be public knowledge. Few rows should be longer.
	Norm float64
	// Unit says which rows make up one record. With the zero Unit each row is a record.
	Unit Unit
}

// Schema is the public description of a table. It is immutable and safe for concurrent use. The
// zero Schema is unusable: Bind and the marshallers return an error for it. [New] and the methods
// UnmarshalYAML and UnmarshalJSON make a Schema. They check the same rules.
type Schema struct {
	columns []Column
	target  Target
	missing []string
	filter  Filter
	norm    float64
	unit    Unit

	interactions []Interaction

	// places maps the name of a column to its index in columns. first has the index of the first feature of each column,
	// and then of each interaction.
	places   map[string]int
	first    []int
	features []string
	hats     []Hats
	found    *effectFeatures // nil: no Effects
	unread   *rawSchema      // the schema as read, if lists of values are in unread files; see WithLists
	terms    int             // largest squared norm of a row before it is divided (Scale); 0 in the zero Schema
}

// New validates a definition and returns its schema. Names, categories, classes and missing markers must be
// distinct and free of surrounding white space. Bounds must be finite with low < high. A value of a category
// must not be empty, a missing marker, or "other", which is the feature of all values that are not listed.
// The target must not be among the columns. The filter's column must be declared public and list the
// filter's value. At least one column must be a feature.
func New(def Definition) (*Schema, error) {
	s := &Schema{
		columns: cloneColumns(def.Columns),
		target:  def.Target.clone(),
		missing: slices.Clone(def.Missing),
		norm:    def.Norm,
		unit:    def.Unit,

		interactions: slices.Clone(def.Interactions),
	}
	if def.Missing == nil {
		s.missing = []string{""}
	}
	if t := &s.target; t.timed() && len(t.Cuts) == 0 {
		t.Cuts = vector.Make(defaultIntervals, func(i int) float64 { return t.High * float64(i+1) / defaultIntervals })
	}
	s.normalise()
	if err := s.validate(); err != nil {
		return nil, err
	}
	return s.Where(def.Where)
}

func (s *Schema) validate() error {
	for i, m := range s.missing {
		if rule := valueRule(m, nil); rule != "" && m != "" {
			return &fieldError{itemField("missing", i), strconv.Quote(m), rule}
		}
		if slices.Contains(s.missing[:i], m) {
			return &fieldError{itemField("missing", i), strconv.Quote(m), "is listed twice"}
		}
	}
	if err := s.validateColumns(); err != nil {
		return err
	}
	if largest := math.Sqrt(float64(s.terms)); s.norm != 0 && !(s.norm >= leastNorm && s.norm <= largest) {
		return &fieldError{"norm", showFloat(s.norm), "must be between " + showFloat(leastNorm) + " and " +
			showFloat(largest) + ", the largest norm of a row, or be left out for that"}
	}
	if err := s.target.validate(s.missing); err != nil {
		return err
	}
	for _, use := range [...]struct{ field, column string }{
		{"target.column", s.target.Column}, {"target.weight", s.target.Weight}, {s.target.exposed(), s.target.Exposure.Column},
		{"target.event", strings.Join(s.target.times()[:min(1, len(s.target.times()))], "")}, {"target.entry", s.target.Entry},
	} {
		if _, listed := s.column(use.column); listed && use.column != "" {
			return &fieldError{use.field, strconv.Quote(use.column), "is also listed under columns; remove it there"}
		}
	}
	return cmp.Or(s.validateHazards(), s.validateUnit())
}

func (s *Schema) validateColumns() error {
	s.places = make(map[string]int, len(s.columns))
	features := make(map[string]bool)
	s.features, s.first, s.terms, s.hats = nil, nil, 1, nil
	for i, c := range s.columns {
		if _, twice := s.places[c.Name]; twice {
			return &fieldError{columnField(c.Name), "", "is listed twice"}
		}
		s.places[c.Name], s.first = i, append(s.first, len(s.features))
		if err := c.validate(s.missing); err != nil {
			return err
		}
		if c.Curve > 0 {
			at := len(s.features)
			s.hats = append(s.hats, Hats{at + 2, c.Curve, []Axis{c.axis(at, c.knots())}, -1, true})
			s.terms += 2
		}
		for _, f := range featureNames(c) {
			if features[f] || f == intercept {
				return &fieldError{columnField(c.Name), "", "makes a second feature named " + strconv.Quote(f)}
			}
			features[f] = true
			s.features = append(s.features, f)
		}
		if c.width() > 0 {
			s.terms++
		}
	}
	if err := cmp.Or(s.checkInteractions(features), s.checkMonotone()); err != nil {
		return err
	}
	if s.terms == 1 {
		return &fieldError{"columns", "", "must list at least one number, date, category or hash"}
	}
	if s.terms > maxTerms {
		return &fieldError{"columns", "", "must list fewer than " + strconv.Itoa(maxTerms) + " numbers, dates and categories"}
	}
	s.features = append(s.features, intercept)
	return nil
}

func featureNames(c Column) []string {
	switch c.Kind {
	case Number, Date:
		if c.Indicator {
			return append([]string{c.Name, c.Name + "=missing"}, c.knotNames(c.knots())...)
		}
		return []string{c.Name}
	case Category:
		return append(vector.Map(c.Categories, func(v string) string { return c.Name + "=" + v }), c.Name+"="+other)
	case Hash:
		return append(vector.Make(c.Buckets, func(b int) string { return c.Name + "#" + strconv.Itoa(b) }), c.Name+"="+other)
	}
	return nil
}

func (s *Schema) column(name string) (Column, bool) {
	i, listed := s.places[name]
	if !listed {
		return Column{}, false
	}
	return s.columns[i], true
}

// Dim returns the number of features, the intercept included.
func (s *Schema) Dim() int { return len(s.features) }

// Features returns the names of the features in order, such as age, workclass=Private,
// workclass=other, (intercept).
func (s *Schema) Features() []string { return slices.Clone(s.features) }

// Group is a range of features of which exactly one is not zero in a row: the features of a
// category, a hash or an interaction of categories.
type Group struct{ First, Width int }

// Groups returns the groups in the order of their features.
func (s *Schema) Groups() (groups []Group) {
	for i, c := range s.columns {
		if c.Kind == Category || c.Kind == Hash {
			groups = append(groups, Group{s.first[i], c.width()})
		}
	}
	for i, pair := range s.interactions {
		if x := s.crossed(pair); !x.numbers() {
			groups = append(groups, Group{s.pairAt(i), x.width()})
		}
	}
	return groups
}

// Filled returns an upper bound on the number of nonzero features of a row. The features of a category, a
// hash or an interaction of categories count as one feature.
func (s *Schema) Filled() int {
	n := s.Dim()
	for _, g := range s.Groups() {
		n -= g.Width - 1
	}
	return n
}

// Columns returns the columns in order, ignored columns included.
func (s *Schema) Columns() []Column { return cloneColumns(s.columns) }

// Target returns the target.
func (s *Schema) Target() Target { return s.target.clone() }

// Filter returns the row filter, or the zero Filter if there is none.
func (s *Schema) Filter() Filter { return s.filter }

// Interactions returns the pairs of columns that are crossed.
func (s *Schema) Interactions() []Interaction { return slices.Clone(s.interactions) }

// Missing returns the texts of cells that stand for a missing value.
func (s *Schema) Missing() []string { return slices.Clone(s.missing) }

// Norm returns the norm that the schema states, or 0 if it states none.
func (s *Schema) Norm() float64 { return s.norm }

// Scale returns S, the divisor of every row: the root of the largest squared norm that a row could have (see Norms in
// the package comment), or the schema's norm if it states one. With [Effects] S^2 is larger by their squared Weight.
func (s *Schema) Scale() float64 {
	scale := math.Sqrt(float64(s.terms))
	if s.norm > 0 {
		scale = s.norm
	}
	if s.found != nil {
		scale = math.Sqrt(float64(scale*scale) + float64(s.found.Weight*s.found.Weight))
	}
	return scale
}

// TargetFromUnit maps u in [-1, 1], the scale of [Map.Encode], back to the target's units. Values outside of [-1, 1]
// are mapped by the same linear function and not clamped. If the target has classes, it returns u.
func (s *Schema) TargetFromUnit(u float64) float64 {
	if s.target.Kind != Number {
		return u
	}
	return s.target.fromUnit(u)
}

// usable returns an error for the zero Schema, and for a schema whose lists of values must still be read from
// files ([Schema.WithLists]).
func (s *Schema) usable() error {
	switch {
	case s == nil || s.terms == 0 && s.unread == nil:
		return errZero
	case s.unread != nil:
		return errUnread
	}
	return nil
}

func cloneColumns(columns []Column) []Column {
	clone := slices.Clone(columns)
	for i := range clone {
		clone[i].Categories = slices.Clone(clone[i].Categories)
		clone[i].Values = slices.Clone(clone[i].Values)
		clone[i].Knots = slices.Clone(clone[i].Knots)
	}
	return clone
}
