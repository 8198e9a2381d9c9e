package dataset

import (
	"strings"
	"testing"
)

func TestBindErrors(t *testing.T) {
	s := mustLoad(t, people)
	for _, test := range []struct {
		name   string
		header string
		want   string // "" if the header binds
	}{
		{"any order", "weight,work,gain,age,y,split", ""},
		{"white space", " weight , work\t,gain,age,y,split", ""},
		{"a column is missing", "weight,work,gain,y,split",
			`dataset: column "age" of the schema is not in the table's header (its first row)`},
		{"an ignored column is missing", "work,gain,age,y,split", `dataset: column "weight" of the schema`},
		{"the target is missing", "weight,work,gain,age,split", `dataset: column "y" of the schema`},
		{"an unknown column", "weight,work,gain,age,y,split,zip",
			`dataset: column "zip" of the table is not in the schema: add it to columns, or mark it "NAME: ignore" there`},
		{"a nameless column", "weight,work,gain,,age,y,split",
			`dataset: column 4 of the table has no name: name it, or add it to the schema's columns as "": ignore`},
		{"a column twice", "weight,work,gain,age,y,split, age", `dataset: column "age" appears twice in the table's header`},
		{"the target twice", "weight,work,gain,age,y,split,y", `dataset: column "y" appears twice in the table's header`},
		{"other case", "weight,work,gain,Age,y,split", `dataset: column "age" of the schema`},
		{"empty", "", `dataset: column "age" of the schema`},
	} {
		_, err := s.Bind(strings.Split(test.header, ","))
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: error %v\nwant %s", test.name, err, test.want)
		}
	}
}

// TestBindErrorsQuoteNoRecord tests tables without a header row, whose first row is a record: the
// error does not depend on the record and quotes nothing of it.
func TestBindErrorsQuoteNoRecord(t *testing.T) {
	s := mustLoad(t, people)
	for _, bind := range []func([]string) (*Map, error){s.Bind, s.BindUnlabelled} {
		_, err1 := bind([]string{"train", "1", "7", "1", "state", "x"})
		_, err2 := bind([]string{"train", "0", "7", "7", "private", ""})
		if err1 == nil || err2 == nil || err1.Error() != err2.Error() {
			t.Errorf("%v\n%v", err1, err2)
		}
	}
}

func TestBindUnlabelled(t *testing.T) {
	s := mustLoad(t, people)
	all, err := s.Where("")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		schema *Schema
		header string
		want   string
	}{
		{"features only", all, "work,gain,age", ""},
		{"others besides", all, "work,gain,age,y,zip,zip,,", ""},
		{"a feature twice", all, "zip,zip,work,gain,age,age", `dataset: column "age" appears twice`},
		{"a feature missing", all, "work,gain", `dataset: column "age" of the schema`},
		{"the filter's column missing", s, "work,gain,age", `dataset: column "split" of the schema`},
		{"the filter's column", s, "work,gain,age,split", ""},
	} {
		_, err := test.schema.BindUnlabelled(strings.Split(test.header, ","))
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
	}
}

func TestBindNamelessColumn(t *testing.T) {
	s := mustLoad(t, `{schema: {columns: {"": ignore, x: {number: [0, 1]}}, target: {column: y, number: [0, 1]}}}`)
	m := mustBind(t, s, "", "x", "y")
	row := make([]float32, m.Dim())
	if target, ok := m.Encode(row, []string{"17", "1", "1"}); !ok || target != 1 {
		t.Errorf("target %v, ok %v", target, ok)
	}
}
