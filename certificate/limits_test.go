package certificate

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// judged fails the test unless an error is unsound and begins with the field, or is nil if field is empty.
func judged(t *testing.T, what string, err error, field string) {
	t.Helper()
	if (err == nil) != (field == "") || err != nil && (!errors.Is(err, ErrUnsound) || !strings.HasPrefix(err.Error(), "certificate: "+field+" = ") &&
		!strings.HasPrefix(err.Error(), "certificate: "+field+": ")) {
		t.Errorf("%s: %v: must be about %q", what, err, field)
	}
}

// TestNumbersAtTheirLimits tries the numbers of a certificate at both sides of their limits, and as no number.
func TestNumbersAtTheirLimits(t *testing.T) {
	mu, err := mechanism.GaussianMu(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	good := claim{Epsilon: 1, Delta: 1e-6, Mu: mu, Relation: account.ReplaceOne}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, -5e-324} {
		for field, change := range map[string]func(*claim){"claim.epsilon": func(c *claim) { c.Epsilon = x }, "claim.delta": func(c *claim) { c.Delta = x },
			"claim.mu": func(c *claim) { c.Mu = x }} {
			c := good
			change(&c)
			_, err := c.check()
			judged(t, fmt.Sprint(field, " ", x), err, field)
		}
	}
	for what, c := range map[string]struct {
		change   func(*claim)
		field    string // of check
		greatest string // of checkGreatest
	}{
		"as it is":              {func(*claim) {}, "", ""},
		"a larger mu":           {func(c *claim) { c.Mu = math.Nextafter(mu, 1) * (1 + 1e-15) }, "claim.epsilon", ""},
		"mu less 2^-41":         {func(c *claim) { c.Mu = mu * (1 - 0x1p-41) }, "", ""},
		"mu less 2^-39":         {func(c *claim) { c.Mu = mu * (1 - 0x1p-39) }, "", "claim.mu"},
		"half of mu":            {func(c *claim) { c.Mu = mu / 2 }, "", "claim.mu"},
		"delta 1":               {func(c *claim) { c.Delta = 1 }, "claim.delta", "-"},
		"no relation":           {func(c *claim) { c.Relation = 0 }, "claim.relation", ""},
		"an unknown relation":   {func(c *claim) { c.Relation = 3 }, "claim.relation", ""},
		"the other relation":    {func(c *claim) { c.Relation = account.AddOrRemove }, "", ""},
		"less epsilon":          {func(c *claim) { c.Epsilon = 1 - 1e-9 }, "claim.epsilon", ""},
		"a little more epsilon": {func(c *claim) { c.Epsilon = 1 + 1e-9 }, "", "claim.mu"},
	} {
		k := good
		c.change(&k)
		epsilon, err := k.check()
		judged(t, what, err, c.field)
		if err == nil && !(epsilon <= k.Epsilon) {
			t.Errorf("%s: epsilon %v", what, epsilon)
		}
		if c.greatest != "-" {
			judged(t, what+", the greatest mu", k.checkGreatest(), c.greatest)
		}
	}
	sound := func() document {
		cert := mustNew(t, params(t))
		return cert.doc
	}
	d := sound()
	for records, field := range map[int64]string{-1: "records", 0: "records", 1: "events[2].cohort", 1 << 53: "", 1<<53 + 1: "records"} {
		d.Records = records
		_, err := d.check(t.Context())
		judged(t, fmt.Sprint(records, " records"), err, field)
	}
	d = sound()
	for cohort, field := range map[uint64]string{0: "", 1: "", uint64(d.Records): "", uint64(d.Records) + 1: "events[7].cohort", 1 << 63: "events[7].cohort"} {
		e := account.Event{Relation: d.Claim.Relation, Cohort: cohort, Question: "q"}
		judged(t, fmt.Sprint("cohort ", cohort), d.checkEvent("events[7]", e), field)
	}
	for what, c := range map[string]struct {
		change func(*account.Event)
		field  string
	}{"relation": {func(e *account.Event) { e.Relation = account.AddOrRemove }, "events[7].relation"}, "no relation": {func(e *account.Event) { e.Relation = 0 }, "events[7].relation"},
		"coins": {func(e *account.Event) { e.Simulated = true }, "events[7].simulated"}, "question": {func(e *account.Event) { e.Question = "" }, "events[7].question"}} {
		e := account.Event{Relation: account.ReplaceOne, Question: "q"}
		c.change(&e)
		for _, schedule := range [][]account.SampledSteps{nil, {{NoiseMultiplier: 1, Sampling: 1, Count: 1}}} {
			d := sound()
			d.Claim.Relation, d.Schedule = account.ReplaceOne, schedule
			judged(t, what, d.checkEvent("events[7]", e), c.field)
		}
	}
	digest := strings.Repeat("0f", 32)
	for text, sound := range map[string]bool{digest: true, digest[1:]: false, digest[2:]: false, digest + "00": false, strings.ToUpper(digest): false,
		digest[:63] + "g": false, digest[:63] + "F": false, "": false, " " + digest[1:]: false, digest + "\n": false} {
		field := "x"
		if sound {
			field = ""
		}
		judged(t, "digest "+text, checkDigest("x", text), field)
	}
	for row, field := range map[int]string{math.MinInt: "budget.row", 0: "budget.row", 1: "budget.row", 2: "", math.MaxInt: ""} {
		judged(t, fmt.Sprint("row ", row), checkReservation(&account.Reservation{Dataset: "a", Run: "r", Row: row, Head: digest}), field)
	}
}

