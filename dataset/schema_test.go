package dataset

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSchemaAccessors(t *testing.T) {
	s := mustLoad(t, people)
	features := []string{"age", "gain", "work=private", "work=state", "work=other", "(intercept)"}
	if diff := cmp.Diff(features, s.Features()); diff != "" {
		t.Errorf("Features (-want +got):\n%s", diff)
	}
	if s.Dim() != 6 || s.Scale() != 2 || s.Filter().String() != "split=train" {
		t.Errorf("Dim %d, Scale %v, Filter %q", s.Dim(), s.Scale(), s.Filter())
	}
	columns := []Column{
		{Name: "age", Kind: Number, High: 10},
		{Name: "gain", Kind: Number, High: 3, Transform: Log1p},
		{Name: "work", Kind: Category, Categories: []string{"private", "state"}},
		{Name: "weight", Kind: Ignore},
		{Name: "split", Kind: Public, Values: []string{"train", "test"}},
	}
	if diff := cmp.Diff(columns, s.Columns()); diff != "" {
		t.Errorf("Columns (-want +got):\n%s", diff)
	}
	target := Target{Column: "y", Kind: Category, Classes: []string{"0", "1"}}
	if diff := cmp.Diff(target, s.Target()); diff != "" {
		t.Errorf("Target (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "?", "-1"}, s.Missing()); diff != "" {
		t.Errorf("Missing (-want +got):\n%s", diff)
	}
}

func TestSchemaIsImmutable(t *testing.T) {
	def := Definition{
		Columns: []Column{{Name: "c", Kind: Category, Categories: []string{"a", "b"}}},
		Target:  Target{Column: "y", Kind: Number, High: 1},
		Missing: []string{"NA"},
	}
	s, err := New(def)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(s)
	def.Columns[0].Categories[0], def.Columns[0].Name, def.Missing[0] = "x", "x", "x"
	s.Columns()[0].Categories[0] = "x"
	s.Features()[0] = "x"
	s.Missing()[0] = "x"
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("changed from outside: %s", after)
	}
}

