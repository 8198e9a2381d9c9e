package account

import "fmt"

// Records describes the records that a ledger charges, by public facts. The session that holds the
// records sets them when it opens the records, so that a later reader of the ledger need not trust
// a separate statement about them. The zero Records is for a ledger without records.
type Records struct {
	// Count is the number of records: the public number under replace-one, the declared number
	// under add-or-remove.
	Count int64
	// Unit describes the rows that make up one record. It is the zero Unit if each row is a record.
	Unit Unit
	// Filter describes the rows that are records. It is the zero Filter if all rows are.
	Filter Filter
	// Simulated is true if the noise does not come from secret random bits. Such records are
	// generated or public and are not protected.
	Simulated bool
}

// Unit describes the rows that make up one record: all rows with the same value in Column, of which
// at most Rows are used. Count is their weight. With the zero Unit each row is a record.
type Unit struct {
	Column string   `json:"column"`
	Rows   int      `json:"rows"`
	Count  Counting `json:"count"`
}

// Counting is the weight of the rows of a unit.
type Counting string

// Mean gives each of the m rows of a unit the weight 1/m. Sum gives each the weight 1/Rows of
// [Unit].
const (
	Mean Counting = "mean"
	Sum  Counting = "sum"
)

// Filter describes the rows of a table that are records: the rows whose cell in Column, which is
// declared public beforehand, is Value. A malformed row, whose cell cannot be read, counts as one
// of them (package dataset). With the zero Filter every row is a record.
type Filter struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}

// MaxRecords is the largest number of records. It keeps the number exact for readers that hold it
// in a float64.
const MaxRecords = 1 << 53

// check returns an error for records that cannot exist. Column names and values are checked where
// they are read and written.
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

// Reservation identifies the row of a dataset's hash chain, in a store of budgets (package budget),
// in which a run was charged before its first release. If the hash of that row in the store is no
// longer Head, the store was set back to an earlier copy.
type Reservation struct {
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	Row     int    `json:"row"`
	Head    string `json:"head"`
}
