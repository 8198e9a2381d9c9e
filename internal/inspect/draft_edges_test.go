package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
)

// TestDraftedKinds tests the column that cells suggest, with its note, on both sides of each limit: dates of any century, numbers of
// eight digits that may be days of 1900 to 2099, columns of one number, and names of rows beside categories.
func TestDraftedKinds(t *testing.T) {
	many := func(n int, format string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return list
	}
	for _, c := range []struct {
		cells []string
		line  string
		note  string
	}{
		{[]string{"1850-03-01", "1850-04-09"}, "x: {date: [1850-01-01, 1850-12-31]}", "from t: 2 cells, 1850-03-01 to 1850-04-09, rounded to years"},
		{[]string{"19000101", "20991231"}, "x: {date: [1900-01-01, 2099-12-31], layout: \"%Y%m%d\"}", "from t: 2 cells, 1900-01-01 to 2099-12-31, rounded to years"},
		{[]string{"19000101", "21000101"}, "x: {number: [1.9e+07, 2.2e+07]}", "from t: 2 cells, 1.9000101e+07 to 2.1000101e+07, rounded outwards"},
		{[]string{"18991231", "20000101"}, "x: {number: [1.8e+07, 2.1e+07]}", "from t: 2 cells, 1.8991231e+07 to 2.0000101e+07, rounded outwards"},
		{[]string{"7", "7", "NA"}, "x: {number: [7, 8], missing: indicator}", "from t: 3 cells, 7 to 7, rounded outwards, 1 missing"},
		{[]string{"-3.2", "", "11"}, "x: {number: [-10, 20], missing: indicator}", "from t: 3 cells, -3.2 to 11, rounded outwards, 1 missing"},
		{[]string{"b", "a", "other", "b", "?"}, "x: {category: [a, b]}", "from t: 5 cells, of 2 values, 1 missing"},
		{many(30, "v%02d"), "", "from t: 30 cells, of 30 values"},
		{many(31, "v%02d"), "x: ignore", "from t: 31 cells, all different, as the names of rows are"},
		{append(many(31, "v%02d"), "v00"), "x: {hash: 256}", "from t: 32 cells, more than 30 values"},
	} {
		s := newSeen("x")
		for _, cell := range c.cells {
			s.add(cell)
		}
		d, ok := s.drafted("t")
		if !ok || c.line != "" && d.Column.Line() != c.line || d.Note != c.note {
			t.Errorf("%.60q: %s, %q, %v: must be %s, %q", c.cells, d.Column.Line(), d.Note, ok, c.line, c.note)
		}
	}
	for _, cells := range [][]string{{"", "NA"}, {"other"}} {
		s := newSeen("x")
		for _, cell := range cells {
			s.add(cell)
		}
		if d, ok := s.drafted("t"); ok {
			t.Errorf("%q: %s", cells, d.Column.Line())
		}
	}
}

// TestChoicesOfCodebooks tests the codes of a codebook's lists in every form: each once, without other, up to a thousand.
func TestChoicesOfCodebooks(t *testing.T) {
	for text, want := range map[string][]string{
		"1, male | 2, female | 2, again | 9, other": {"1", "2", "9"},
		"1=male; 2=female;; 1=man":                  {"1", "2"},
		"male, female, other, male":                 {"male", "female"},
		"a\nb\n\"c\"\n'd'":                          {"a", "b", "c", "d"},
		"":                                          nil,
		"1, yes, of course | 2, no; or | other, none": {"1", "2"},
	} {
		if got := choices(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q: must be %q", text, got, want)
		}
	}
	var list []string
	for i := range mostChoices + 3 {
		list = append(list, fmt.Sprint(i))
	}
	if got := choices(strings.Join(list, ";")); !slices.Equal(got, list[:mostChoices]) {
		t.Errorf("%d choices", len(got))
	}
}

