package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/columnname"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Map is a schema bound to the columns of one table. It is immutable and safe for concurrent use.
// The zero Map treats every row as malformed.
type Map struct {
	schema  *Schema
	cells   int // number of columns of the table
	dim     int
	groups  int // number of groups of one-hot features (Schema.Groups)
	grouped int // number of features that are in groups or are hats (values of basis functions)
	hats    []Hats
	scale   float64         // the divisor of rows without features of effects
	found   *effectFeatures // nil: no effects
	inputs  []input
	leading []int // the cells of the first inputs up to one with other features than a number
	crosses []cross
	target  int         // index of the target's cell; -1: unlabelled
	beside  int         // index of the cell of the weight or exposure; -1: none, or unlabelled
	times   []int       // indices of the cells of the event and the entry of a time to an event
	changes int         // index of the cell of the column whose hazard ratios change; -1: none
	where   int         // index of the filter's cell; -1: no filter
	unit    int         // index of the cell that names the privacy unit; -1: none, or unlabelled
	columns []ColumnMap // the map of the cells of each column of the table
	reads   []bool      // by cell: whether the map reads it
	numbers []int       // the indices of the cells that the map reads as numbers
}

// input is a feature column, bound to a cell.
type input struct {
	cell int
	at   int // index of the column's first feature
	interval
	levels map[string]int // of a category: the index, within the column, of the feature of each value
	hashed Hashing        // of a hash column: the hash function
	other  int            // index of "other" within the column; 0 for a number or date, which has no "other"
	// indicated says that the feature after a number or date is 1 if the cell is missing or unreadable.
	indicated bool
	knots     int // number of hats of a curve; 0 for none
}

// level returns the index, within its column, of the feature of a trimmed cell. The column must be
// a category or a hash.
func (in *input) level(cell string, missing []string) int {
	if in.levels != nil {
		if level, listed := in.levels[cell]; listed {
			return level
		}
		return in.other
	}
	if cell == "" || slices.Contains(missing, cell) {
		return in.other
	}
	return in.hashed.bucket(cell, in.other)
}

// Bind finds the columns of the schema in a table's header. It returns an error unless the header names every column of
// the schema, its target, the target's weight or exposure and the unit's column, each once, and nothing else.
//
// Bind looks up the columns of the schema first. Only if it finds all of them may an error mention a column of the
// table. The error quotes the column's name only if the name looks like a name (package internal/columnname). A table
// without a header row, whose first row is a record, is therefore refused without quoting the record.
func (s *Schema) Bind(header []string) (*Map, error) { return s.bind(header, true) }

// BindUnlabelled finds the columns of the schema in the header of a table for prediction. The header must
// name the feature columns and, if the schema has a filter, the filter's column. Other columns, the target
// included, may be absent. They are not read. [Map.Encode] then returns target 0.
func (s *Schema) BindUnlabelled(header []string) (*Map, error) { return s.bind(header, false) }

func (s *Schema) bind(header []string, labelled bool) (*Map, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	at, err := s.resolve(header, labelled)
	if err != nil {
		return nil, err
	}
	m := &Map{schema: s, cells: len(header), dim: s.Dim(), scale: s.WithoutEffects().Scale(),
		found: s.found, target: -1, beside: -1, where: -1, unit: -1, changes: -1}
	if s.filter != (Filter{}) {
		m.where = at[s.filter.Column]
	}
	if labelled {
		if !s.target.none() {
			m.target = at[s.target.Column]
		}
		if name := s.target.beside(); name != "" {
			m.beside = at[name]
		}
		m.times = vector.Map(s.target.times(), func(name string) int { return at[name] })
		if s.unit.Column != "" {
			m.unit = at[s.unit.Column]
		}
	}
	if name := s.target.Changing; name != "" {
		m.changes = at[name]
	}
	m.bindCells(s, at, labelled)
	for _, g := range s.Groups() {
		m.groups++
		m.grouped += g.Width
	}
	m.hats = s.hats
	for _, h := range s.hats {
		m.grouped += h.Width
	}
	var names []string
	for i, c := range s.columns {
		in := input{cell: at[c.Name], at: s.first[i]}
		switch c.Kind {
		case Ignore, Public:
			continue
		case Number, Date:
			in.interval, in.indicated, in.knots = newInterval(c), c.Indicator, max(c.Curve, 0)
		case Category:
			in.levels = make(map[string]int, len(c.Categories))
			for i, v := range c.Categories {
				in.levels[v] = i
			}
			in.other = len(c.Categories)
		case Hash:
			in.hashed, in.other = c.Hashing(), c.Buckets
		}
		if in.other == 0 && !in.indicated && in.knots == 0 && len(m.leading) == len(m.inputs) {
			m.leading = append(m.leading, in.cell)
		}
		m.inputs, names = append(m.inputs, in), append(names, c.Name)
	}
	m.bindInteractions(names)
	m.bindColumns()
	return m, nil
}

