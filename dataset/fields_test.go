package dataset

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// edit changes one field of a definition.
type edit struct {
	change  func(*Definition)
	refines bool // the changed schema may take the place of the other one, and the other of it
}

// definitions are three sound definitions, and the edits of each by the name of the field that they change.
var definitions = []struct {
	of    func() Definition
	edits map[string][]edit
}{
	{func() Definition {
		return Definition{
			Columns: []Column{
				{Name: "ward", Kind: Category, Categories: []string{"a", "b"}},
				{Name: "age", Kind: Number, Low: 17, High: 90, Curve: 4, Knots: []float64{17, 30, 60, 90}},
				{Name: "size", Kind: Number, Low: 0, High: 1},
				{Name: "day", Kind: Date, Low: 100, High: 200, Layout: "%d.%m.%Y"},
				{Name: "town", Kind: Hash, Buckets: 4},
				{Name: "split", Kind: Public, Values: []string{"x", "y"}},
				{Name: "gain", Kind: Number, Low: 0, High: 9, Curve: 5},
			},
			Target:       Target{Column: "visits", Kind: Number, Low: 0, High: 20, Exposure: Exposure{"years", .5, 2}, Share: []float64{3}},
			Interactions: []Interaction{{"ward", "size"}}, Where: "split=x", Missing: []string{"", "NA"}, Unit: Unit{"person", 3},
		}
	}, map[string][]edit{
		"Column.Name":       {{func(d *Definition) { d.Columns[4].Name = "city" }, false}},
		"Column.Kind":       {{func(d *Definition) { d.Columns[4] = Column{Name: "town", Kind: Ignore} }, false}},
		"Column.Low":        {{func(d *Definition) { d.Columns[2].Low = -1 }, false}, {func(d *Definition) { d.Columns[3].Low = 99 }, false}},
		"Column.High":       {{func(d *Definition) { d.Columns[2].High = 2 }, false}, {func(d *Definition) { d.Columns[3].High = 201 }, false}},
		"Column.Transform":  {{func(d *Definition) { d.Columns[6].Transform = Log1p }, false}},
		"Column.Categories": {{func(d *Definition) { d.Columns[0].Categories = []string{"b", "a"} }, false}},
		"Column.Values":     {{func(d *Definition) { d.Columns[5].Values = []string{"x", "y", "z"} }, false}},
		"Column.Buckets":    {{func(d *Definition) { d.Columns[4].Buckets = 5 }, false}},
		"Column.Layout":     {{func(d *Definition) { d.Columns[3].Layout = "" }, false}, {func(d *Definition) { d.Columns[3].Layout = "%m.%d.%Y" }, false}},
		"Column.Indicator":  {{func(d *Definition) { d.Columns[3].Indicator = true }, false}},
		"Column.Curve":      {{func(d *Definition) { d.Columns[6].Curve = 9 }, true}, {func(d *Definition) { d.Columns[3].Curve = 4 }, false}},
		"Column.Knots":      {{func(d *Definition) { d.Columns[1].Knots[1] = 31 }, true}, {func(d *Definition) { d.Columns[6].Knots = []float64{0, 1, 2, 3, 9} }, true}},
		"Column.Monotone":   {{func(d *Definition) { d.Columns[6].Monotone = Up }, false}, {func(d *Definition) { d.Columns[6].Monotone = Down }, false}},
		"Interactions": {{func(d *Definition) { d.Interactions = nil }, false}, {func(d *Definition) { d.Interactions[0] = Interaction{"ward", "gain"} }, false},
			{func(d *Definition) { d.Interactions[0] = Interaction{"size", "ward"} }, false}},
		"Where":           {{func(d *Definition) { d.Where = "" }, false}, {func(d *Definition) { d.Where = "split=y" }, false}},
		"Missing":         {{func(d *Definition) { d.Missing = []string{""} }, false}, {func(d *Definition) { d.Missing = []string{"NA", ""} }, false}},
		"Norm":            {{func(d *Definition) { d.Norm = 2 }, false}},
		"Unit.Column":     {{func(d *Definition) { d.Unit.Column = "visitor" }, false}},
		"Unit.Rows":       {{func(d *Definition) { d.Unit.Rows = 4 }, false}},
		"Unit":            {{func(d *Definition) { d.Unit = Unit{} }, false}},
		"Target.Column":   {{func(d *Definition) { d.Target.Column = "claims" }, false}},
		"Target.Kind":     {{func(d *Definition) { d.Target = Target{Column: "visits", Kind: Category, Classes: []string{"0", "1"}} }, false}},
		"Target.Low":      {{func(d *Definition) { d.Target.Low = 1 }, false}},
		"Target.High":     {{func(d *Definition) { d.Target.High = 21 }, false}},
		"Target.Share":    {{func(d *Definition) { d.Target.Share = []float64{4} }, false}, {func(d *Definition) { d.Target.Share = nil }, false}},
		"Target.Offset":   {{func(d *Definition) { d.Target.Offset = true }, false}},
		"Target.Exposure": {{func(d *Definition) { d.Target.Exposure = Exposure{} }, false}},
		"Exposure.Column": {{func(d *Definition) { d.Target.Exposure.Column = "months" }, false}},
		"Exposure.Low":    {{func(d *Definition) { d.Target.Exposure.Low = .25 }, false}},
		"Exposure.High":   {{func(d *Definition) { d.Target.Exposure.High = 3 }, false}},
		"Target":          {{func(d *Definition) { d.Target = Target{Kind: Ignore} }, false}},
		"Columns":         {{func(d *Definition) { d.Columns[2], d.Columns[3] = d.Columns[3], d.Columns[2] }, false}},
	}},
	{func() Definition {
		return Definition{Columns: []Column{{Name: "age", Kind: Number, Low: 17, High: 90}},
			Target: Target{Column: "ill", Kind: Category, Classes: []string{"a", "b", "c"}, Weight: "w", Share: []float64{.5, .25, .25}}}
	}, map[string][]edit{
		"Target.Classes": {{func(d *Definition) { d.Target.Classes = []string{"a", "c", "b"} }, false}},
		"Target.Weight":  {{func(d *Definition) { d.Target.Weight = "v" }, false}, {func(d *Definition) { d.Target.Weight = "" }, false}},
	}},
	{func() Definition {
		return Definition{Columns: []Column{{Name: "age", Kind: Number, Low: 17, High: 90}, {Name: "arm", Kind: Category, Categories: []string{"a", "b"}}},
			Target: Target{Column: "days", Kind: Number, High: 100, Event: "died", Entry: "from", Cuts: []float64{40, 100}, Changing: "arm",
				Hazards: []float64{.125, .375, .25, .25}, HazardErrors: []float64{.5, .25, .5, .25}}}
	}, map[string][]edit{
		"Target.Event":    {{func(d *Definition) { d.Target.Event = "died=1" }, false}, {func(d *Definition) { d.Target.Event = "left" }, false}},
		"Target.Entry":    {{func(d *Definition) { d.Target.Entry = "" }, false}, {func(d *Definition) { d.Target.Entry = "since" }, false}},
		"Target.Cuts":     {{func(d *Definition) { d.Target.Cuts[0] = 50 }, false}},
		"Target.Grouped":  {{func(d *Definition) { d.Target.Grouped = cloglog }, false}},
		"Target.Changing": {{func(d *Definition) { d.Target.Changing, d.Target.Hazards, d.Target.HazardErrors = "", nil, nil }, false}},
		"Target.Hazards": {{func(d *Definition) { d.Target.Hazards[0], d.Target.Hazards[1] = .25, .25 }, true},
			{func(d *Definition) { d.Target.Hazards, d.Target.HazardErrors = nil, nil }, true}},
		"Target.HazardErrors": {{func(d *Definition) { d.Target.HazardErrors[3] = .125 }, true}, {func(d *Definition) { d.Target.HazardErrors = nil }, true}},
	}},
}

