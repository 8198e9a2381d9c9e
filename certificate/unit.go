package certificate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// Unit says whose rows made up one record: all those with one value in a column, of
// which at most so many were used. Under Mean each unit counted alike, and under Sum
// each row. The zero Unit is a row: each was a record.
type Unit struct {
	Column string   `json:"column"`
	Rows   int      `json:"rows"`
	Count  Counting `json:"count"`
}

// Counting is how rows of a unit counted together.
type Counting = account.Counting

// Mean weighs each of m rows by 1/m, Sum by one over the most there may be.
const (
	Mean = account.Mean
	Sum  = account.Sum
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
func (u Unit) Neighbour(f Filter, r account.Relation) string {
	if u == (Unit{}) {
		return f.Neighbour(r)
	}
	with := ""
	if f != (Filter{}) {
		with = " with " + f.String()
	}
	if r == account.AddOrRemove {
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

// check demands what package dataset takes.
func (u *Unit) check() error {
	switch {
	case u == nil:
		return nil
	case u.Column == "" || u.Column != strings.TrimSpace(u.Column) || !utf8.ValidString(u.Column):
		return unsound("unit.column", strconv.Quote(u.Column), "must be a text without white space around it")
	case u.Rows < 1:
		return unsound("unit.rows", u.Rows, "must be >= 1")
	case u.Count != Mean && u.Count != Sum:
		return unsound("unit.count", strconv.Quote(string(u.Count)), "must be %q or %q", Mean, Sum)
	}
	return nil
}

// privacyUnit is what a certificate calls it.
func (u *Unit) privacyUnit() string {
	if u == nil {
		return PrivacyUnit
	}
	return UnitOfRows
}
