package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// Unit is the privacy unit: it says which rows make up one record. All rows with the same cell in
// Column, such as a person's number, are one record. At most Rows of them are used. With the zero
// Unit each row is a record.
//
// Cells are compared as trimmed text: 7 and 7.0 are two units. A row whose cell is missing belongs
// to no unit and to no record. The same holds for a row with a wrong number of cells, because its cell
// cannot be identified. Nobody therefore gets a second record by omitting the cell. The number of records is
// the number of distinct cells in Column among the rows that pass the filter. It does not depend on the
// cells of other columns.
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