// TestEveryFieldOfASchema changes one field of a definition at a time. The schema keeps it, and so do its JSON and its
// definition; the slices of its answers are copies; and it refines the first schema, and the first schema it, exactly if only
// knots of curves or baseline hazards differ.
func TestEveryFieldOfASchema(t *testing.T) {
	changed := map[string]bool{}
	for _, of := range definitions {
		make := func(change func(*Definition)) *Schema {
			def := of.of()
			change(&def)
			s, err := New(def)
			if err != nil {
				t.Fatalf("%+v: %v", def, err)
			}
			return s
		}
		text := func(s *Schema) string {
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		first := make(func(*Definition) {})
		for _, name := range slices.Sorted(maps.Keys(of.edits)) {
			changed[name] = true
			for i, e := range of.edits[name] {
				s := make(e.change)
				if reflect.DeepEqual(s.definition(), first.definition()) {
					t.Errorf("%s, edit %d: is not kept in the schema", name, i)
				}
				if text(s) == text(first) {
					t.Errorf("%s, edit %d: is not kept in JSON", name, i)
				}
				var again Schema
				if err := json.Unmarshal([]byte(text(s)), &again); err != nil || !reflect.DeepEqual(again.definition(), s.definition()) {
					t.Errorf("%s, edit %d: is read back as %+v, %v", name, i, again.definition(), err)
				}
				if copied, err := New(s.definition()); err != nil || text(copied) != text(s) || !reflect.DeepEqual(copied.Features(), s.Features()) {
					t.Errorf("%s, edit %d: its definition makes %v, %v", name, i, copied, err)
				}
				if got := s.Refines(first) == nil; got != e.refines {
					t.Errorf("%s, edit %d: refines the first: %v", name, i, got)
				}
				if got := first.Refines(s) == nil; got != e.refines {
					t.Errorf("%s, edit %d: is refined by the first: %v", name, i, got)
				}
				before := text(s)
				columns, target, missing, pairs := s.Columns(), s.Target(), s.Missing(), s.Interactions()
				for _, c := range columns {
					for _, list := range [][]string{c.Categories, c.Values} {
						clear(list)
					}
					clear(c.Knots)
				}
				for _, list := range [][]float64{target.Share, target.Cuts, target.Hazards, target.HazardErrors} {
					clear(list)
				}
				clear(columns)
				clear(target.Classes)
				clear(missing)
				clear(pairs)
				if text(s) != before {
					t.Errorf("%s, edit %d: the schema is changed through its answers", name, i)
				}
			}
		}
	}
	for _, of := range []any{Definition{}, Column{}, Target{}, Exposure{}, Unit{}} {
		for i, y := 0, reflect.TypeOf(of); i < y.NumField(); i++ {
			name := strings.TrimPrefix(y.Name()+"."+y.Field(i).Name, "Definition.")
			if !changed[name] {
				t.Errorf("%s: no edit changes it", name)
			}
		}
	}
}

// TestEveryFieldOfADialect sets one field of a dialect at a time: the dialect is not zero, Or takes the field from the one
// that has it, and from the first if both have it.
func TestEveryFieldOfADialect(t *testing.T) {
	values := map[string][2]any{"Delimiter": {";", "tab"}, "Decimal": {",", "."}, "Thousands": {"'", " "}, "Encoding": {"latin-1", "utf-8"},
		"Quote": {"'", "none"}, "Header": {[]string{"a"}, []string{"b", "c"}}}
	y := reflect.TypeFor[CSV]()
	for i := range y.NumField() {
		two, ok := values[y.Field(i).Name]
		if !ok {
			t.Fatalf("%s: has no value here", y.Field(i).Name)
		}
		with := func(v any) (c CSV) {
			reflect.ValueOf(&c).Elem().Field(i).Set(reflect.ValueOf(v))
			return c
		}
		mine, its := with(two[0]), with(two[1])
		if mine.IsZero() || !(CSV{}).IsZero() {
			t.Errorf("%s: a dialect is zero with it, or none is", y.Field(i).Name)
		}
		if mine.String() == its.String() || mine.String() == (CSV{}).String() {
			t.Errorf("%s: %s and %s", y.Field(i).Name, mine, its)
		}
		for _, c := range []struct{ a, b, want CSV }{{mine, its, mine}, {its, mine, its}, {mine, CSV{}, mine}, {CSV{}, its, its}} {
			if got := c.a.Or(c.b); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v or %v: %v: must be %v", c.a, c.b, got, c.want)
			}
		}
	}
}

// TestEveryByteOfAMark tries each byte as a delimiter, a quote and a mark between thousands.
func TestEveryByteOfAMark(t *testing.T) {
	for b := range 256 {
		c := byte(b)
		s := string([]byte{c})
		alphanumeric := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		plain := c >= 0x20 && c < 0x7f && !alphanumeric
		for field, want := range map[string]bool{
			"delimiter": (plain || c == '\t') && c != '"',
			"quote":     plain && c != ' ' && c != ',',
			"thousands": c < 0x80 && !strings.ContainsRune("0123456789+-eE\r\n.", rune(c)),
		} {
			as := CSV{}
			switch field {
			case "delimiter":
				as.Delimiter = s
			case "quote":
				as.Quote = s
			default:
				as.Thousands = s
			}
			if err := as.Check(); (err == nil) != want {
				t.Errorf("%s = %q: %v", field, s, err)
			}
		}
	}
}