// resolve returns the index in the header of each column, by trimmed name. It returns an error if a needed
// column is absent, if a name is repeated or, for a labelled table, if a column is not in the schema. For an
// unlabelled table only needed columns must not be repeated.
func (s *Schema) resolve(header []string, labelled bool) (map[string]int, error) {
	at := make(map[string]int, len(header))
	var repeated []int
	for i, name := range header {
		name = strings.TrimSpace(name)
		if _, found := at[name]; found {
			repeated = append(repeated, i)
		}
		at[name] = i
	}
	need := s.needed(labelled)
	needed := make(map[string]bool, len(need))
	for _, name := range need {
		needed[name] = true
	}
	for _, name := range need {
		if _, found := at[name]; !found {
			return nil, fmt.Errorf("dataset: column %q of the schema is not in the table's header (its first row)%s", name,
				meant(name, header))
		}
	}
	for _, i := range repeated {
		if labelled || needed[strings.TrimSpace(header[i])] {
			return nil, fmt.Errorf("dataset: %s appears twice in the table's header", place(header, i))
		}
	}
	if !labelled {
		return at, nil
	}
	for i, name := range header {
		name = strings.TrimSpace(name)
		if needed[name] { // needed: columns of the schema, its target and the weight or exposure
			continue
		}
		if name == "" {
			return nil,
				fmt.Errorf(`dataset: column %d of the table has no name: name it, or add it to the schema's columns as "": ignore`,
					i+1)
		}
		return nil,
			fmt.Errorf(`dataset: %s of the table is not in the schema: add it to columns, or mark it "NAME: ignore" there`,
				place(header, i))
	}
	return at, nil
}

// meant returns the question whether a name was meant that the header has and that differs from the given name in
// case, or in blanks, hyphens, points and underscores alone. It returns "" if there is none, or if the header may be a
// record.
func meant(name string, header []string) string {
	key := func(s string) string {
		return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", ".", "").Replace(s))
	}
	if key(name) == "" || !columnname.All(header) {
		return ""
	}
	for _, other := range header {
		if key(other) == key(name) {
			return fmt.Sprintf(": did you mean %q, which it has?", strings.TrimSpace(other))
		}
	}
	return ""
}

func (s *Schema) needed(labelled bool) []string {
	var need []string
	for _, c := range s.columns {
		if labelled || c.width() > 0 || s.filter != (Filter{}) && c.Name == s.filter.Column {
			need = append(need, c.Name)
		}
	}
	if labelled {
		if !s.target.none() {
			need = append(need, s.target.Column)
		}
		if name := s.target.beside(); name != "" {
			need = append(need, name)
		}
		need = append(need, s.target.times()...)
		if s.unit.Column != "" {
			need = append(need, s.unit.Column)
		}
	}
	return need
}

// base returns the number of features without those of effects.
func (m *Map) base() int {
	if m.found == nil {
		return m.dim
	}
	return m.dim - m.found.Features
}

// Dim returns the number of features that Encode writes.
func (m *Map) Dim() int { return m.dim }

// Keep reports whether a row is a record: the schema has no filter, or the trimmed cell of the filter's public column
// equals the filter's value, or the row has the wrong number of cells. [Filter] gives the reasons.
func (m *Map) Keep(cells []string) bool {
	if m.schema == nil || m.where < 0 || len(cells) != m.cells {
		return true
	}
	return m.columns[m.where].Text(cells[m.where]) == passes
}

// place returns the text that names column i of a header in messages: the column's name if it looks like a
// name (package internal/columnname), and otherwise the column's number, counted from 1.
func place(header []string, i int) string {
	if name := strings.TrimSpace(header[i]); columnname.Is(name) {
		return "column " + strconv.Quote(name)
	}
	return "column " + strconv.Itoa(i+1)
}
