package ledgerfile

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const (
	reserved = `{"time":"2026-01-02T03:04:05Z","entry":"reserved","fit":1,"data":"/people.csv","algorithm":"gd","relation":"replace-one","epsilon":1,"delta":0.000001,"mu":0.2367043806634357}`
	sampled  = `{"time":"2026-01-02T03:04:05Z","entry":"reserved","fit":1,"data":"/people.csv","algorithm":"dp-sgd","relation":"add-or-remove","epsilon":1,"delta":0.000001,"mu":0.2367043806634357,"schedule":[{"noise_multiplier":2.5,"sampling":0.01,"count":100}]}`
)

// settled returns the line that ends the fit which the given line reserves.
func settled(line string) string {
	return strings.TrimSuffix(strings.Replace(line, `"reserved"`, `"settled"`, 1), "}") + `,"charged":0.05}`
}

func numbered(line, fit string) string { return strings.Replace(line, `"fit":1`, `"fit":`+fit, 1) }

func TestParse(t *testing.T) {
	lines := []string{reserved, settled(reserved), numbered(sampled, "2"), numbered(reserved, "3"),
		numbered(strings.Replace(settled(sampled), "settled", "interrupted", 1), "2")}
	text := strings.Join(lines, "\n") + "\n"
	entries, err := Parse([]byte(text))
	if err != nil || len(entries) != len(lines) {
		t.Fatalf("%d entries, %v: must be %d", len(entries), err, len(lines))
	}
	for i, e := range entries {
		again, err := json.Marshal(e)
		if err != nil || !equalJSON(t, string(again), lines[i]) {
			t.Errorf("line %d: read as %s", i+1, again)
		}
	}
	if parts, err := entries[2].Composed(); err != nil || len(parts) != 1 || parts[0].Count != 100 {
		t.Errorf("composed %v, %v", parts, err)
	}
	// A last line cut short at any byte is ignored, and Torn returns its offset.
	for cut := 1; cut < len(reserved); cut++ {
		torn := text + reserved[:cut]
		if got, err := Parse([]byte(torn)); err != nil || len(got) != len(lines) {
			t.Fatalf("cut at %d: %d entries, %v", cut, len(got), err)
		}
		if at, unended := Torn([]byte(torn)); at != len(text) || unended {
			t.Fatalf("cut at %d: torn at %d, unended %v", cut, at, unended)
		}
	}
	if got, err := Parse([]byte(text + "\x00\x00\x00")); err != nil || len(got) != len(lines) {
		t.Errorf("zeros at the end: %v", err)
	}
	// A last line that lacks only its newline is an entry.
	whole := strings.TrimSuffix(text, "\n")
	if got, err := Parse([]byte(whole)); err != nil || len(got) != len(lines) {
		t.Errorf("%d entries, %v", len(got), err)
	}
	if at, unended := Torn([]byte(whole)); at != len(whole) || !unended {
		t.Errorf("torn at %d, unended %v", at, unended)
	}
	if at, unended := Torn([]byte(text)); at != len(text) || unended {
		t.Errorf("torn at %d, unended %v", at, unended)
	}
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatal(a, b)
	}
	return reflect.DeepEqual(x, y)
}

