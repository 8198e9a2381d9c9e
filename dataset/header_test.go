package dataset

import (
	"strings"
	"testing"
)

// TestBindQuotesNamesOnly tests that Bind names a column of the table by its number unless its name
// looks like one.
func TestBindQuotesNamesOnly(t *testing.T) {
	s := mustLoad(t, people)
	for _, extra := range []string{"48151623", "1990-12-03", "zip\r48151623", "zip\n48151623", "A48151623",
		strings.Repeat("long ", 30)} {
		for _, header := range [][]string{append([]string{extra}, peopleHeader...),
			append(append([]string{}, peopleHeader...), extra), append([]string{extra, extra}, peopleHeader...)} {
			_, err := s.Bind(header)
			if err == nil || strings.Contains(err.Error(), "48151623") || strings.Contains(err.Error(), "1990") ||
				strings.Contains(err.Error(), "long") {
				t.Errorf("%q: %v", extra, err)
			}
		}
	}
}
