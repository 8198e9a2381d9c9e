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

// TestDidYouMean tests that the error about an absent column names one of the header that differs in case or marks
// alone, and nothing of a first row that may be a record.
func TestDidYouMean(t *testing.T) {
	s := mustSchema(t)
	for header, want := range map[string]string{
		"Age,sick":        `is not in the table's header (its first row): did you mean "Age", which it has?`,
		" AGE ,sick":      `did you mean "AGE", which it has?`,
		"a_g e,sick":      `did you mean "a_g e", which it has?`,
		"ages,sick":       "is not in the table's header (its first row)",
		"Age,sick,12,yes": "is not in the table's header (its first row)",
		"Age,unknown":     "is not in the table's header (its first row)",
	} {
		for _, bind := range []func([]string) (*Map, error){s.Bind, s.BindUnlabelled} {
			if _, err := bind(strings.Split(header, ",")); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%q: error %v, want %s", header, err, want)
			}
		}
	}
}

func mustSchema(t *testing.T) *Schema {
	t.Helper()
	s, err := New(Definition{Columns: []Column{{Name: "age", Kind: Number, High: 100}},
		Target: Target{Column: "sick", Kind: Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
