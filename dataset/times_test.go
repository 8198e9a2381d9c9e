package dataset

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// TestTimesAreRead tests by cells how the time to an event is read: which rows are malformed, that times after the end
// count as observed until the end, and that a table of numbers is read like its texts.
func TestTimesAreRead(t *testing.T) {
	schema := func(event string) *Schema {
		var s Schema
		text := "columns: {x: {number: [0, 1]}}\ntarget: {time: t, event: " + event +
			", entry: e, cuts: [2, 10]}\nmissing: [\"\", NA]\n"
		if err := yaml.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	for _, c := range []struct{ event, cells, want string }{
		{"d", "5|1|0", "0 5 event"}, {"d", "5|0|0", "0 5"}, {"d", "5|TRUE|1", "1 5 event"}, {"d", "5|1.0|1", "1 5 event"},
		{"d", "10|1|0", "0 10 event"}, {"d", "10.5|1|0", "0 10"}, {"d", "inf|1|9", "9 10"},
		{"d", "5|1|5", ""}, {"d", "5|1|6", ""}, {"d", "50|1|10", ""}, {"d", "-1|1|0", ""}, {"d", "5|1|-1", ""},
		{"d", "5|2|0", ""}, {"d", "5||0", ""}, {"d", "5|NA|0", ""}, {"d", "|1|0", ""}, {"d", "5|1|NA", ""},
		{"d", "5|yes|0", ""}, {"d", "0|1|0", "0 0 event"}, {"d", "0|0|0", "0 0"}, {"d", "0|1|.1", ""},
		{"d=dead", "5|dead|0", "0 5 event"}, {"d=dead", "5|1|0", "0 5"}, {"d=dead", "5||0", ""},
		{"d=2", "5|2|0", "0 5 event"},
	} {
		m, err := schema(c.event).Bind([]string{"x", "t", "d", "e"})
		if err != nil {
			t.Fatal(err)
		}
		cells := append([]string{".5"}, strings.Split(c.cells, "|")...)
		row := make([]float32, m.Dim())
		y, ok := m.Encode(row, cells)
		got := ""
		if ok {
			entry, exit, event := targetpair.SplitTimes(y)
			got = showFloat(math.Round(entry*1e5)/1e4) + " " + showFloat(math.Round(exit*1e5)/1e4)
			if event {
				got += " event"
			}
		}
		if got != c.want {
			t.Errorf("event %s, %s: read as %q: want %q", c.event, c.cells, got, c.want)
		}
		readings := make([][]float64, len(cells))
		for i, cell := range cells {
			readings[i] = []float64{m.Column(i).Text(cell)}
		}
		if again, same := m.EncodeReadingsWhole(row, readings, 0); again != y || same != ok {
			t.Errorf("%s: readings give %v, %v: want %v, %v", c.cells, again, same, y, ok)
		}
	}
	// An event at time 0 counts where there are no entries.
	var s Schema
	const plain = "columns: {x: {number: [0, 1]}}\ntarget: {time: t, event: d, number: [0, 8]}\n"
	if err := yaml.Unmarshal([]byte(plain), &s); err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind([]string{"x", "t", "d"})
	if err != nil {
		t.Fatal(err)
	}
	if y, ok := m.Encode(make([]float32, 2), []string{"0", "0", "1"}); !ok || y != 1 {
		t.Errorf("an event at time 0 is read as %v, %v", y, ok)
	}
	if cuts := s.Target().Cuts; len(cuts) != 8 || cuts[0] != 1 || cuts[7] != 8 {
		t.Errorf("default cuts: %v", cuts)
	}
	u, err := s.BindUnlabelled([]string{"x"})
	if err != nil {
		t.Fatal(err)
	}
	if y, ok := u.Encode(make([]float32, 2), []string{"0"}); !ok || y != 0 {
		t.Errorf("to be predicted: %v, %v", y, ok)
	}
}

// TestTimesAreWritten tests that a schema of a time is read from what it writes.
func TestTimesAreWritten(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "x", Kind: Number, High: 1}}, Target: Target{Column: "t",
		Kind: Number, High: 10, Event: "d=2", Entry: "e", Cuts: []float64{2, 10}}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.MarshalYAML()
	if err != nil {
		t.Fatal(err)
	}
	again := new(Schema)
	if err := yaml.Unmarshal(text, again); err != nil || again.Refines(s) != nil {
		t.Errorf("%s: %v", text, err)
	}
	def := s.definition()
	def.Columns = append(def.Columns, Column{Name: "c", Kind: Category, Categories: []string{"a", "b"}})
	def.Target.Changing, def.Target.Grouped = "c", "cloglog"
	if s, err = New(def); err != nil {
		t.Fatal(err)
	}
	if text, err = s.MarshalYAML(); err != nil || yaml.Unmarshal(text, again) != nil || again.Refines(s) != nil ||
		again.Target().Changing != "c" || again.Target().Grouped != "cloglog" {
		t.Errorf("%s: %v", text, err)
	}
	ungrouped := s.Target()
	ungrouped.Grouped = ""
	if other, err := New(Definition{Columns: def.Columns, Target: ungrouped}); err != nil || other.Refines(s) == nil {
		t.Error("a schema whose times are not grouped refines one of grouped times")
	}
	target := s.Target()
	target.Hazards = []float64{.25, .75}
	if _, err := New(Definition{Columns: def.Columns, Target: target}); err == nil {
		t.Error("too few hazards")
	}
	target.Hazards, target.HazardErrors = []float64{.25, .25, .2, .3}, []float64{.1, .1, .1, .1}
	def = s.definition()
	def.Target = target
	hazards, err := New(def)
	if err != nil || hazards.Refines(s) != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(hazards)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stored, again); err != nil || again.Target().Hazards[2] != .2 || again.Target().HazardErrors[3] != .1 {
		t.Errorf("%s: %v", stored, err)
	}
}

