package dataset

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// ofPeople returns a schema with a privacy unit: all rows of a person, at most the given number, are
// one record.
func ofPeople(t *testing.T, rows int) *Schema {
	t.Helper()
	s, err := New(Definition{
		Columns: []Column{{Name: "x", Kind: Number, Low: 0, High: 1},
			{Name: "split", Kind: Public, Values: []string{"train", "test"}}},
		Target: Target{Column: "y", Kind: Category, Classes: []string{"no", "yes"}},
		Where:  "split=train", Missing: []string{"", "?"}, Unit: Unit{"person", rows},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWhoseRow tests that a row's unit is the trimmed cell, and that a row with a missing cell or a
// wrong number of cells has no unit. The column is not a feature, and prediction does not need it.
func TestWhoseRow(t *testing.T) {
	s := ofPeople(t, 3)
	m, err := s.Bind([]string{"person", "x", "y", "split"})
	if err != nil {
		t.Fatal(err)
	}
	if m.Dim() != 2 || s.Unit() != (Unit{"person", 3}) {
		t.Errorf("%d features, unit %v", m.Dim(), s.Unit())
	}
	for cell, want := range map[string]string{"7": "7", " 7\t": "7", "7.0": "7.0", "Ann Lee ": "Ann Lee", "": "", "  ": "",
		"?": "", " ? ": ""} {
		if unit, ok := m.Unit([]string{cell, ".5", "yes", "train"}); ok != (want != "") || ok && unit != want {
			t.Errorf("%q: row of %q, %v: must be of %q", cell, unit, ok, want)
		}
	}
	for _, cells := range [][]string{nil, {"7"}, {"7", ".5", "yes"}, {"7", ".5", "yes", "train", "more"}} {
		if unit, ok := m.Unit(cells); ok {
			t.Errorf("%q: a malformed row is %q's", cells, unit)
		}
	}
	if _, err := s.Bind([]string{"x", "y", "split"}); err == nil ||
		!strings.Contains(err.Error(), `column "person" of the schema is not in the table's header`) {
		t.Errorf("a table without the column: %v", err)
	}
	unlabelled, err := s.BindUnlabelled([]string{"x", "split"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Map{unlabelled, bind(t, s)} {
		if unit, ok := m.Unit([]string{".5", "train"}); ok {
			t.Errorf("a row is %q's", unit)
		}
	}
}

// bind binds a copy of the schema that has no privacy unit to a header without the unit's column.
func bind(t *testing.T, s *Schema) *Map {
	t.Helper()
	without := *s
	without.unit = Unit{}
	m, err := without.Bind([]string{"x", "split", "y"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestUnitsAreWritten tests that the YAML and JSON forms give an equal schema.
func TestUnitsAreWritten(t *testing.T) {
	s := ofPeople(t, 12)
	text, err := yaml.Marshal(s)
	if err != nil || !strings.Contains(string(text), "unit: {column: person, rows: 12}\n") {
		t.Fatalf("%s, %v", text, err)
	}
	var back, again Schema
	if err := yaml.Unmarshal(text, &back); err != nil || back.Unit() != s.Unit() {
		t.Errorf("%v, %v", back.Unit(), err)
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &again); err != nil || again.Unit() != s.Unit() {
		t.Errorf("%v, %v", again.Unit(), err)
	}
}

// TestUnitRules tests the errors for invalid units.
func TestUnitRules(t *testing.T) {
	for unit, want := range map[string]string{
		"{column: x, rows: 3}":           `unit.column = "x": is also listed under columns`,
		"{column: y, rows: 3}":           `unit.column = "y": is the target`,
		"{column: v, rows: 3}":           `unit.column = "v": is the column of a weight or an exposure`,
		"{column: \"\", rows: 3}":        `unit.column = "": must name the column`,
		"{rows: 3}":                      `unit.column = "": must name the column`,
		"{column: \" a\", rows: 3}":      `unit.column = " a": a column's name must not begin`,
		"{column: a, rows: 0}":           `unit.rows = 0: must be the public number of rows of a unit that are used at most, between 1 and 1024`,
		"{column: a}":                    `unit.rows = 0: must be`,
		"{column: a, rows: 1025}":        `unit.rows = 1025: must be`,
		"{column: a, rows: 2.5}":         `must be a whole number`,
		"{column: a, rows: ???}":         `write how many rows of a unit are used at most`,
		"{column: a, rows: 3, by: mean}": `the keys here are column, rows`,
		"[a, 3]":                         `must be a mapping`,
	} {
		var s Schema
		err := yaml.Unmarshal([]byte("columns: {x: {number: [0, 1]}}\ntarget: {column: y, classes: [a, b], weight: v}\nunit: "+unit+"\n"), &s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: must say %q", unit, err, want)
		}
	}
}
