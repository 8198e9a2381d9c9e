package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
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
// The filter does not hide whether a row with another value has a wrong number of cells. No rule can hide this in
// addition: the number of records would have to stay the same when a row with a wrong number of cells replaces a row
// with Value and when it replaces a row without Value. It could then not depend on the filter at all.
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

// Unit is the privacy unit: it says which rows make up one record. All rows with the same cell in Column, such as a
// person's number, are one record. At most Rows of them are used. With the zero Unit each row is a record.
//
// Cells are compared as trimmed text: 7 and 7.0 are two units. A row whose cell is missing belongs to no unit and to no
// record. The same holds for a row with a wrong number of cells, because its cell cannot be identified. Nobody
// therefore gets a second record by omitting the cell. The number of records is the number of distinct cells in Column
// among the rows that pass the filter. It does not depend on the cells of other columns.
//
// Neighbouring tables may differ in all rows of one unit: in the number of these rows and in their cells. In
// each of the two tables the unit has at least one row that passes the filter. The numbers of records are
// equal, and the rows of all other units are the same.
type Unit struct {
	Column string
	Rows   int // the largest number of a unit's rows that are used; public
}

// Unit returns the schema's privacy unit. It returns the zero Unit if each row is a record.
func (s *Schema) Unit() Unit { return s.unit }

// validateUnit validates the column of a unit and its number of rows.
func (s *Schema) validateUnit() error {
	u := s.unit
	if u == (Unit{}) {
		return nil
	}
	rule := nameRule(u.Column)
	_, listed := s.column(u.Column)
	switch {
	case u.Column == "":
		rule = "must name the column that says whose row it is"
	case rule != "":
	case listed:
		rule = "is also listed under columns; remove it there"
	case u.Column == s.target.Column:
		rule = "is the target"
	case u.Column == s.target.beside():
		rule = "is the column of a weight or an exposure"
	}
	if rule != "" {
		return &fieldError{"unit.column", strconv.Quote(u.Column), rule}
	}
	if u.Rows < 1 || u.Rows > targetpair.MostRows {
		return &fieldError{"unit.rows", strconv.Itoa(u.Rows),
			fmt.Sprintf("must be the public number of rows of a unit that are used at most, between 1 and %d", targetpair.MostRows)}
	}
	return nil
}

// Unit returns the trimmed cell that identifies the row's privacy unit. ok is false if the row
// belongs to no unit: the row has a wrong number of cells, the cell is missing, or the map has no unit.
func (m *Map) Unit(cells []string) (unit string, ok bool) {
	if m.unit < 0 || len(cells) != m.cells {
		return "", false
	}
	cell := strings.TrimSpace(cells[m.unit])
	return cell, cell != "" && !slices.Contains(m.schema.missing, cell)
}