// TestDescribedColumns tests the entry of each kind of row of a codebook: bounds that are in order count, and others stay open.
func TestDescribedColumns(t *testing.T) {
	for _, c := range []struct {
		row   map[string]string
		entry string
		ok    bool
	}{
		{map[string]string{"kind": "integer", "low": "1", "high": "9"}, "{number: [1, 9]}", true},
		{map[string]string{"kind": "integer", "low": "9", "high": "9"}, "{number: [???, ???]}", true},
		{map[string]string{"kind": "integer", "low": "9", "high": "1"}, "{number: [???, ???]}", true},
		{map[string]string{"kind": "integer", "low": "9"}, "{number: [9, ???]}", true},
		{map[string]string{"high": "9"}, "{number: [???, 9]}", true},
		{map[string]string{}, "", false},
		{map[string]string{"kind": "date", "low": "2001-02-03", "high": "later"}, "{date: [2001-02-03, ???]}", true},
		{map[string]string{"kind": "factor"}, "{category: [???]}", true},
		{map[string]string{"values": "a, b"}, "{category: [a, b]}", true},
		{map[string]string{"values": "a"}, "", false},
		{map[string]string{"kind": "string", "values": "a, b"}, "{category: [a, b]}", true},
		{map[string]string{"kind": "string", "values": "a"}, "ignore", true},
		{map[string]string{"kind": "yesno", "values": "no, yes"}, `{category: ["0", "1"]}`, true},
		{map[string]string{"kind": "text", "form": "number"}, "{number: [???, ???]}", true},
	} {
		if entry, ok := described("x", func(what string) string { return c.row[what] }); entry != c.entry || ok != c.ok {
			t.Errorf("%v: %s, %v: must be %s, %v", c.row, entry, ok, c.entry, c.ok)
		}
	}
	if kind, known := guess("x"); known || kind != dataset.Number {
		t.Errorf("%v, %v", kind, known)
	}
}

// TestNumbersOfAColumnAreCounted works out the summary of a column's numbers: the first, the last, the largest size, those with a
// point and with three digits after it, and whether all are whole and rise.
func TestNumbersOfAColumnAreCounted(t *testing.T) {
	s := &suspects{rising: true}
	for _, x := range []float64{2, 3, 7} {
		s.count(x, true, false, false)
	}
	if !s.rising || s.start != 2 || s.last != 7 || s.largest != 7 || s.numbers != 3 || s.pointed != 0 {
		t.Errorf("%+v", s)
	}
	s.count(-9.5, false, true, false)
	s.count(1.234, false, true, true)
	if s.rising || s.start != 2 || s.last != 1.234 || s.largest != 9.5 || s.numbers != 5 || s.pointed != 2 || s.grouped != 1 {
		t.Errorf("%+v", s)
	}
	for _, list := range [][]float64{{3, 3}, {3, 2}} {
		s := &suspects{rising: true}
		for _, x := range list {
			s.count(x, true, false, false)
		}
		if s.rising {
			t.Errorf("%v rise", list)
		}
	}
}

// TestColumnsOfOtherCellsDoNotRise tests that numbers which rise do so no more beside a cell that is no number or too
// large for one, whatever its place.
func TestColumnsOfOtherCellsDoNotRise(t *testing.T) {
	type cell struct {
		text string
		x    float64
		as   string
	}
	rise := []cell{{"2", 2, cellstatus.Read}, {"3", 3, cellstatus.Read}, {"7", 7, cellstatus.Read}}
	for _, other := range []cell{{}, {"none", math.NaN(), cellstatus.Unread}, {"1e999", math.Inf(1), cellstatus.Above}} {
		for place := range len(rise) + 1 {
			s, list := newSuspects(), rise
			if other.text != "" {
				list = slices.Insert(slices.Clone(rise), place, other)
			}
			for _, c := range list {
				s.see(&counted{number: true}, c.text, c.text, c.x, c.as)
			}
			if s.rising != (other.text == "") || s.numbers != 3 || s.n != len(list) {
				t.Errorf("%q at %d: %+v", other.text, place, s)
			}
		}
	}
}
