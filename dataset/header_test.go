package dataset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLooksLikeNames(t *testing.T) {
	for _, header := range []string{
		"age,sex,note", ",age,sex", "V1,V2,V28,Amount", "x1,x10,x1000", "1stFlrSF,2ndFlrSF", "income_2019,income 2020",
		"PM2.5,temp",
		"Âge,Größe (cm),年齢", "a", "hours-per-week", "_id", "How often do you smoke?,age", "q", "T1w,b12",
	} {
		if !LooksLikeNames(strings.Split(header, ",")) {
			t.Errorf("%s: refused", header)
		}
	}
	for _, header := range []string{
		"", "39,Private,Bachelors", "age,39", "Smith,1,HIV", "Smith,-1.5e3", "Smith,NaN", "Smith,+inf", "0x1F,a", "Smith,.5",
		"Smith,5%", "Smith,€ 12", "Smith,12 EUR",
		"Smith,1990-12-03", "Smith,03/12/90", "Smith,03.12.1990", "Smith,12:30", "Smith,2020-01-01T00:00:00Z",
		"Smith,12 Mar 2020", "Mar 12 2020,a", "Smith,Dec-1990-31",
		"Smith,A0012345", "Smith,120/80", "Smith,555-0199", "Smith,j@x.org", "Smith,https://x.org/a",
		"Smith,550e8400-e29b-41d4-a716-446655440000", "Smith,٣٩", "Smith,½",
		"Smith,yes", "Smith,No", "Smith,TRUE", "Smith,NA", "Smith,n/a", "Smith,null", "Smith,female", "Smith,?", "Smith,-",
		"Smith,,x", ",", "a,a", "a, a", "a,b,a", "a,b\rc", "a,b\nc", "a,b\tc", "a,\x1b[2J", "a,b\u202e", "a,b\u200b",
		"a,\xff", "a," + strings.Repeat("x", 101),
	} {
		if LooksLikeNames(strings.Split(header, ",")) {
			t.Errorf("%q: taken for names", header)
		}
	}
}

// TestRecordsAreNoNames tests that a record with any cell that is not a word is not accepted as
// names, wherever that cell is and whatever the other cells hold.
func TestRecordsAreNoNames(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.Float64(), showFloat), rapid.StringMatching(`[0-9]{1,9}`),
		rapid.StringMatching(`[12][0-9]{3}-[01][0-9]-[0-3][0-9]`),
		rapid.StringMatching(`[0-3]?[0-9][./][01]?[0-9][./][0-9]{2,4}`), rapid.StringMatching(`[A-Z]{1,3}[0-9]{5,9}`),
		rapid.StringMatching(`\+[0-9]{2} [0-9]{3} [0-9]{4}`),
		rapid.StringMatching(`[a-z]{3}@[a-z]{3}\.org`), rapid.StringMatching(`[0-9]{1,3},[0-9]{3}`),
		rapid.StringMatching(`[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?`),
		rapid.Just(""), rapid.StringMatching(`[a-z]{1,9}[\r\n][a-z]{1,9}`), rapid.StringMatching(`[a-z ]{102,200}x`),
	)
	rapid.Check(t, func(t *rapid.T) {
		header := rapid.SliceOfN(rapid.StringMatching(`[A-Z][a-z]{2,8}`), 1, 6).Draw(t, "words")
		header = append(header, value.Draw(t, "value"))
		for i := range header {
			j := rapid.IntRange(i, len(header)-1).Draw(t, "swap")
			header[i], header[j] = header[j], header[i]
		}
		if header[0] == "" {
			return // row numbers
		}
		if LooksLikeNames(header) {
			t.Fatalf("%q: taken for names", header)
		}
	})
}

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

func FuzzDraft(f *testing.F) {
	f.Add("age,sex,note")
	f.Add("a\r1,b\n2,\x1b[2J,\u202e,")
	f.Fuzz(func(t *testing.T, line string) {
		header := strings.Split(strings.ToValidUTF8(line, "?"), ",")
		doc := Draft(header)
		for _, r := range doc {
			if r != '\n' && unseen(r) {
				t.Fatalf("%q: holds %q", doc, r)
			}
		}
		// Every line of a draft is one of its own lines or the line of one column, so that no line
		// begins with other text of the header.
		if got, want := strings.Count(doc, "\n"), strings.Count(Draft(nil), "\n")+len(header); got != want {
			t.Fatalf("%d lines: want %d\n%s", got, want, doc)
		}
	})
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
