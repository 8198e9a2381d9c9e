package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/effects"
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

// TestDatesAtTheirLimits tries each part of a date at both sides of its limits, as ISO 8601 and by a layout, and offsets from
// UTC at theirs.
func TestDatesAtTheirLimits(t *testing.T) {
	iso, layout := Column{Kind: Date}, Column{Kind: Date, Layout: "%d.%m.%Y %H:%M:%S"}
	for name, c := range map[string]struct {
		at    [6]int
		sound bool
	}{
		"year 0": {[6]int{0, 1, 1, 0, 0, 0}, false}, "year 1": {[6]int{1, 1, 1, 0, 0, 0}, true}, "year 9999": {[6]int{9999, 12, 31, 23, 59, 59}, true},
		"month 0": {[6]int{2024, 0, 1, 0, 0, 0}, false}, "month 12": {[6]int{2024, 12, 1, 0, 0, 0}, true}, "month 13": {[6]int{2024, 13, 1, 0, 0, 0}, false},
		"day 0": {[6]int{2024, 1, 0, 0, 0, 0}, false}, "day 31": {[6]int{2024, 1, 31, 0, 0, 0}, true}, "day 32": {[6]int{2024, 1, 32, 0, 0, 0}, false},
		"April 30": {[6]int{2024, 4, 30, 0, 0, 0}, true}, "April 31": {[6]int{2024, 4, 31, 0, 0, 0}, false},
		"a leap day": {[6]int{2024, 2, 29, 0, 0, 0}, true}, "no leap day": {[6]int{2023, 2, 29, 0, 0, 0}, false}, "1900": {[6]int{1900, 2, 29, 0, 0, 0}, false},
		"2000": {[6]int{2000, 2, 29, 0, 0, 0}, true}, "hour 23": {[6]int{2024, 1, 1, 23, 0, 0}, true}, "hour 24": {[6]int{2024, 1, 1, 24, 0, 0}, false},
		"minute 59": {[6]int{2024, 1, 1, 0, 59, 0}, true}, "minute 60": {[6]int{2024, 1, 1, 0, 60, 0}, false},
		"second 59": {[6]int{2024, 1, 1, 0, 0, 59}, true}, "second 60": {[6]int{2024, 1, 1, 0, 0, 60}, false},
	} {
		a := c.at
		want := float64(time.Date(a[0], time.Month(a[1]), a[2], 0, 0, 0, 0, time.UTC).Unix())/86400 + float64(3600*a[3]+60*a[4]+a[5])/86400
		for text, of := range map[string]Column{fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d", a[0], a[1], a[2], a[3], a[4], a[5]): iso,
			fmt.Sprintf("%02d.%02d.%04d %02d:%02d:%02d", a[2], a[1], a[0], a[3], a[4], a[5]): layout,
			fmt.Sprintf("%d.%d.%04d %d:%d:%d", a[2], a[1], a[0], a[3], a[4], a[5]):           layout} {
			if x, ok := of.Days(text); ok != c.sound || ok && x != want {
				t.Errorf("%s: %s: %v, %v: must be %v, %v", name, text, x, ok, want, c.sound)
			}
		}
	}
	for offset, seconds := range map[string]int{"": 0, "Z": 0, "z": 0, "+00:00": 0, "-00:00": 0, "+01:00": 3600, "-01:00": -3600, "+01": 3600, "-23": -23 * 3600,
		"+23:59": 23*3600 + 59*60, "-23:59": -23*3600 - 59*60, "+05:30": 5*3600 + 30*60, "+24:00": -1, "+24": -1, "+00:60": -1, "+01:5": -1, "+1:00": -1,
		"+0100": -1, "+01:00:00": -1, "+": -1, "-": -1, "01:00": -1, " +01:00": -1, "+01:": -1, "UTC": -1, "Z+01:00": -1, "+01:00Z": -1, "++1": -1} {
		for _, clock := range []string{"12:00", "12:00:00", "12:00:00.5", "12:00:00.123456789123"} {
			x, ok := iso.Days("2024-03-01T" + clock + offset)
			if want := 19783 + float64(12*3600-seconds)/86400; ok != (seconds != -1) || ok && x != want {
				t.Errorf("%s%s: %v, %v: must be %v", clock, offset, x, ok, want)
			}
		}
	}
	for _, text := range []string{"2024-03-01T12:00:00.", "2024-03-01T12:00.5", "2024-03-01T12", "2024-03-01T", "2024-03-01 ", "2024-03-01x12:00", "2024-3-1",
		"24-03-01", "12024-03-01", "2024-03-01T12:00:0", "2024-03-01T12:0", "+2024-03-01", "2024/03/01", "2024-03-01T12:00:00,5", "2024-03-01Z"} {
		if x, ok := iso.Days(text); ok && text != "2024-03-01 " { // white space around a cell is dropped
			t.Errorf("%s: %v", text, x)
		}
	}
}

