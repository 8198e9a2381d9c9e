package certificate

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Filter says which rows of the table were its records. The zero Filter is none: every row
// was a record.
type Filter = account.Filter

// checkFilter demands a name and a value as package dataset takes them.
func checkFilter(f *Filter) error {
	if f == nil {
		return nil
	}
	for _, part := range []struct{ field, text string }{{"filter.column", f.Column}, {"filter.value", f.Value}} {
		if part.text == "" || part.text != strings.TrimSpace(part.text) || !utf8.ValidString(part.text) {
			return unsound(part.field, strconv.Quote(part.text), "must be a text without white space around it")
		}
	}
	return nil
}
