package account

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Records describes the records that a ledger charges, by public facts. The session that holds the
// records sets these facts when it opens the records. A later reader of the ledger therefore needs
// no separate statement about the records. The zero Records is for a ledger without records.
type Records struct {
	// Count is the number of records. Under replace-one it is the true number, which is public. Under
	// add-or-remove it is the declared number.
	Count int64
	// Unit describes which rows make up one record. It is the zero Unit if each row is a record.
	Unit Unit
	// Filter describes which rows are records. It is the zero Filter if all rows are.
	Filter Filter
	// Simulated is true if the noise does not come from secret random bits. The records are then
	// generated or public, and are not protected.
	Simulated bool
}

// Unit describes which rows make up one record: all rows with the same value in Column. At most Rows of them are used.
// The field Count says how the rows are weighted. With the zero Unit each row is a record.
type Unit struct {
	Column string   `json:"column"`
	Rows   int      `json:"rows"`
	Count  Counting `json:"count"`
}

// Counting is the way in which the rows of a unit, which are one record, are weighted.
type Counting string

// Mean gives each of the m rows of a unit, which make up one record, the weight 1/m. Sum gives each
// row the weight 1/Rows, where Rows is the field of [Unit].
const (
	Mean Counting = "mean"
	Sum  Counting = "sum"
)

// Filter describes which rows of a table are records: the rows whose cell in Column is Value. The
// column must be declared public before the table is read. A row whose cell in Column cannot be
// read counts as a record (package dataset says why). With the zero Filter every row is a record.
type Filter struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}

// MaxRecords is the largest number of records. Programs that read numbers as float64 read every
// number up to MaxRecords exactly.
const MaxRecords = 1 << 53

// check returns an error unless the number of records is in [1, MaxRecords] and the unit is the
// zero Unit or has a column, at least one row and a known Count. It does not check the filter or
// the characters of column names: their readers and writers do.
func (r Records) check() error {
	u := r.Unit
	switch {
	case r.Count < 1 || r.Count > MaxRecords:
		return fmt.Errorf("account: records = %d: must be between 1 and 2^53", r.Count)
	case u == (Unit{}):
		return nil
	case u.Column == "":
		return fmt.Errorf("account: unit.column = %q: must name a column", u.Column)
	case u.Rows < 1:
		return fmt.Errorf("account: unit.rows = %d: must be >= 1", u.Rows)
	case u.Count != Mean && u.Count != Sum:
		return fmt.Errorf("account: unit.count = %q: must be %q or %q", u.Count, Mean, Sum)
	}
	return nil
}

// Reservation identifies the charge of a run in a store of budgets (package budget). The charge is a row of the
// dataset's hash chain and was made before the run's first release. Row is the number of this row and Head is its hash.
// If the store later has another hash at this row, or has no such row, the store was set back to an earlier copy.
type Reservation struct {
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	Row     int    `json:"row"`
	Head    string `json:"head"`
}

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

// Note states in words three facts that Neighbour leaves out: the largest number of rows used of each unit, their
// weighting, and that rows without a readable unit were not used. It is "" if each row was a record.
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
