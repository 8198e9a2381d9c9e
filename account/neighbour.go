package account

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// String returns the name of the unit's column on one line, with control characters escaped. It is ""
// for the zero Unit, with which each row is a record.
func (u Unit) String() string { return safetext.Text(u.Column) }

// Record describes one record in words: "one row", or "all rows of one" followed by the name of the
// unit's column, such as a person's number.
func (u Unit) Record() string {
	if u == (Unit{}) {
		return "one row"
	}
	return "all rows of one " + u.String()
}

// Protects describes in words, for the people in the table, the facts that the guarantee hides. f
// is the row filter and r the neighbouring relation. Replace-one hides the content of a record.
// Add-or-remove hides whether a record is in the table. u says which rows make up a record.
func (u Unit) Protects(f Filter, r Relation) string {
	rows, are, say, person := "any one row", "is", "it says", " (a person is one row)"
	if u != (Unit{}) {
		rows, are, say, person = "all rows of any one "+u.String(), "are", "they say", ""
	}
	if f != (Filter{}) {
		rows += " with " + f.String()
	}
	if r == AddOrRemove {
		return fmt.Sprintf("whether %s %s in the table%s", rows, are, person)
	}
	return fmt.Sprintf("%s, whatever %s%s", rows, say, person)
}

// Neighbour describes in words how a neighbouring table differs from the table. f is the row filter
// and r the neighbouring relation. u says which rows make up a record.
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
	return fmt.Sprintf("a table with %s, however many, replaced by any rows of one other, however many%s", u.Record(),
		with)
}

// Note states in words three facts that Neighbour leaves out: the largest number of rows used of
// each unit, their weighting, and that rows without a readable unit were not used. It is "" if each
// row was a record.
func (u Unit) Note() string {
	if u == (Unit{}) {
		return ""
	}
	counted := "each unit counted alike"
	if u.Count == Sum {
		counted = "each row counted alike"
	}
	return fmt.Sprintf("at most %d rows of each were used, and %s; rows whose %s cannot be read were not used", u.Rows,
		counted, u)
}

// String returns the filter's column and value as "column = value" on one line, or "" for the zero
// Filter, which every row passes.
func (f Filter) String() string {
	if f == (Filter{}) {
		return ""
	}
	return safetext.Text(f.Column) + " = " + safetext.Text(f.Value)
}

// Neighbour describes in words how a neighbouring table differs from the table, if each row is a
// record. r is the neighbouring relation.
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

// Note states in words two facts that Neighbour leaves out: the filter's column is public, and rows
// in which the column cannot be read pass the filter. It is "" without a filter.
func (f Filter) Note() string {
	if f == (Filter{}) {
		return ""
	}
	return fmt.Sprintf("public for every row; rows whose %s cannot be read count as %s", safetext.Text(f.Column),
		safetext.Text(f.Value))
}

// Relation is a neighbouring relation: it decides which tables are neighbours. The zero Relation is
// invalid, so that a relation must be stated.
type Relation = mechanism.Relation

// The relations; see [mechanism.Relation].
const (
	ReplaceOne  = mechanism.ReplaceOne
	AddOrRemove = mechanism.AddOrRemove
)

// ParseRelation reads "replace-one" or "add-or-remove". Any other text is an error.
func ParseRelation(s string) (Relation, error) { return mechanism.ParseRelation(s) }
