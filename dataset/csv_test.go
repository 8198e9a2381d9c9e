package dataset

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbersOfCSV tests that numbers are read only in the file's dialect: a separator must stand
// between groups of three digits.
func TestNumbersOfCSV(t *testing.T) {
	german := CSV{Decimal: ",", Thousands: "."}
	for _, test := range []struct {
		as         CSV
		cell, want string
	}{
		{german, "1.234,5", "1234.5"}, {german, "-1.234.567", "-1234567"}, {german, "0,5", "0.5"}, {german, ",5", ".5"},
		{german, "12", "12"},
		{german, "1,5e-3", "1.5e-3"}, {german, "+7", "+7"}, {german, "inf", "inf"}, {german, "?", "?"}, {german, "", ""},
		{german, "1.5", "no number: 1.5"}, {german, "1.2345", "no number: 1.2345"}, {german, ".5", "no number: .5"},
		{german, "1234.567", "no number: 1234.567"},
		{german, "1,2,3", "1,2,3"}, {german, "1..234", "1..234"}, {german, "1.234,5.6", "1.234,5.6"},
		{CSV{Decimal: ","}, "1.234", "no number: 1.234"}, {CSV{Decimal: ","}, "1234,5", "1234.5"},
		{CSV{Thousands: ","}, "1,234.5", "1234.5"}, {CSV{Thousands: ","}, "1,23", "1,23"},
		{CSV{Thousands: "\u202f"}, "12\u202f345", "12345"},
		{CSV{Thousands: "'"}, "1'234'567.25", "1234567.25"}, {CSV{Thousands: "'"}, "1234'567", "1234'567"},
	} {
		if got := test.as.plain(test.cell); got != test.want {
			t.Errorf("%v: %q: %q, want %q", test.as, test.cell, got, test.want)
		}
	}
	// Any number written in the dialect is read as that number.
	rapid.Check(t, func(t *rapid.T) {
		plain := strconv.FormatFloat(rapid.Float64Range(-1e9, 1e9).Draw(t, "x"), 'f', rapid.IntRange(0, 5).Draw(t, "digits"),
			64)
		sign, rest := "", plain
		if strings.HasPrefix(plain, "-") {
			sign, rest = "-", plain[1:]
		}
		units, behind, has := strings.Cut(rest, ".")
		for i := len(units) - 3; i > 0; i -= 3 {
			units = units[:i] + "." + units[i:]
		}
		written := sign + units
		if has {
			written += "," + behind
		}
		if got := german.plain(written); got != plain {
			t.Fatalf("%q: %q, want %q", written, got, plain)
		}
	})
}

// TestGroupsOfDigits tests every cell of up to 8 characters out of digits, a sign and both marks: it is a number if a
// regular expression says so, and then the number that it has without the mark between thousands.
func TestGroupsOfDigits(t *testing.T) {
	for _, as := range []CSV{{Decimal: ",", Thousands: "."}, {Thousands: ","}, {Thousands: "\u202f"}, {Decimal: ","}, {}} {
		marks := []string{"2", as.decimal(), "-"}
		units := `\d*`
		if as.Thousands != "" {
			marks = append(marks, as.Thousands)
			units = `(\d{1,3}(` + regexp.QuoteMeta(as.Thousands) + `\d{3})+|\d*)`
		}
		valid := regexp.MustCompile(`^-?` + units + `(` + regexp.QuoteMeta(as.decimal()) + `\d*)?$`)
		numbers := 0
		var every func(cell string, left int)
		every = func(cell string, left int) {
			plain, ok := as.number(cell)
			if want := valid.MatchString(cell) && strings.Contains(cell, "2"); ok != want {
				t.Errorf("%+v: %q is a number: %v", as, cell, ok)
			} else if ok {
				numbers++
				rest := cell
				if as.Thousands != "" {
					rest = strings.ReplaceAll(rest, as.Thousands, "")
				}
				want, err := strconv.ParseFloat(strings.Replace(rest, as.decimal(), ".", 1), 64)
				if got, failed := strconv.ParseFloat(plain, 64); err != nil || failed != nil || got != want {
					t.Errorf("%+v: %q is %q", as, cell, plain)
				}
			}
			for _, mark := range marks[:min(left, 1)*len(marks)] {
				every(cell+mark, left-1)
			}
		}
		every("", 8)
		if numbers < 50 {
			t.Errorf("%+v: %d cells are numbers", as, numbers)
		}
	}
}

// TestRespell tests that Respell leaves missing markers, other columns and malformed rows
// unchanged.
func TestRespell(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns: {a: {number: [0, 9]}, b: {category: ["1,5"]}, c: ignore}
  target: {column: y, number: [0, 9], weight: w}
  missing: ["", "-9,9"]
`)
	m := mustBind(t, s, "a", "b", "c", "y", "w")
	respell := m.Respell(CSV{Decimal: ","}.Respelled())
	cells := []string{" 1,5 ", "1,5", "1,5", "2,5", "0,5"}
	if respell(cells); !slices.Equal(cells, []string{"1.5", "1,5", "1,5", "2.5", "0.5"}) {
		t.Errorf("%q", cells)
	}
	cells = []string{"-9,9", "", "", "-9.9", ""}
	if respell(cells); !slices.Equal(cells, []string{"-9,9", "", "", "no number: -9.9", ""}) {
		t.Errorf("%q", cells)
	}
	cells = []string{"1,5"}
	if respell(cells); cells[0] != "1,5" {
		t.Errorf("%q", cells)
	}
	if m.Respell(CSV{Delimiter: ";"}.Respelled()) != nil {
		t.Error("numbers are written alike")
	}
	if got := m.Reads(); !slices.Equal(got, []bool{true, true, false, true, true}) {
		t.Errorf("looks at %v", got)
	}
}

func TestCSVRules(t *testing.T) {
	for field, c := range map[string]CSV{
		`csv.delimiter = "ab"`: {Delimiter: "ab"}, `csv.delimiter = "x"`: {Delimiter: "x"},
		`csv.delimiter = "é"`: {Delimiter: "é"}, `csv.delimiter = "\n"`: {Delimiter: "\n"},
		`csv.quote = ";"`: {Delimiter: ";", Quote: ";"}, `csv.quote = " "`: {Quote: " "}, `csv.decimal = ";"`: {Decimal: ";"},
		`csv.thousands = "."`: {Thousands: "."}, `csv.thousands = ".,"`: {Thousands: ".,", Decimal: ","},
		`csv.thousands = "0"`: {Thousands: "0"}, `csv.thousands = "e"`: {Thousands: "e"},
		`csv.encoding = "ebcdic"`: {Encoding: "ebcdic"}, `csv.header = []`: {Header: []string{}},
		`csv.header[1] = " b"`: {Header: []string{"a", " b"}},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), field+": must") &&
			!strings.Contains(err.Error(), field+": a column's name must") {
			t.Errorf("%+v: %v, want %s", c, err, field)
		}
	}
	whole := CSV{"tab", ",", ".", "latin-1", "'", []string{"a", ""}}
	if err := whole.Check(); err != nil {
		t.Error(err)
	}
	if !(CSV{}).IsZero() || whole.IsZero() {
		t.Error("what says nothing is not told")
	}
	if got := (CSV{Delimiter: ";"}).Or(whole); got.Delimiter != ";" || got.Decimal != "," || len(got.Header) != 2 {
		t.Errorf("%+v", got)
	}
}
