package certificate

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Unit says whose rows made up one record. The zero Unit is a row: each was a record.
type Unit = account.Unit

// Counting is how rows of a unit counted together.
type Counting = account.Counting

// Mean weighs each of m rows by 1/m, Sum by one over the most there may be.
const (
	Mean = account.Mean
	Sum  = account.Sum
)

// checkUnit demands what package dataset takes.
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

// privacyUnit is what a certificate calls it.
func privacyUnit(u *Unit) string {
	if u == nil {
		return PrivacyUnit
	}
	return UnitOfRows
}
