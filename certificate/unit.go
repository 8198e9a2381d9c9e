package certificate

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
)

// checkUnit returns an error if the unit's column is empty, is not valid UTF-8 or begins or ends with white
// space, if Rows is below 1, or if Count is neither Mean nor Sum. A nil unit is valid.
func checkUnit(u *account.Unit) error {
	switch {
	case u == nil:
		return nil
	case u.Column == "" || u.Column != strings.TrimSpace(u.Column) || !utf8.ValidString(u.Column):
		return unsound("unit.column", strconv.Quote(u.Column), "must be a text without white space around it")
	case u.Rows < 1:
		return unsound("unit.rows", u.Rows, "must be >= 1")
	case u.Count != account.Mean && u.Count != account.Sum:
		return unsound("unit.count", strconv.Quote(string(u.Count)), "must be %q or %q", account.Mean, account.Sum)
	}
	return nil
}

// privacyUnit returns the value of the member privacy_unit for the unit u: unitOfRow if u is nil,
// otherwise unitOfRows.
func privacyUnit(u *account.Unit) string {
	if u == nil {
		return unitOfRow
	}
	return unitOfRows
}
