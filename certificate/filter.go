package certificate

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// Filter says which rows of the table were its records: those whose cell in a
// column, declared public beforehand, was the value; a malformed row, whose cell
// cannot be told, counts as one of them (see package dataset). The zero Filter
// is none: every row was a record.
type Filter struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}

// String returns column = value on one line, or "" for the zero Filter.
func (f Filter) String() string {
	if f == (Filter{}) {
		return ""
	}
	return printable.Text(f.Column) + " = " + printable.Text(f.Value)
}

// Neighbour says what a neighbouring table is.
func (f Filter) Neighbour(r account.Relation) string {
	switch {
	case r == account.AddOrRemove && f == (Filter{}):
		return "a table with one row more or less"
	case r == account.AddOrRemove:
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

// check demands a name and a value as package dataset takes them.
func (f *Filter) check() error {
	if f == nil {
		return nil
	}
	for _, part := range []struct{ field, text string }{{"filter.column", f.Column}, {"filter.value", f.Value}} {
		if part.text == "" || part.text != strings.TrimSpace(part.text) || !utf8.ValidString(part.text) {
			return unsound(part.field, strconv.Quote(part.text), "must be a text without white space around it")
		}
	}
	return nil
}
