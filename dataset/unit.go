package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/carry"
)

// Unit is whose rows make up one record: the unit of privacy. All rows with the same cell
// in a column, such as the number of a person, are one record, of which at most so many
// rows are used. The zero Unit is a row: each is a record.
//
// Cells are compared as text, trimmed: 7 and 7.0 are two units. A row whose cell is
// missing, and a malformed one, of which it cannot be told, belong to nobody: they are no
// record and part of none. So nobody has a second record by leaving the cell out, and the
// number of records is that of the cells there are, whatever other rows hold.
//
// Neighbouring tables differ in all rows of one unit, in both of them at least one that
// passes the filter: what cells they hold, and how many they are. Their numbers of
// records agree, and of no other unit does anything change.
type Unit struct {
	Column string
	Rows   int // the most rows of a unit that are used; public
}

// Unit returns whose rows make up one record; the zero Unit if each row is one.
func (s *Schema) Unit() Unit { return s.unit }

// validateUnit checks the column of a unit, and how many rows it may have.
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
	if u.Rows < 1 || u.Rows > carry.MostRows {
		return &fieldError{"unit.rows", strconv.Itoa(u.Rows), fmt.Sprintf("must be the public number of rows of a unit that are used at most, between 1 and %d", carry.MostRows)}
	}
	return nil
}

// Unit returns whose row it is: the trimmed cell of the unit's column. ok is false for a
// row that is nobody's: a malformed one, one whose cell is missing, and any if the schema
// has no unit.
func (m *Map) Unit(cells []string) (unit string, ok bool) {
	if m.unit < 0 || len(cells) != m.cells {
		return "", false
	}
	cell := strings.TrimSpace(cells[m.unit])
	return cell, cell != "" && !slices.Contains(m.schema.missing, cell)
}