// TestGroupedIsRead: a stored schema names the link of grouped times, or has true for the only link of before.
func TestGroupedIsRead(t *testing.T) {
	for written, want := range map[string]string{"true": "cloglog", `"cloglog"`: "cloglog", `"logit"`: "logit", `""`: "", `false`: "error",
		`1`: "error", `"probit"`: "error"} {
		stored := `{"columns": [{"name": "x", "number": [0, 1]}], "target": {"column": "years", "number": [0, 2], "event": "died",
			"cuts": [1, 2], "grouped": ` + written + `}}`
		s := new(Schema)
		if err := json.Unmarshal([]byte(stored), s); (err != nil) != (want == "error") || err == nil && s.Target().Grouped != want {
			t.Errorf("grouped: %s: %v, %q", written, err, s.Target().Grouped)
		}
	}
	for written, want := range map[string]string{"true": "cloglog", "logit": "logit", "cloglog": "cloglog", "false": ""} {
		s := new(Schema)
		text := "columns: {x: {number: [0, 1]}}\ntarget: {time: years, event: died, cuts: [1, 2], grouped: " + written + "}\n"
		if err := yaml.Unmarshal([]byte(text), s); err != nil || s.Target().Grouped != want {
			t.Errorf("grouped: %s: %v, %q", written, err, s.Target().Grouped)
		}
	}
}

