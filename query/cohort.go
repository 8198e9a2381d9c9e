package query

import "github.com/stillpoint-dp/stillpoint/account"

// Cohort is a handle to a set of records: an identifier and a declared size. It does not hold the
// records. Under replace-one the declared size is the number of records; under add-or-remove it is
// a public expectation.
//
// The session that holds the records makes the handles, and they are valid in that session only: it
// refuses identifiers and sizes that are not its own. The zero Cohort is invalid: its size is zero.
type Cohort struct {
	id   uint64
	size float64
}

// NewCohort returns a handle. It is for sessions.
func NewCohort(id uint64, size float64) Cohort { return Cohort{id: id, size: size} }

// ID returns the identifier; account.Everyone is the cohort of all records.
func (c Cohort) ID() uint64 { return c.id }

// Size returns the declared number of records.
func (c Cohort) Size() float64 { return c.size }

// Everyone reports whether the cohort is the cohort of all records.
func (c Cohort) Everyone() bool { return c.id == account.Everyone && c.size > 0 }