func TestNewRules(t *testing.T) {
	number := Column{Name: "x", Kind: Number, Low: 0, High: 1}
	target := Target{Column: "y", Kind: Number, Low: 0, High: 1}
	with := func(c Column) Definition { return Definition{Columns: []Column{number, c}, Target: target} }
	bounds := func(low, high float64) Definition {
		return with(Column{Name: "a", Kind: Number, Low: low, High: high})
	}
	predict := func(t Target) Definition { return Definition{Columns: []Column{number}, Target: t} }
	list := func(values ...string) Definition {
		return with(Column{Name: "a", Kind: Category, Categories: values})
	}
	for _, test := range []struct {
		def  Definition
		want string // field = value: the rule begins
	}{
		{bounds(1, 1), "columns.a.number = [1, 1]: the lower bound must be below"},
		{bounds(2, 1), "columns.a.number = [2, 1]: the lower bound must be below"},
		{bounds(math.NaN(), 1), "columns.a.number = [NaN, 1]: both bounds must be finite"},
		{bounds(0, math.Inf(1)), "columns.a.number = [0, +Inf]: both bounds must be finite"},
		{bounds(-1e308, 1e308), "columns.a.number = [-1e+308, 1e+308]: the bounds are too far apart"},
		{with(Column{Name: "a", Kind: Number, Low: -1, High: 1, Transform: Log1p}),
			"columns.a.number = [-1, 1]: transform log1p needs"},
		{with(Column{Name: "a", Kind: Number, Low: 1e300, High: math.Nextafter(1e300, 2e300), Transform: Log1p}),
			"columns.a.number = [1e+300, 1.0000000000000002e+300]: the bounds coincide"},
		{with(Column{Name: "a", Kind: Number, High: 1, Transform: 7}), "columns.a.transform = Transform(7): must be log1p"},
		{with(Column{Name: "a"}), "columns.a = Kind(0): must be number, date, category, hash, public or ignore"},
		{with(Column{Name: "x", Kind: Ignore}), "columns.x: is listed twice"},
		{with(Column{Name: "", Kind: Number, High: 1}), `columns. = "": a column without a name`},
		{with(Column{Name: " a", Kind: Ignore}), `columns. a = " a": a column's name must not begin`},
		{with(Column{Name: "a\xff", Kind: Ignore}), `columns.a\xff = "a\xff": a column's name must be UTF-8`},
		{with(Column{Name: "a", Kind: Date, Low: 1, High: 1}),
			"columns.a.date = [1970-01-02, 1970-01-02]: the first date must be before"},
		{with(Column{Name: "a", Kind: Date, Low: .5, High: 1}), "columns.a.date = 0.5: must be a whole number of days"},
		{with(Column{Name: "a", Kind: Date, Low: -719163, High: 1}),
			"columns.a.date = -719163: must be a whole number of days"},
		{with(Column{Name: "a", Kind: Date, Low: 0, High: math.NaN()}),
			"columns.a.date = NaN: must be a whole number of days"},
		{with(Column{Name: "a", Kind: Date, High: 1, Transform: Log1p}), "columns.a.transform = log1p: only a number"},
		{with(Column{Name: "a", Kind: Date, High: 1, Layout: "%d.%m.%y"}),
			`columns.a.layout = "%d.%m.%y": must be made of %Y (four digits)`},
		{with(Column{Name: "a", Kind: Category, Categories: []string{"b"}, Indicator: true}),
			"columns.a.missing = indicator: only a number or a date"},
		{Definition{Columns: []Column{{Name: "x", Kind: Number, High: 1, Indicator: true}, {Name: "x=missing", Kind: Number,
			High: 1}}, Target: target}, `columns.x=missing: makes a second feature named "x=missing"`},
		{list(), "columns.a.category = []: must list at least one"},
		{list("b", "b"), `columns.a.category[1] = "b": is listed twice`},
		{list("b", ""), `columns.a.category[1] = "": must not be empty`},
		{list("b "), `columns.a.category[0] = "b ": must not begin or end`},
		{list("\xff"), `columns.a.category[0] = "\xff": must be UTF-8`},
		{list("b", "other"), `columns.a.category[1] = "other": is already the feature`},
		{Definition{Columns: []Column{{Name: "a", Kind: Category, Categories: []string{"NA"}}}, Target: target,
			Missing: []string{"NA"}}, `columns.a.category[0] = "NA": is listed under missing`},
		{Definition{Columns: []Column{{Name: "a=b", Kind: Number, High: 1}, {Name: "a", Kind: Category,
			Categories: []string{"b"}}}, Target: target}, `columns.a: makes a second feature named "a=b"`},
		{with(Column{Name: "(intercept)", Kind: Number, High: 1}), `columns.(intercept): makes a second feature`},
		{Definition{Columns: []Column{{Name: "a", Kind: Ignore}}, Target: target},
			"columns: must list at least one number, date, category or hash"},
		{Definition{Target: target}, "columns: must list at least one number, date, category or hash"},
		{predict(Target{}), "target.column: must name the column"},
		{predict(Target{Column: "y"}), "target: needs classes"},
		{predict(Target{Column: "y", Kind: Ignore}), "target: needs classes"},
		{predict(Target{Column: "x", Kind: Number, High: 1}), `target.column = "x": is also listed under columns`},
		{predict(Target{Column: "y", Kind: Number, Low: 3, High: 1}), "target.number = [3, 1]: the lower bound"},
		{predict(Target{Column: "y", Kind: Category, Classes: []string{"a", "a"}}),
			`target.classes[1] = "a": is listed twice`},
		{predict(Target{Column: "y", Kind: Category, Classes: []string{"a", ""}}),
			`target.classes[1] = "": must not be empty`},
		{Definition{Columns: []Column{number}, Target: Target{Column: "y", Kind: Category, Classes: []string{"a", "NA"}},
			Missing: []string{"NA"}}, `target.classes[1] = "NA": is listed under missing`},
		{Definition{Columns: []Column{number}, Target: target, Missing: []string{"a", "a"}},
			`missing[1] = "a": is listed twice`},
		{Definition{Columns: []Column{number}, Target: target, Missing: []string{" "}},
			`missing[0] = " ": must not begin or end`},
		{Definition{Columns: []Column{number}, Target: target, Where: "x"}, `where = "x": must be column=value`},
		{Definition{Columns: []Column{number}, Target: target, Where: "x="}, `where = "x=": must be column=value`},
		{Definition{Columns: []Column{number}, Target: target, Where: "z=1"},
			`where = "z=1": the column is not listed under columns; if it is known of every row to everybody, list it there with all its values, as z: {public: ["1", ...]}`},
		{Definition{Columns: []Column{number}, Target: target, Where: "x=1"},
			`where = "x=1": is on a column declared number, and how many rows pass would be published; only if it is known of every row to everybody, declare it x: {public: ["1", ...]}`},
		{Definition{Columns: []Column{number, {Name: "z", Kind: Category, Categories: []string{"1"}}}, Target: target,
			Where: "z=1"}, `where = "z=1": is on a column declared category`},
		{Definition{Columns: []Column{number, {Name: "z", Kind: Ignore}}, Target: target, Where: "z=1"},
			`where = "z=1": is on a column declared ignore`},
		{Definition{Columns: []Column{number, public("z", "0", "2")}, Target: target, Where: "z=1"},
			`where = "z=1": the value is not among the column's public values ["0", "2"]`},
		{Definition{Columns: []Column{number, public("z")}, Target: target}, `columns.z.public = []: must list all`},
		{Definition{Columns: []Column{number, public("z", "1", "1")}, Target: target},
			`columns.z.public[1] = "1": is listed twice`},
		{Definition{Columns: []Column{number, public("z", "")}, Target: target},
			`columns.z.public[0] = "": must not be empty`},
		{Definition{Columns: []Column{number, public("z", "NA")}, Target: target, Missing: []string{"NA"}},
			`columns.z.public[0] = "NA": is listed under missing`},
		{Definition{Columns: []Column{number, public("z", "b=c"), public("z=b", "c")}, Target: target, Where: "z=b=c"},
			`where = "z=b=c": fits two columns`},
		{Definition{Columns: []Column{public("z", "1")}, Target: target},
			`columns: must list at least one number, date, category or hash`},
		{Definition{Columns: []Column{number}, Target: target, Where: "y=1"}, `where = "y=1": is on the target`},
	} {
		_, err := New(test.def)
		if err == nil || !strings.HasPrefix(err.Error(), "dataset: "+test.want) {
			t.Errorf("error %v: want dataset: %s...", err, test.want)
		}
	}
	if _, err := New(with(Column{Name: "", Kind: Ignore})); err != nil {
		t.Errorf("a nameless column may be ignored: %v", err)
	}
	if _, err := New(list("Other", "none")); err != nil {
		t.Errorf("only other itself is reserved: %v", err)
	}
}