// TestRules replaces each value in turn by invalid values of every kind. The error must name the
// line and the field.
func TestRules(t *testing.T) {
	numbers := []string{"-5", "0", "-0", "1e400", "1e-400", "null", `"1"`, "NaN", "Infinity", "true", "[]", "{}", "1e308"}
	values := map[string][]string{
		"entry":            {`"opened"`, `"Reserved"`, `""`, "null", "1", `"settled"`},
		"fit":              {"0", "-1", "2", "1.5", "1e3", "null", `"1"`, "9223372036854775808"},
		"data":             {`""`, "null", "1"},
		"algorithm":        {`""`, "null", "[]"},
		"relation":         {`"other"`, `""`, "null", "1", `"Replace-One"`},
		"epsilon":          append(numbers, "0.999", "1.001", "2"),
		"delta":            append(numbers, "1", "2e-6", "0.00000099"),
		"mu":               append(numbers, "0.1", "0.2366", "0.2368", "5"),
		"time":             {`""`, `"yesterday"`, "null", "1", `"0001-01-01T00:00:00Z"`},
		"charged":          {"-1", "null", "0.06", "1e308", `"0"`, "1"},
		"schedule":         {"null", "{}", "[]", "[1]", "1"},
		"noise_multiplier": numbers[:12], // the next number, 1e308, is a valid noise multiplier
		"sampling":         append(numbers, "1.0000001", "2"),
		"count":            append(numbers, "1.5", "1099511627777", "9223372036854775807"),
	}
	for _, line := range []string{sampled, settled(sampled)} {
		first := ""
		if line != sampled {
			first = sampled + "\n"
		}
		if _, err := Parse([]byte(first + line + "\n")); err != nil {
			t.Fatal(err)
		}
		for field, list := range values {
			if !strings.Contains(line, `"`+field+`":`) {
				continue
			}
			for _, value := range list {
				altered := alter(t, line, field, value)
				if altered == line {
					continue
				}
				_, err := Parse([]byte(first + altered + "\n"))
				at := "line 1: not an entry: "
				if first != "" {
					at = "line 2: not an entry: "
				}
				if err == nil || !strings.HasPrefix(err.Error(), at) {
					t.Errorf("%s = %s: error %v: must name the line", field, value, err)
				}
			}
		}
	}
}

// alter returns a line with another value of a field.
func alter(t *testing.T, line, field, value string) string {
	t.Helper()
	start := strings.Index(line, `"`+field+`":`) + len(field) + 3
	d := json.NewDecoder(strings.NewReader(line[start:]))
	var old json.RawMessage
	if err := d.Decode(&old); err != nil {
		t.Fatal(err)
	}
	return line[:start] + value + line[start+len(old):]
}

// TestLinesThatAreNone tests that lines of an invalid form, and lines in an invalid order, are
// errors.
func TestLinesThatAreNone(t *testing.T) {
	other := func(old, replacement string) string {
		return strings.Replace(settled(reserved), old, replacement, 1)
	}
	for name, text := range map[string]string{
		"empty line":          reserved + "\n\n",
		"list":                "[]\n",
		"number":              "7\n",
		"number, no newline":  "7",
		"text":                "reserved\n",
		"two objects":         reserved + reserved + "\n",
		"rest":                reserved + "x\n",
		"key twice":           strings.Replace(reserved, `"mu":`, `"mu":0.2367043806634357,"mu":`, 1) + "\n",
		"key of another case": strings.Replace(reserved, `"mu":`, `"Mu":`, 1) + "\n",
		"both cases":          strings.Replace(reserved, `"mu":`, `"MU":1,"mu":`, 1) + "\n",
		"unknown key":         strings.Replace(reserved, `"mu":`, `"note":"x","mu":`, 1) + "\n",
		"missing mu":          strings.Replace(reserved, `,"mu":0.2367043806634357`, "", 1) + "\n",
		"missing relation":    strings.Replace(reserved, `"relation":"replace-one",`, "", 1) + "\n",
		"charged reservation": strings.TrimSuffix(reserved, "}") + `,"charged":0.01}` + "\n",
		"step's key twice":    strings.Replace(sampled, `"count":100`, `"count":100,"count":1`, 1) + "\n",
		"step's unknown key":  strings.Replace(sampled, `"count":100`, `"count":100,"n":1`, 1) + "\n",
		"step without count":  strings.Replace(sampled, `,"count":100`, "", 1) + "\n",
		"not UTF-8":           strings.Replace(reserved, "people", "\xff", 1) + "\n",
		"torn in the middle":  reserved[:40] + "\n" + reserved + "\n",
		"settled first":       settled(reserved) + "\n",
		"fit twice":           reserved + "\n" + reserved + "\n",
		"fit skipped":         reserved + "\n" + numbered(reserved, "3") + "\n",
		"settled twice":       reserved + "\n" + settled(reserved) + "\n" + settled(reserved) + "\n",
		"settled unreserved":  reserved + "\n" + numbered(settled(reserved), "2") + "\n",
		"other table":         reserved + "\n" + other("/people", "/others") + "\n",
		"other algorithm":     reserved + "\n" + other(`"gd"`, `"storm"`) + "\n",
		"other relation":      reserved + "\n" + other("replace-one", "add-or-remove") + "\n",
		"other budget": reserved + "\n" + strings.NewReplacer(`"epsilon":1,`,
			`"epsilon":1.0000000001,`).Replace(settled(reserved)) + "\n",
	} {
		if entries, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "not an entry") {
			t.Errorf("%s: %d entries, %v: must be an error", name, len(entries), err)
		}
	}
}