// TestNamesAreTexts tests the names of a unit, a filter and a dataset: a text in UTF-8 without white space around it.
func TestNamesAreTexts(t *testing.T) {
	for name, sound := range map[string]bool{"x": true, "two words": true, "größe": true, "": false, " ": false, " x": false, "x ": false, "x\n": false, "\u00a0x": false,
		"\xff": false, "x\xff": false} {
		digest := strings.Repeat("0f", 32)
		for field, err := range map[string]error{
			"unit.column":    checkUnit(&account.Unit{Column: name, Rows: 1, Count: account.Mean}),
			"filter.column":  checkFilter(&account.Filter{Column: name, Value: "v"}),
			"filter.value":   checkFilter(&account.Filter{Column: "c", Value: name}),
			"budget.dataset": checkReservation(&account.Reservation{Dataset: name, Run: "r", Row: 2, Head: digest}),
		} {
			if sound {
				field = ""
			}
			judged(t, fmt.Sprintf("%q", name), err, field)
		}
	}
	for rows, field := range map[int]string{-1: "unit.rows", 0: "unit.rows", 1: ""} {
		judged(t, fmt.Sprint(rows, " rows"), checkUnit(&account.Unit{Column: "c", Rows: rows, Count: account.Sum}), field)
	}
	for count, field := range map[account.Counting]string{"": "unit.count", "Mean": "unit.count", "mean": "", "sum": "", "max": "unit.count"} {
		judged(t, "count "+string(count), checkUnit(&account.Unit{Column: "c", Rows: 1, Count: count}), field)
	}
}

// TestBeginningsOfFiles tests which first characters a file may have: white space of JSON and a brace. Nothing else of the file
// is read then.
func TestBeginningsOfFiles(t *testing.T) {
	text := mustNew(t, params(t)).text
	for before, sound := range map[string]bool{"": true, " ": true, "\t": true, "\r": true, "\n": true, "\r\n \t": true, "x": false, "[": false, "\ufeff": false, "\v": false,
		"\u00a0": false, "\x00": false, "\"": false} {
		path := filepath.Join(t.TempDir(), "certificate.json")
		if err := os.WriteFile(path, append([]byte(before), text...), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := Read(path); (err == nil) != sound || err != nil && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "must be a JSON object: it begins with ")) {
			t.Errorf("%q: %v, %v", before, c, err)
		}
	}
}
