package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Filter is a row filter: only rows whose cell in a public column is the value
// are records. The zero Filter takes every row for one.
//
// Under replace-one the number of records is public, and so a filter is safe
// only if whether a row passes it is: hence the public column. A row passes in
// one of two ways:
//
//   - it has as many cells as the header, and the trimmed cell is the value. A
//     cell outside the column's list, a missing one included, passes no filter:
//     the rows of one value are what is filtered, and that row has none;
//   - it is malformed, so that its public cell cannot be told from the others.
//     Such a row passes every filter.
//
// Neighbouring tables differ in one row that passes in both of them: their
// numbers of records agree by definition, and no other cell of a well-formed row
// has any part in it. That malformed rows pass keeps it so for everybody whose
// row is used: whatever their other cells are, the row stays a record. Rows are
// what is left after parsing: where a row ends is decided before (package table),
// and a file in which a cell opens a quote that it never closes is not a table
// with one row replaced, but one in which the rows after it are another row's
// cells. What is not hidden is whether a row of another value is
// malformed. No rule hides both: a number that neither a malformed row in the
// place of one with the value, nor one in the place of one without, may change
// does not depend on the filter at all.
type Filter struct {
	Column, Value string
}

// String returns column=value, or "" for the zero Filter.
func (f Filter) String() string {
	if f == (Filter{}) {
		return ""
	}
	return f.Column + "=" + f.Value
}

// Where returns a copy of the schema with another row filter, such as
// "split=test"; "" keeps every row. The column must be declared public and list
// the value.
func (s *Schema) Where(filter string) (*Schema, error) {
	t := *s
	t.filter = Filter{}
	if filter == "" {
		return &t, nil
	}
	found, err := s.parseFilter(filter)
	if err != nil {
		return nil, err
	}
	t.filter = found
	return &t, nil
}

// parseFilter reads column=value. A name may hold "=", so that every cut is
// tried: one of them must fit. The errors are those of the first.
func (s *Schema) parseFilter(filter string) (Filter, error) {
	fail := func(rule string, args ...any) (Filter, error) {
		return Filter{}, &fieldError{"where", strconv.Quote(filter), fmt.Sprintf(rule, args...)}
	}
	var fit []Filter
	for at := range len(filter) {
		if filter[at] != '=' {
			continue
		}
		f := Filter{strings.TrimSpace(filter[:at]), strings.TrimSpace(filter[at+1:])}
		if c, listed := s.column(f.Column); listed && c.Kind == Public && slices.Contains(c.Values, f.Value) {
			fit = append(fit, f)
		}
	}
	switch len(fit) {
	case 0:
	case 1:
		return fit[0], nil
	default:
		return fail("fits two columns whose names hold \"=\": rename one")
	}
	name, value, cut := strings.Cut(filter, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !cut || name == "" || value == "" {
		return fail("must be column=value")
	}
	write := fmt.Sprintf("%s: {public: [%s, ...]}", yamlText(name), yamlText(value))
	switch c, listed := s.column(name); {
	case name == s.target.Column:
		return fail("is on the target: how many rows pass would be published; only a column that is known of every row to everybody can filter, declared as NAME: {public: [all its values]}")
	case !listed:
		return fail("the column is not listed under columns; if it is known of every row to everybody, list it there with all its values, as %s", write)
	case c.Kind != Public:
		return fail("is on a column declared %v, and how many rows pass would be published; only if it is known of every row to everybody, declare it %s with all its values (it is then no feature)", c.Kind, write)
	default:
		return fail("the value is not among the column's public values %s", yamlTexts(c.Values))
	}
}
