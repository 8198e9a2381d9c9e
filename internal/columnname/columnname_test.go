package columnname

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for _, header := range []string{
		"age,sex,note", ",age,sex", "V1,V2,V28,Amount", "x1,x10,x1000", "1stFlrSF,2ndFlrSF", "income_2019,income 2020",
		"PM2.5,temp",
		"Âge,Größe (cm),年齢", "a", "hours-per-week", "_id", "How often do you smoke?,age", "q", "T1w,b12",
	} {
		if !All(strings.Split(header, ",")) {
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
		if All(strings.Split(header, ",")) {
			t.Errorf("%q: taken for names", header)
		}
	}
}

// TestRecordsAreNoNames tests that a record with any cell that is not a word is not accepted as
// names, wherever that cell is and whatever the other cells hold.
func TestRecordsAreNoNames(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.Float64(), func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }), rapid.StringMatching(`[0-9]{1,9}`),
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
		if All(header) {
			t.Fatalf("%q: taken for names", header)
		}
	})
}

// TestNamesAtTheirLimits tests both sides of each limit of a name: its length, its digits, and the letters of one that
// begins with a digit.
func TestNamesAtTheirLimits(t *testing.T) {
	for name, want := range map[string]bool{
		strings.Repeat("x", 100): true, strings.Repeat("x", 101): false, strings.Repeat("é", 100): true,
		"abcdef1234": true, "abcdef12345": false, "a1234": true, "a12345": false, "a1b234": false, "ab1cd2": true,
		"1abcd": true, "1abc": false, "1234abcde": true, "1234abcd": false, "123abcd": true, "1 abcd": false,
	} {
		if Is(name) != want {
			t.Errorf("%s: must be %v", name, want)
		}
	}
}
