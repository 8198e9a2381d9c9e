package certificate

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
)

// checkFilter returns an error if the filter's column or value is empty, is not valid UTF-8, or begins or
// ends with white space. Package dataset refuses the same texts. A nil filter is valid.
func checkFilter(f *account.Filter) error {
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