// TestEffectsAtTheirLimits tries each number of effects at both sides of its limits, and as no number.
func TestEffectsAtTheirLimits(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "age", Kind: Number, Low: 17, High: 90}, {Name: "ward", Kind: Category, Categories: []string{"a", "b"}}},
		Target: Target{Column: "ill", Kind: Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	sound := func() Effects {
		return Effects{Seed: 1, Features: 8, Weight: 1, Scale: 1, Centres: make([]float64, 2), Weights: make([]float64, s.Dim()), Deviations: []float64{1}}
	}
	if _, err := s.WithEffects(sound()); err != nil {
		t.Fatal(err)
	}
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	below := func(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
	none := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1}
	try := func(field string, set func(*Effects, float64), good []float64, bad ...float64) {
		t.Helper()
		for i, x := range append(good, bad...) {
			e := sound()
			set(&e, x)
			if _, err := s.WithEffects(e); (err == nil) != (i < len(good)) || err != nil && !strings.HasPrefix(err.Error(), "dataset: effects."+field) {
				t.Errorf("%s = %v: %v", field, x, err)
			}
		}
	}
	try("features", func(e *Effects, x float64) { e.Features = int(x) }, []float64{effects.Least, effects.Least + 2, effects.Most},
		effects.Least-2, effects.Least+1, effects.Most+2, effects.Most-1, 0, -2)
	try("weight", func(e *Effects, x float64) { e.Weight = x }, []float64{.1, 1, 100}, append(none, below(.1), above(100))...)
	try("scale", func(e *Effects, x float64) { e.Scale = x }, []float64{1 / 1e100, 1, 1e100}, append(none, below(1/1e100), above(1e100))...)
	try("deviations", func(e *Effects, x float64) { e.Deviations = []float64{1, x} }, []float64{1e-3, 1, 1e3}, append(none, below(1e-3), above(1e3))...)
	try("deviations", func(e *Effects, x float64) { e.Deviations = slices.Repeat([]float64{1}, int(x)) }, []float64{0, 1, 16}, 17, 18)
	try("centres", func(e *Effects, x float64) { e.Centres = make([]float64, int(x)) }, []float64{2}, 0, 1, 3)
	try("weights", func(e *Effects, x float64) { e.Weights = make([]float64, int(x)) }, []float64{float64(s.Dim())}, 0, float64(s.Dim()-1), float64(s.Dim()+1))
	try("weights", func(e *Effects, x float64) { e.Weights[1] = x }, []float64{0, -1, 1e100, -1e100}, none[0], none[1], none[2], above(1e100), -above(1e100))
	try("weights", func(e *Effects, x float64) { e.Centres[1] = x }, []float64{0, -1, 1e100, -1e100}, none[0], none[1], none[2], above(1e100), -above(1e100))
	try("weights", func(e *Effects, x float64) { e.Centres[1], e.Weights[0] = x, -x }, []float64{5e99}, 6e99+4.1e99)
	text, err := json.Marshal(sound())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new string }{{`"seed":"1"`, `"seed":"1","note":1`}, {`"seed":"1"`, `"seed":1`}, {`"seed":"1"`, `"seed":""`}, {`"seed":"1"`, `"seed":"-1"`},
		{`"seed":"1"`, `"seed":"g"`}, {`"seed":"1"`, `"seed":"10000000000000000"`}, {`"features":8`, `"features":8.5`}} {
		var e Effects
		if err := json.Unmarshal([]byte(strings.Replace(string(text), c.old, c.new, 1)), &e); err == nil {
			t.Errorf("%s in place of %s: %+v", c.new, c.old, e)
		}
	}
	if e := new(Effects); json.Unmarshal([]byte(strings.Replace(string(text), `"seed":"1"`, `"seed":"ffffffffffffffff"`, 1)), e) != nil || e.Seed != 1<<64-1 {
		t.Errorf("%+v: must have the largest seed", e)
	}
}
