package account

import "fmt"

// Records says which records a ledger charges, in facts that are public. They are fixed
// where the records are opened, by the session that holds them, so that nobody who reads
// the ledger later has to take another's word for them. The zero Records are none.
type Records struct {
	// Count is the number of records: the public one under replace-one, the declared one
	// under add-or-remove.
	Count int64
	// Unit says whose rows make up one record; the zero Unit if each row is one.
	Unit Unit
	// Filter says which rows are records; the zero Filter for all of them.
	Filter Filter
	// Simulated says that the noise does not come from secret coins. Such records are
	// generated or public, and are protected from nobody.
	Simulated bool
}

// Unit says whose rows make up one record: all those with one value in a column, of
// which at most so many are used. The zero Unit is a row.
type Unit struct {
	Column string   `json:"column"`
	Rows   int      `json:"rows"`
	Count  Counting `json:"count"`
}

// Counting is how rows of a unit count together.
type Counting string

// Mean weighs each of m rows by 1/m, Sum by one over the most there may be.
const (
	Mean Counting = "mean"
	Sum  Counting = "sum"
)

// Filter says which rows of a table are records: those whose cell in a column, declared public
// beforehand, is the value; a malformed row, whose cell cannot be told, counts as one of them
// (package dataset). The zero Filter is none: every row is one.
type Filter struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}

// MaxRecords keeps the number of records exact for readers that hold it in a float64.
const MaxRecords = 1 << 53

// check demands records that there can be. Names of columns and values are checked where
// they are written and read.
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

// Reservation is a row of a dataset's chain in a store of budgets, in which a run was
// charged before its first release (package budget). A store that does not have Head in
// that row any more was set back.
type Reservation struct {
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	Row     int    `json:"row"`
	Head    string `json:"head"`
}
