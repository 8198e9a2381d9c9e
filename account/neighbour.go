package account

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// String is the column's name on one line, or "" for the zero Unit.
func (u Unit) String() string { return printable.Text(u.Column) }

// Record says what one record was.
func (u Unit) Record() string {
	if u == (Unit{}) {
		return "one row"
	}
	return "all rows of one " + u.String()
}

// Protected says what of a person is protected.
func (u Unit) Protected() string {
	if u == (Unit{}) {
		return "one row a person"
	}
	return u.Record() + " together"
}

// Neighbour says what a neighbouring table is.
func (u Unit) Neighbour(f Filter, r Relation) string {
	if u == (Unit{}) {
		return f.Neighbour(r)
	}
	with := ""
	if f != (Filter{}) {
		with = " with " + f.String()
	}
	if r == AddOrRemove {
		return fmt.Sprintf("a table with %s%s, however many, more or less", u.Record(), with)
	}
	if with != "" {
		with = ", all with " + f.String()
	}
	return fmt.Sprintf("a table with %s, however many, replaced by any rows of one other, however many%s", u.Record(), with)
}

// Note says what Neighbour leaves out; "" where each row was a record.
func (u Unit) Note() string {
	if u == (Unit{}) {
		return ""
	}
	counted := "each unit counted alike"
	if u.Count == Sum {
		counted = "each row counted alike"
	}
	return fmt.Sprintf("at most %d rows of each were used, and %s; rows whose %s cannot be read were not used", u.Rows, counted, u)
}

// String returns column = value on one line, or "" for the zero Filter.
func (f Filter) String() string {
	if f == (Filter{}) {
		return ""
	}
	return printable.Text(f.Column) + " = " + printable.Text(f.Value)
}

// Neighbour says what a neighbouring table is.
func (f Filter) Neighbour(r Relation) string {
	switch {
	case r == AddOrRemove && f == (Filter{}):
		return "a table with one row more or less"
	case r == AddOrRemove:
		return "a table with one row with " + f.String() + " more or less"
	case f == (Filter{}):
		return "a table with one row replaced by any other"
	}
	return "a table with one row replaced by any other, both with " + f.String()
}

// Note says what Neighbour leaves out; "" without a filter.
func (f Filter) Note() string {
	if f == (Filter{}) {
		return ""
	}
	return "public for every row; other rows were not used; a malformed row, whose " + printable.Text(f.Column) + " cannot be read, counts as having it"
}