// FuzzParse tests that Parse does not panic, that accepted entries can be composed and are parsed
// to the same entries when written again, and that text cut off the end changes no earlier entry.
func FuzzParse(f *testing.F) {
	f.Add(reserved + "\n" + settled(reserved) + "\n")
	f.Add(sampled + "\n")
	f.Add(reserved + "\n" + numbered(reserved, "2")[:50])
	f.Add(`{"entry":1e999}`)
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Parse([]byte(text))
		at, unended := Torn([]byte(text))
		if at < 0 || at > len(text) || unended && at != len(text) {
			t.Fatalf("torn at %d of %d, unended %v", at, len(text), unended)
		}
		if err != nil {
			return
		}
		var again []byte
		for _, e := range entries {
			if parts, err := e.Composed(); err != nil || len(parts) == 0 {
				t.Fatalf("%+v: composed %v, %v", e, parts, err)
			}
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			again = append(append(again, line...), '\n')
		}
		if same, err := Parse(again); err != nil || len(same) != len(entries) {
			t.Fatalf("read again: %d of %d entries, %v", len(same), len(entries), err)
		}
		if kept, err := Parse([]byte(text)[:at]); err != nil || len(kept) != len(entries) {
			t.Fatalf("without its torn end: %d of %d entries, %v", len(kept), len(entries), err)
		}
	})
}

// TestStores tests that a reservation names its store, dataset and run together or not at all, and
// that the end of the fit names the same.
func TestStores(t *testing.T) {
	const stored = `"store":"sqlite:/b.db","dataset":"people","run":"ab12"`
	with := func(line, members string) string { return strings.Replace(line, `"mu"`, members+`,"mu"`, 1) }
	entries, err := Parse([]byte(with(sampled, stored) + "\n" + with(settled(sampled), stored) + "\n"))
	if err != nil || entries[0].Run != "ab12" || entries[0].Dataset != "people" || entries[0].Store != "sqlite:/b.db" {
		t.Errorf("%+v, %v", entries, err)
	}
	for _, some := range []string{`"store":"x"`, `"run":"x"`, `"dataset":"x","run":"x"`, `"store":"x","dataset":"x"`} {
		if _, err := Parse([]byte(with(sampled, some) + "\n")); err == nil {
			t.Errorf("%s alone is taken", some)
		}
	}
	if _, err := Parse([]byte(with(sampled, stored) + "\n" + settled(sampled) + "\n")); err == nil {
		t.Error("an end that names no store is that of a reservation that does")
	}
}

// TestStepsOfASchedulesAreNamed tests the errors for a step of a schedule with a key too few, too many, twice or without a
// value: they name the step before the key.
func TestStepsOfASchedulesAreNamed(t *testing.T) {
	const step = `{"noise_multiplier":2.5,"sampling":0.01,"count":100}`
	for bad, want := range map[string]string{
		`{"noise_multiplier":2.5,"sampling":0.01}`:                        "schedule[1].count: is missing",
		`{"noise_multiplier":2.5,"sampling":0.01,"count":1,"count":2}`:    "schedule[1].count: is given twice",
		`{"noise_multiplier":2.5,"sampling":null,"count":1}`:              "schedule[1].sampling = null: must have a value",
		`{"noise_multiplier":2.5,"sampling":0.01,"count":1,"colour":"r"}`: "schedule[1].colour: is unknown: the members here are noise_multiplier, sampling, count",
		`7`: "schedule[1] = 7: must be an object",
	} {
		line := strings.Replace(sampled, step, step+","+bad, 1)
		if _, err := Parse([]byte(line + "\n")); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v: must end in %q", bad, err, want)
		}
	}
}