func TestWhere(t *testing.T) {
	s := mustLoad(t, people)
	test, err := s.Where(" split = test ")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Where("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Where("fold=1"); err == nil {
		t.Error("a filter on an unknown column was accepted")
	}
	row := func(split string) []string { return []string{split, "1", "7", "1", "state", "x"} }
	for _, c := range []struct {
		cells                []string
		train, test, allRows bool
	}{
		{row("train"), true, false, true},
		{row(" test "), false, true, true},
		{row(""), false, false, true},
		{row("train")[:5], true, true, true}, // malformed
		{nil, true, true, true},
	} {
		got := [3]bool{mustBind(t, s, peopleHeader...).Keep(c.cells), mustBind(t, test, peopleHeader...).Keep(c.cells),
			mustBind(t, all, peopleHeader...).Keep(c.cells)}
		if want := [3]bool{c.train, c.test, c.allRows}; got != want {
			t.Errorf("%q: kept by train, test, all: %v, want %v", c.cells, got, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema().Draw(t, "schema")
		asJSON, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON Schema
		if err := json.Unmarshal(asJSON, &fromJSON); err != nil {
			t.Fatalf("%v\n%s", err, asJSON)
		}
		if diff := cmp.Diff(s, &fromJSON, cmp.AllowUnexported(Schema{}, Hats{})); diff != "" {
			t.Fatalf("JSON (-want +got):\n%s\n%s", diff, asJSON)
		}
		type config struct{ Schema *Schema }
		asYAML, err := yaml.Marshal(config{s})
		if err != nil {
			t.Fatal(err)
		}
		fromYAML, err := load(string(asYAML))
		if err != nil {
			t.Fatalf("%v\n%s", err, asYAML)
		}
		if diff := cmp.Diff(s, fromYAML, cmp.AllowUnexported(Schema{}, Hats{})); diff != "" {
			t.Fatalf("YAML (-want +got):\n%s\n%s", diff, asYAML)
		}
	})
}

func TestJSONRules(t *testing.T) {
	for doc, want := range map[string]string{
		`{"columns":[{"name":"x","number":[0,1]}],"target":{"column":"y","number":[0,1]},"extra":1}`:             "unknown field",
		`{"columns":[{"name":"x","number":[0,1],"bounds":1}],"target":{"column":"y","number":[0,1]}}`:            "unknown field",
		`{"columns":[{"name":"x","number":[0]}],"target":{"column":"y","number":[0,1]}}`:                         "columns.x.number = 1 values",
		`{"columns":[{"name":"x"}],"target":{"column":"y","number":[0,1]}}`:                                      "columns.x: needs exactly one",
		`{"columns":[{"name":"x","number":[0,1],"ignore":true}],"target":{"column":"y","number":[0,1]}}`:         "columns.x: needs exactly one",
		`{"columns":[{"name":"x","category":["a"],"transform":"log1p"}],"target":{"column":"y","number":[0,1]}}`: "columns.x.transform = \"log1p\": only a number",
		`{"columns":[{"name":"x","number":[0,1]}],"target":{"column":"y","number":[0,1],"classes":["a","b"]}}`:   "target: needs either",
		`{"columns":[{"name":"x","number":[0,1]}],"target":{"column":"y","classes":["a"]}}`:                      "target.classes = 1 values",
		`{"columns":[{"name":"x","number":[1,0]}],"target":{"column":"y","number":[0,1]}}`:                       "columns.x.number = [1, 0]",
		`[]`: "schema",
	} {
		s := mustLoad(t, people)
		err := json.Unmarshal([]byte(doc), s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v: want %s", doc, err, want)
		}
		if s.Dim() != 6 {
			t.Errorf("%s: the schema changed", doc)
		}
	}
}

func TestZeroSchema(t *testing.T) {
	var s Schema
	if _, err := s.Bind([]string{"a"}); err == nil {
		t.Error("Bind accepted the zero Schema")
	}
	if _, err := (*Schema)(nil).Bind([]string{"a"}); err == nil {
		t.Error("Bind accepted a nil Schema")
	}
	if _, err := json.Marshal(&s); err == nil {
		t.Error("MarshalJSON accepted the zero Schema")
	}
	if _, err := yaml.Marshal(&s); err == nil {
		t.Error("MarshalYAML accepted the zero Schema")
	}
}

// TestFilled: a category counts as one feature, with other columns' features and the intercept beside it, and no
// encoded row has more features that are not zero.
func TestFilled(t *testing.T) {
	s := mustLoad(t, people)
	if got := s.Filled(); got != 4 {
		t.Errorf("%d features of a row of two numbers, a category and the intercept", got)
	}
	s = mustLoad(t, `
schema:
  columns:
    a: {hash: 50}
    b: {number: [0, 1], curve: 5}
    c: {category: [x, y]}
    d: {category: [u, v]}
  interactions: [[c, d]]
  target: {column: t, classes: [n, p]}
`)
	m := mustBind(t, s, "a", "b", "c", "d", "t")
	x, most := make([]float32, m.Dim()), 0
	for _, cells := range [][]string{{"q", ".3", "x", "v", "n"}, {"r", ".99", "y", "u", "p"}, {"", "1", "z", "", "p"}} {
		if _, ok := m.Encode(x, cells); !ok {
			t.Fatal(cells)
		}
		filled := 0
		for _, v := range x {
			if v != 0 {
				filled++
			}
		}
		most = max(most, filled)
	}
	if got := s.Filled(); got < most || got > 20 {
		t.Errorf("%d features may be nonzero, %d are, of %d", got, most, m.Dim())
	}
}
