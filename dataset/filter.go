package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
)

// Filter is a row filter: a row with the right number of cells is a record only if its cell in the public
// column Column equals Value. With the zero Filter every row is a record.
//
// Under replace-one the number of records is public, so whether a row passes must be public too.
// The filter's column is therefore a public column. A row passes if
//
//   - it has as many cells as the header, and the trimmed cell is Value. A row whose cell is
//     missing or outside the column's list passes no filter; or
//   - it has another number of cells than the header, so that its public cell cannot be
//     identified. A row with a wrong number of cells passes every filter.
//
// Neighbouring tables differ in one row, which passes in both tables. Their numbers of records are
// therefore equal by definition. Only the public cell of a row with the right number of cells affects
// whether the row passes. Because rows with a wrong number of cells pass, everybody whose row is used keeps
// a record: whatever the other cells of the row hold, the row remains a record.
//
// Neighbouring tables differ in rows after parsing. Package table decides where a row ends. A file
// with a quote that is never closed is therefore not a table with one row replaced, because the
// following rows become cells of the row with the quote.
//
// The filter does not hide whether a row with another value has a wrong number of cells. No rule can hide
// this in addition: the number of records would have to stay the same when a row with a wrong number of
// cells replaces a row with Value and when it replaces a row without Value. It could then not depend on the
// filter at all.
type Filter struct {
	Column, Value string
}

// String returns the filter as column=value, or "" for the zero Filter, which every row passes.
func (f Filter) String() string {
	if f == (Filter{}) {
		return ""
	}
	return f.Column + "=" + f.Value
}

// Where returns a copy of the schema with another row filter, such as "split=test". With "" every row
// passes. It returns an error unless the column is declared public and lists the value.
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

// parseFilter parses column=value. Since a name may contain "=", it cuts the text at every "=". Exactly one
// cut must give a public column and one of its values. If no cut does, the error is about the first cut.
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
	write := fmt.Sprintf("%s: {public: [%s, ...]}", yamltext.Text(name), yamltext.Text(value))
	switch c, listed := s.column(name); {
	case name == s.target.Column:
		return fail("is on the target: how many rows pass would be published; only a column that is known of every row to " +
			"everybody can filter, declared as NAME: {public: [all its values]}")
	case !listed:
		return fail("the column is not listed under columns; if it is known of every row to everybody, list it there with "+
			"all its values, as %s", write)
	case c.Kind != Public:
		return fail("is on a column declared %v, and how many rows pass would be published; only if it is known of every "+
			"row to everybody, declare it %s with all its values (it is then no feature)", c.Kind, write)
	default:
		return fail("the value is not among the column's public values %s", yamltext.Texts(c.Values))
	}
}
