package account

import "fmt"

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

// Unit describes which rows make up one record: all rows with the same value in Column. At most Rows
// of them are used. The field Count says how the rows are weighted. With the zero Unit each row is a
// record.
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

// Reservation identifies the charge of a run in a store of budgets (package budget). The charge is
// a row of the dataset's hash chain and was made before the run's first release. Row is the number
// of this row and Head is its hash. If the store later has another hash at this row, or has no such
// row, the store was set back to an earlier copy.
type Reservation struct {
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	Row     int    `json:"row"`
	Head    string `json:"head"`
}