// TestTimesAreChecked tests the errors of schemas of a time.
func TestTimesAreChecked(t *testing.T) {
	for target, want := range map[string]string{
		"{time: t, cuts: [1]}":                                                  "target.event",
		"{time: t, event: d}":                                                   "target.cuts: must list the ends",
		"{time: t, event: d, cuts: [2, 1]}":                                     "target.cuts",
		"{time: t, event: d, cuts: [0, 1]}":                                     "target.cuts",
		"{time: t, event: d, number: [0, 5], cuts: [1, 4]}":                     "target.cuts",
		"{time: t, event: d, number: [1, 5]}":                                   "target.number",
		"{time: t, event: t, cuts: [1]}":                                        "target.event",
		"{time: t, event: d, entry: d, cuts: [1]}":                              "target.entry",
		"{time: t, event: x, cuts: [1]}":                                        "target.event",
		"{time: t, event: d, weight: w, cuts: [1]}":                             "target.weight = \"w\": must be left out",
		"{column: y, number: [0, 1], entry: e}":                                 "are for the time to an event",
		"{time: t, event: d, cuts: [1, 2], changing: x}":                        "target.changing",
		"{time: t, event: d, cuts: [1, 2], changing: w}":                        "target.changing",
		"{time: t, event: d, cuts: [2], changing: c}":                           "target.changing",
		"{time: t, event: d, cuts: [1, 2], changing: c, grouped: logit}":        "target.changing = \"c\": must be left out with grouped",
		"{column: y, number: [0, 1], grouped: true}":                            "are for the time to an event",
		"{time: t, event: d, cuts: [1], grouped: perhaps}":                      "target.grouped = \"perhaps\": must be true (complementary",
		"{column: y, number: [0, 1], changing: c}":                              "are for the time to an event",
		"{time: t, event: d, classes: [a, b]}":                                  "target",
		"{time: t, event: \"=2\", cuts: [1]}":                                   "target.event",
		"{time: t, event: d, cuts: [1], exposure: {column: v, number: [1, 2]}}": "target.exposure = \"v\": must be left out",
		"{time: t, event: d, cuts: [1], offset: {column: v, number: [-1, 2]}}":  "target.offset = \"v\": must be left out",
		"{time: t, event: \"d=\", cuts: [1]}":                                   "target.event = \"d=\": must have the value",
		"{time: t, event: \"d = \", cuts: [1]}":                                 "target.event = \"d = \": must have the value",
	} {
		err := yaml.Unmarshal([]byte("columns: {x: {number: [0, 1]}, c: {category: [a, b]}}\ntarget: "+target+"\n"), new(Schema))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %s", target, err, want)
		}
	}
}

// TestLevelsAreRead tests that the level of a changing column stands beside the time, for rows with and without a target,
// and that a cell that is not listed counts as the first level.
func TestLevelsAreRead(t *testing.T) {
	s := new(Schema)
	if err := yaml.Unmarshal([]byte("columns: {c: {category: [a, b, z]}}\n"+
		"target: {time: t, event: d, cuts: [2, 8], changing: c}\n"), s); err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind([]string{"c", "t", "d"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.BindUnlabelled([]string{"c"})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float32, m.Dim())
	for cell, want := range map[string]int{"a": 0, "b": 1, "z": 2, "q": 0, "": 0} {
		y, ok := m.Encode(row, []string{cell, "4", "1"})
		if entry, exit, event := targetpair.SplitTimes(y); !ok || targetpair.Level(y) != want || entry != 0 || exit != .5 || !event {
			t.Errorf("%q is read as level %d of %v, %v, %v", cell, targetpair.Level(y), entry, exit, event)
		}
		if y, ok = u.Encode(row, []string{cell}); !ok || targetpair.Level(y) != want {
			t.Errorf("%q without a target is read as %v, %v", cell, y, ok)
		}
	}
	if y, ok := m.Encode(row, []string{"b", "-4", "1"}); ok || y != 0 {
		t.Errorf("a malformed row is read as %v, %v", y, ok)
	}
}

// TestHazardsSumToOne tests that hazards whose sum is below or above 1, or that are fewer than the cuts, are refused.
func TestHazardsSumToOne(t *testing.T) {
	for _, c := range []struct {
		hazards []float64
		good    bool
	}{{[]float64{.25, .75}, true}, {[]float64{.25, .7}, false}, {[]float64{.25, .8}, false}, {[]float64{1}, false}, {nil, true}} {
		_, err := New(Definition{Columns: []Column{{Name: "x", Kind: Number, High: 1}}, Target: Target{Column: "t", Kind: Number,
			High: 10, Event: "d", Cuts: []float64{2, 10}, Hazards: c.hazards}})
		if (err == nil) != c.good {
			t.Errorf("%v: %v", c.hazards, err)
		}
	}
}
