package certificate

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Unit is the unit of privacy: the column whose value makes rows one record. The zero Unit means that each
// row is one record.
type Unit = account.Unit

// Counting says how the rows of a unit are weighted: Mean or Sum.
type Counting = account.Counting

// Mean gives each of the m rows of a unit the weight 1/m. Sum gives each row the weight 1/Rows, where Rows is
// the largest number of rows used of a unit.
const (
	Mean = account.Mean
	Sum  = account.Sum
)

// checkUnit returns an error for a unit that package dataset refuses.
func checkUnit(u *Unit) error {
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

// privacyUnit returns the name of the privacy unit that a certificate states.
func privacyUnit(u *Unit) string {
	if u == nil {
		return PrivacyUnit
	}
	return UnitOfRows
}
