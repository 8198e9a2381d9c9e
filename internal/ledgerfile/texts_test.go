package ledgerfile

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// TestTextsOfRules tests the whole text of the error for each rule about an entry, and that a value at the edge of a rule
// is taken.
func TestTextsOfRules(t *testing.T) {
	end := settled(reserved)
	certified := strings.Replace(end, `"charged"`, `"certificate":"`+strings.Repeat("0f", 32)+`","charged"`, 1)
	for _, c := range []struct{ line, old, new, want string }{
		{reserved, `"reserved"`, `"begun"`, `entry = "begun": must be reserved, settled or interrupted`},
		{reserved, `"2026-01-02T03:04:05Z"`, `"0001-01-01T00:00:00Z"`, "time = 0001-01-01 00:00:00 +0000 UTC: must be given"},
		{reserved, `"fit":1`, `"fit":0`, "fit = 0: must be >= 1"},
		{reserved, `"fit":1`, `"fit":2`, "fit = 2: must be 1, the next"},
		{reserved, `"/people.csv"`, `""`, `data = "": must be the path of the table`},
		{reserved, `"gd"`, `""`, `algorithm = "": must be a name`},
		{reserved, `"epsilon":1`, `"epsilon":0`, "epsilon = 0: must be finite and > 0"},
		{reserved, `"epsilon":1`, `"epsilon":-1`, "epsilon = -1: must be finite and > 0"},
		{reserved, `"delta":0.000001`, `"delta":0`, "delta = 0: must be > 0 and < 1"},
		{reserved, `"delta":0.000001`, `"delta":1`, "delta = 1: must be > 0 and < 1"},
		{reserved, `"mu":0.2367043806634357`, `"mu":0`, "mu = 0: must be finite and > 0"},
		{reserved, `"mu":0.2367043806634357`, `"mu":0.23671`, "mu = 0.23671: must be that of epsilon = 1 and delta = 1e-06"},
		{reserved, `"mu":0.2367043806634357`, `"mu":0.2367`, "mu = 0.2367: must be that of epsilon = 1 and delta = 1e-06"},
		{reserved, `"mu":0.2367043806634357`, `"mu":0.23670459`, ""},
		{reserved, `"mu":0.2367043806634357`, `"mu":0.2367042`, ""},
		{reserved, `"mu"`, `"charged":0.01,"mu"`, "charged = 0.01: must be absent from a reservation"},
		{end, `"charged":0.05`, `"charged":-0.05`, "charged = -0.05: must be finite and >= 0"},
		{end, `"charged":0.05`, `"charged":0.0560291`,
			"charged = 0.0560291: must be at most mu^2 = 0.056028963825260666"},
		{end, `"charged":0.05`, `"charged":0.056029`, ""},
		{end, `"charged":0.05`, `"charged":0`, ""},
		{certified, "", "", ""},
		{certified, "0f0f", "0F0F", `certificate = "0F0F` + strings.Repeat("0f", 30) +
			`": must be 64 hexadecimal digits in an end, or absent`},
		{reserved, `"mu"`, `"certificate":"` + strings.Repeat("0f", 32) + `","mu"`, `certificate = "` +
			strings.Repeat("0f", 32) + `": must be 64 hexadecimal digits in an end, or absent`},
		{reserved, `"mu"`, `"store":"s","run":"r","mu"`, `store, dataset, run = "s", "", "r": must be given together or not at all`},
		{end, `"fit":1`, `"fit":2`, "fit = 2: must be one that was reserved before"},
		{end, `"gd"`, `"adam"`, `entry = "settled": must state the table, algorithm and budget that fit 1 reserved`},
		{end, `"/people.csv"`, `"/other.csv"`,
			`entry = "settled": must state the table, algorithm and budget that fit 1 reserved`},
		{end, `"replace-one"`, `"add-or-remove"`,
			`entry = "settled": must state the table, algorithm and budget that fit 1 reserved`},
	} {
		line := strings.Replace(c.line, c.old, c.new, 1)
		text, number := line+"\n", "1"
		if c.line != reserved {
			text, number = reserved+"\n"+line+"\n", "2"
		}
		_, err := Parse([]byte(text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != "line "+number+": not an entry: "+c.want) {
			t.Errorf("%s: %v: must be %q", line, err, c.want)
		}
	}
	two := strings.Join([]string{reserved, numbered(reserved, "2"), end, numbered(end, "2")}, "\n") + "\n"
	if list, err := Parse([]byte(two)); err != nil || len(list) != 4 {
		t.Errorf("two fits and their ends: %d entries, %v", len(list), err)
	}
	if _, err := Parse([]byte(two + end + "\n")); err == nil ||
		err.Error() != "line 5: not an entry: fit = 1: must be one that has not ended before" {
		t.Errorf("a second end: %v", err)
	}
}

// TestTogether tests the composition of two Gaussian budgets against the formula, that of a schedule against its own
// mechanism, and the errors of entries that have no mechanism.
func TestTogether(t *testing.T) {
	var gaussian, schedule Entry
	if err := json.Unmarshal([]byte(reserved), &gaussian); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(sampled), &schedule); err != nil {
		t.Fatal(err)
	}
	// Two Gaussian mechanisms are one of mu sqrt 2.
	want, err := mechanism.GaussianEpsilon(gaussian.Mu*math.Sqrt2, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	both, err := Together(context.Background(), []Entry{gaussian, gaussian}, 1e-5)
	if err != nil || both < want || both > 1.001*want {
		t.Errorf("two budgets: epsilon %v, %v: must be at least %v, and hardly more", both, err, want)
	}
	parts, err := schedule.Composed()
	if err != nil {
		t.Fatal(err)
	}
	composed, err := mechanism.Compose(context.Background(), parts, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := composed.Epsilon(context.Background(), 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if alone, err := Together(context.Background(), []Entry{schedule}, 1e-5); err != nil || alone != bounds.Upper {
		t.Errorf("a schedule: epsilon %v, %v: must be %v", alone, err, bounds.Upper)
	}
	if more, err := Together(context.Background(), []Entry{gaussian, schedule}, 1e-5); err != nil || more <= bounds.Upper {
		t.Errorf("with a budget: epsilon %v, %v: must be above %v", more, err, bounds.Upper)
	}
	if _, err := Together(context.Background(), []Entry{gaussian}, 2); err == nil {
		t.Error("delta = 2 is taken")
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Together(stopped, []Entry{schedule}, 1e-5); err == nil {
		t.Error("an end of the context is not told")
	}
	gaussian.Mu = 0
	if _, err := Together(context.Background(), []Entry{gaussian}, 1e-5); err == nil {
		t.Error("mu = 0 is taken")
	}
	schedule.Schedule[0].Sampling = 2
	if _, err := Together(context.Background(), []Entry{schedule}, 1e-5); err == nil {
		t.Error("sampling = 2 is taken")
	}
}

// TestTextsOfMembers tests the whole text of the error for a line that is no object with the keys of an entry.
func TestTextsOfMembers(t *testing.T) {
	for line, want := range map[string]string{
		"7":                   "7: must be an object",
		`{"fit"`:              "",
		reserved + "{}":       "must be one JSON value with nothing after it",
		`{"fit":1,"fit":1}`:   "fit: is given twice",
		`{"colour":1}`:        "time: is missing",
		`{"fit":null}`:        "fit = null: must have a value",
		`{"fit":1}`:           "time: is missing",
		`{"fit":01}`:          "must be JSON: invalid character '1' after object key:value pair",
		`{1:2}`:               "must be JSON: invalid character '1' looking for beginning of object key string",
		`{"fit":1 2}`:         "must be JSON: invalid character '2' after object key:value pair",
		"{\"data\":\"\xff\"}": "must be UTF-8",
		strings.Replace(reserved, `:1,"data`, `:"1","data`, 1):    `fit = "1": must be an integer`,
		strings.Replace(reserved, `"mu"`, `"schedule":7,"mu"`, 1): "schedule = 7: must be an array",
	} {
		text := line + "\n"
		if want == "" { // cut short by a crash
			text = line
		}
		if _, err := Parse([]byte(text)); want == "" && err != nil ||
			want != "" && (err == nil || err.Error() != "line 1: not an entry: "+want) {
			t.Errorf("%s: %v: must be %q", line, err, want)
		}
	}
}
