package account

import "fmt"

// Records describes the records that a ledger charges, by public facts. The session that holds the
// records sets these facts when it opens the records. A later reader of the ledger then need not
// trust a separate statement about them. The zero Records is for a ledger without records.
type Records struct {
	// Count is the number of records. Under replace-one it is the true number, which is public. Under
	// add-or-remove it is the declared number.
	Count int64
	// Unit describes which rows make up one record. It is the zero Unit if each row is a record.
	Unit Unit
	// Filter describes which rows are records. It is the zero Filter if all rows are.
	Filter Filter
	// Simulated is true if the noise does not come from secret random bits. Such records are
	// generated or public and are not protected.
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
// column must be declared public before the table is read. A malformed row, whose cell cannot be
// read, counts as a record (package dataset says why). With the zero Filter every row is a record.
type Filter struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}

// MaxRecords is the largest number of records. Up to this number, programs that read it as a
// float64 have it exactly.
const MaxRecords = 1 << 53

// check returns an error for records that cannot exist. It does not check column names and values:
// their readers and writers do.
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
// a row of the dataset's hash chain and was made before the run's first release. Head is the hash
// of this row. If the store's row with this number has another hash, the store was set back to an
// earlier copy.
type Reservation struct {
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	Row     int    `json:"row"`
	Head    string `json:"head"`
}
