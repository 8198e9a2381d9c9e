package query

import "github.com/stillpoint-dp/stillpoint/account"

// Cohort is a handle to a set of records over which queries are summed: an identifier and a declared
// size. It does not hold the records. Under replace-one the declared size is the number of records.
// Under add-or-remove it is the expected number, which is public.
//
// The session that holds the records makes the handles. A handle is valid in its session only: a
// session refuses identifiers and sizes that are not its own. The zero Cohort is invalid: its size is
// zero.
type Cohort struct {
	id   uint64
	size float64
}

// NewCohort returns the handle with the given identifier and declared size. Sessions, which hold the
// records, call it. A session refuses a handle that it did not issue.
func NewCohort(id uint64, size float64) Cohort { return Cohort{id: id, size: size} }

// ID returns the identifier. The cohort of all records has the identifier account.Everyone.
func (c Cohort) ID() uint64 { return c.id }

// Size returns the declared number of records.
func (c Cohort) Size() float64 { return c.size }

// Everyone reports whether the handle stands for all records of the session.
func (c Cohort) Everyone() bool { return c.id == account.Everyone && c.size > 0 }
