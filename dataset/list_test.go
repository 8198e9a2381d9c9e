package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func categories(t *testing.T, yaml string) []string {
	t.Helper()
	return mustLoad(t,
		"schema:\n  columns: {c: {category: "+yaml+"}}\n  target: {column: y, number: [0, 1]}\n").Columns()[0].Categories
}

// TestRanges tests that a range lists each of its numbers, with leading zeros, and that a quoted
// range is an ordinary value.
func TestRanges(t *testing.T) {
	for list, want := range map[string]string{
		"1..4": "1 2 3 4", "[1..3, 99]": "1 2 3 99", "[x, -1..1]": "x -1 0 1", "08..11": "08 09 10 11", "[5..5]": "5",
		"[000..002]": "000 001 002",
		`["1..3"]`:   "1..3", "['1..3', 1..2]": "1..3 1 2", "[1.5..2]": "1.5..2", "[0..2]": "0 1 2",
	} {
		if got := strings.Join(categories(t, list), " "); got != want {
			t.Errorf("%s: %s: want %s", list, got, want)
		}
	}
	if got := len(categories(t, "1..100000")); got != 100000 {
		t.Errorf("%d values", got)
	}
	for list, want := range map[string]string{
		"4..1":                "columns.c.category[0] = 4..1: the first number must be at most",
		"[9, 0..100000]":      "columns.c.category[1] = 0..100000: must be at most 100000 values",
		"01..9":               "columns.c.category[0] = 01..9: a number with zeros",
		"9..010":              "columns.c.category[0] = 9..010: a number with zeros",
		"[1..3, 2]":           `columns.c.category[3] = "2": is listed twice`,
		`"1..3"`:              "must be a list, such as [a, b], not a text in quotes",
		"{file: a, files: b}": "unknown key; the keys here are file",
		"{}":                  "must name a file",
		"{file: ???}":         "columns.c.category.file = ???: is still a placeholder",
	} {
		if _, err := load("schema:\n  columns: {c: {category: " + list +
			"}}\n  target: {column: y, number: [0, 1]}\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %s", list, err, want)
		}
	}
	s := mustLoad(t,
		"schema:\n  columns: {c: {public: 0..2}, x: {number: [0, 1]}}\n  target: {column: y, classes: [1..3]}\n  where: c=2\n")
	if got := fmt.Sprint(s.Columns()[0].Values, s.Target().Classes); got != "[0 1 2] [1 2 3]" {
		t.Error(got)
	}
}

const townsYAML = `
schema:
  columns:
    town: {category: {file: towns.txt}}
    kind: {category: [a, b]}
  target: {column: y, number: [0, 1]}
  interactions: [[town, kind]]
  missing: ["", NA]
`

// TestLists tests that a schema with a list in a file cannot be used until the file is read, and
// then equals the schema with the values written out.
func TestLists(t *testing.T) {
	s := mustLoad(t, townsYAML)
	if _, err := s.Bind([]string{"town", "kind", "y"}); !errors.Is(err, errUnread) {
		t.Errorf("bound: %v", err)
	}
	if _, err := json.Marshal(s); !errors.Is(err, errUnread) {
		t.Errorf("written: %v", err)
	}
	read := func(text string) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			if name != "towns.txt" {
				t.Errorf("%s is read", name)
			}
			return []byte(text), nil
		}
	}
	whole, err := s.WithLists(read("\ufeffAarau\r\n\n  Zürich \nSt. Gallen"))
	if err != nil {
		t.Fatal(err)
	}
	inline := mustLoad(t, strings.Replace(townsYAML, "{file: towns.txt}", "[Aarau, Zürich, St. Gallen]", 1))
	for _, form := range []func(any) ([]byte,
		error){json.Marshal, func(x any) ([]byte, error) { return yaml.Marshal(x) }} {
		got, err := form(whole)
		want, _ := form(inline)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s, %v: want %s", got, err, want)
		}
	}
	if same, err := inline.WithLists(nil); same != inline || err != nil {
		t.Errorf("a schema without files: %v", err)
	}
	for text, want := range map[string]string{
		"":                            "must list at least one",
		" \n\n":                       "must list at least one",
		"quokka\nx\nquokka\n":         "line 3: is listed twice",
		"x\nNA\n":                     "line 2: is listed under missing",
		"x\n\nother\n":                "line 3: is other",
		"quokka\t7\n":                 "line 1: must be one value, without tabs",
		"quok\xffka":                  "must be text in UTF-8",
		strings.Repeat("quokka", 200): "line 1: must be one value, of at most 1000 bytes",
	} {
		_, err := s.WithLists(read(text))
		if err == nil || !strings.Contains(err.Error(), `columns.town.category.file = "towns.txt": `+want) ||
			strings.Contains(err.Error(), "quok") {
			t.Errorf("%.20q: %v: want %s, and nothing of the file", text, err, want)
		}
	}
	var many strings.Builder
	for i := range mostListed + 1 {
		fmt.Fprintln(&many, i)
	}
	if values, rule := listed([]byte(many.String()), nil); values != nil ||
		!strings.Contains(rule, "line 100001: is beyond the 100000") {
		t.Errorf("%d values, %s", len(values), rule)
	}
	if _, err := s.WithLists(func(string) ([]byte, error) { return nil, errors.New("no such file") }); err == nil ||
		err.Error() != "dataset: columns.town.category.file: no such file" {
		t.Error(err)
	}
	// Errors that need no file are reported before files are read.
	if _, err := load(strings.Replace(townsYAML, "[a, b]", "[a, a]", 1)); err == nil ||
		!strings.Contains(err.Error(), "[5:") {
		t.Errorf("%v: must be found at its line", err)
	}
	if columns := whole.Columns(); !slices.Equal(columns[0].Categories, []string{"Aarau", "Zürich", "St. Gallen"}) {
		t.Errorf("%v", columns)
	}
}
