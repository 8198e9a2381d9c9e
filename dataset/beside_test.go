package dataset

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// TestTargetsCarry tests that an encoded target, one float64, also contains the record's weight or
// exposure, clamped to its bounds. It also tests that a record whose weight or exposure is missing or invalid
// is malformed, and that prediction does not need the column of weights or exposures.
func TestTargetsCarry(t *testing.T) {
	column := Column{Name: "x", Kind: Number, Low: 0, High: 1}
	for name, c := range map[string]struct {
		target Target
		wide   bool
		cells  map[string][2]float64 // y and its share, by cells
		none   []string
	}{
		"weight of two classes": {
			Target{Column: "y", Kind: Category, Classes: []string{"no", "yes"}, Weight: "v"}, false,
			map[string][2]float64{"yes|0.25": {1, .25}, "no| 1 ": {-1, 1}, "no|0": {-1, 0}, "yes|-3": {1, 0}, "yes|7": {1, 1},
				"yes|inf": {1, 1}},
			[]string{"yes|", "yes|NaN", "yes|?", "yes|a", "maybe|1"},
		},
		"weight of three": {
			Target{Column: "y", Kind: Category, Classes: []string{"a", "b", "c"}, Weight: "v"}, true,
			map[string][2]float64{"c|0.5": {2, .5}, "a|1": {0, 1}, "b|0": {1, 0}}, []string{"d|.5", "a|"},
		},
		"exposure": {
			Target{Column: "y", Kind: Number, Low: 0, High: 10, Exposure: Exposure{"v", .5, 4}}, false,
			map[string][2]float64{"10|4": {1, 1}, "0|1": {-1, .25}, "5|0": {0, .125}, "20|9": {1, 1}},
			[]string{"1|", "1|-", "|1"},
		},
		"offset": {
			Target{Column: "y", Kind: Number, Low: 0, High: 10, Exposure: Exposure{"v", -1, 2}, Offset: true}, false,
			map[string][2]float64{"10|2": {1, 1}, "0|0": {-1, 8869. / 65536}, "5|-9": {0, 3263. / 65536}, "20|9": {1, 1}},
			[]string{"1|", "1|-", "|1"},
		},
	} {
		s, err := New(Definition{Columns: []Column{column}, Target: c.target, Missing: []string{"?"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := s.Bind([]string{"v", "x", "y"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		row := make([]float32, m.Dim())
		encode := func(pair string) (float64, bool) {
			y, v, _ := strings.Cut(pair, "|")
			return m.Encode(row, []string{v, ".5", y})
		}
		for pair, want := range c.cells {
			joined, ok := encode(pair)
			if y, share := targetpair.Split(joined, c.wide); !ok || y != want[0] || !(math.Abs(share-want[1]) <= 1e-15) {
				t.Errorf("%s: %s: %v with %v, %v: want %v", name, pair, y, share, ok, want)
			}
		}
		for _, pair := range c.none {
			if y, ok := encode(pair); ok || y != 0 || row[1] != 0 {
				t.Errorf("%s: %s: is taken for a record, %v", name, pair, y)
			}
		}
		u, err := s.BindUnlabelled([]string{"x"})
		if err != nil {
			t.Errorf("%s: to be predicted: %v", name, err)
		} else if y, ok := u.Encode(row, []string{".5"}); !ok || y != 0 {
			t.Errorf("%s: to be predicted: %v, %v", name, y, ok)
		}
		if _, err := s.Bind([]string{"x", "y"}); err == nil ||
			!strings.Contains(err.Error(), `column "v" of the schema is not in the table's header`) {
			t.Errorf("%s: without its column: %v", name, err)
		}
		text, err := s.MarshalYAML()
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		fromYAML, fromJSON := new(Schema), new(Schema)
		if err := yaml.Unmarshal(text, fromYAML); err != nil || fromYAML.target.beside() != "v" ||
			fromYAML.Target().Least() != s.Target().Least() {
			t.Errorf("%s: read back from\n%s%+v, %v", name, text, fromYAML.target, err)
		}
		if err := json.Unmarshal(stored, fromJSON); err != nil || fromJSON.target.beside() != "v" ||
			fromJSON.target.Exposure != c.target.Exposure || fromJSON.target.Offset != c.target.Offset ||
			fromYAML.target.Offset != c.target.Offset {
			t.Errorf("%s: read back from %s: %+v, %v", name, stored, fromJSON.target, err)
		}
	}
}

// TestBesideRules tests that a schema with an invalid column of weights or exposures is refused with
// an error that names it.
func TestBesideRules(t *testing.T) {
	column := Column{Name: "x", Kind: Number, Low: 0, High: 1}
	count := Target{Column: "y", Kind: Number, Low: 0, High: 10}
	exposed := func(e Exposure) Target {
		t := count
		t.Exposure = e
		return t
	}
	weighted := func(name string) Target {
		t := count
		t.Weight = name
		return t
	}
	both := exposed(Exposure{"v", 1, 2})
	both.Weight = "w"
	for _, c := range []struct {
		target Target
		want   string
	}{
		{weighted("y"), `target.weight = "y": is the target`},
		{weighted("x"), `target.weight = "x": is also listed under columns`},
		{weighted(" v"), `target.weight = " v"`},
		{exposed(Exposure{"y", 1, 2}), `target.exposure = "y": is the target`},
		{exposed(Exposure{"x", 1, 2}), `target.exposure = "x": is also listed under columns`},
		{Target{Column: "y", Kind: Number, High: 1, Exposure: Exposure{"x", -1, 1}, Offset: true},
			`target.offset = "x": is also listed under columns`},
		{exposed(Exposure{"", 1, 2}), `must name a column`},
		{exposed(Exposure{"v", 0, 2}), `target.exposure.number = 0: the lower bound must be above 0`},
		{exposed(Exposure{"v", 1e-7, 1}),
			`target.exposure.number = 1e-07: the lower bound must be above 0, and at least 1e-06 of the upper`},
		{exposed(Exposure{"v", 2, 1}), `target.exposure.number`},
		{Target{Column: "y", Kind: Category, Classes: []string{"a", "b"}, Exposure: Exposure{"v", 1, 2}},
			"only a number, a count, has an exposure or an offset"},
		{Target{Column: "y", Kind: Number, High: 1, Exposure: Exposure{"v", -9, 5}, Offset: true},
			"target.offset.number = -9: the bounds must be at most 13.8 apart"},
		{both, "must not be given beside an exposure"},
	} {
		if _, err := New(Definition{Columns: []Column{column}, Target: c.target}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v: want %q", c.target, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"columns: {x: {number: [0, 1]}}\ntarget: {column: y, number: [0, 1], exposure: 3}":                             "must be a mapping",
		"columns: {x: {number: [0, 1]}}\ntarget: {column: y, number: [0, 1], exposure: {column: v, most: 3}}":          "unknown key",
		"columns: {x: {number: [0, 1]}}\ntarget: {column: y, number: [0, 1], exposure: {column: v, number: [1]}}":      "must list two",
		"columns: {x: {number: [0, 1]}}\ntarget: {column: y, number: [0, 1], weight: [v]}":                             "must be a text",
		"columns: {x: {number: [0, 1]}}\ntarget: {column: y, number: [0, 1], exposure: {column: v, number: [0.5, x]}}": "must be a finite number",
	} {
		if err := yaml.Unmarshal([]byte(text), new(Schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %q", text, err, want)
		}
	}
}
