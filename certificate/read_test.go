package certificate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	valid := string(mustNew(t, params(t)).text)
	replace := func(old, new string) string {
		if !strings.Contains(valid, old) {
			t.Fatalf("no %q in the file", old)
		}
		return strings.Replace(valid, old, new, 1)
	}
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "must be JSON"},
		{"null", "null", "must be an object"},
		{"array", "[]", "must be an object"},
		{"text", "certificate", "must be JSON"},
		{"not UTF-8", replace("stillpoint v1", "stillpoint \xff"), "must be UTF-8"},
		{"trailing value", valid + "{}", "nothing after it"},
		{"trailing text", valid + "x", "nothing after it"},
		{"other format", replace(format, "stillpoint model"),
			`format = "stillpoint model": must be "stillpoint certificate"`},
		{"later version", replace(`"version": 1`, `"version": 2`), "version = 2: must be 1"},
		{"later version with a new member", replace(`"version": 1`, `"version": 2, "signature": ""`),
			"version = 2: must be 1"},
		{"version text", replace(`"version": 1`, `"version": "1"`), `version = "1": must be an integer`},
		{"version fraction", replace(`"version": 1`, `"version": 1.5`), "version = 1.5: must be an integer"},
		{"no format", replace(`"format": "stillpoint certificate",`, ""), "format: is missing"},
		{"unknown member", replace(`"basis"`, `"basis2": 1, "basis"`), "basis2: is unknown"},
		{"capitals", replace(`"basis"`, `"Basis"`), "basis: is missing"},
		{"capitals beside", replace(`"basis"`, `"Basis": "", "basis"`), "Basis: is unknown"},
		{"twice", replace(`"basis"`, `"basis": "", "basis"`), "basis: is given twice"},
		{"twice by an escape", replace(`"basis"`, `"b\u0061sis": "", "basis"`), "basis: is given twice"},
		{"claim no object", replace(`"claim": {`, `"claim": 1, "x": {`), "x: is unknown"},
		{"unknown in claim", replace(`"mu"`, `"rho": 1, "mu"`), "claim.rho: is unknown"},
		{"missing in claim", replace(`"delta": 0.000001,`, ""), "claim.delta: is missing"},
		{"twice in claim", replace(`"delta"`, `"delta": 1, "delta"`), "claim.delta: is given twice"},
		{"epsilon NaN", replace(`"epsilon": 2`, `"epsilon": NaN`), "must be JSON"},
		{"epsilon NaN text", replace(`"epsilon": 2`, `"epsilon": "NaN"`), `claim.epsilon = "NaN": must be a number`},
		{"epsilon null", replace(`"epsilon": 2`, `"epsilon": null`), "claim.epsilon = null: must be a number"},
		{"epsilon out of range", replace(`"epsilon": 2`, `"epsilon": 2e999`),
			"claim.epsilon = 2e999: must be a number in the range of float64"},
		{"relation", replace("replace-one", "replace-two"), `relation = "replace-two": must be replace-one or add-or-remove`},
		{"relation number", replace(`"replace-one"`, "1"), "claim.relation = 1: must be a string"},
		{"complete text", replace(`"complete": true`, `"complete": "true"`), "complete = \"true\": must be true or false"},
		{"records fraction", replace(`"records": 32561`, `"records": 32561.5`), "records = 32561.5: must be an integer"},
		{"trusted null", replace(`"trusted": [`, `"trusted": null, "x": [`), "x: is unknown"},
		{"trusted number", replace(`"the clock"`, "1"), "trusted[1] = 1: must be a string"},
		{"plan array", replace(`"plan": {`, `"plan": [{`), "must be JSON"},
		{"twice in plan", replace(`"T": 40`, `"T": 40, "T": 41`), "algorithm.plan.T: is given twice"},
		{"unknown in event", replace(`"cohort": 1,`, `"cohort": 1, "power": 1,`), "events[1].power: is unknown"},
		{"missing in event", replace(`"cohort": 1,`, ""), "events[1].cohort: is missing"},
		{"negative cohort", replace(`"cohort": 1,`, `"cohort": -1,`), "events[1].cohort = -1: must be an integer >= 0"},
		{"sigma null", replace(`"sigma": 2,`, `"sigma": null,`), "events[2].sigma = null: must be a number"},
		{"simulated null", replace(`"cohort": 1,`, `"cohort": 1, "simulated": null,`),
			"events[1].simulated = null: must be true or false"},
		{"checksum number", valid[:strings.LastIndex(valid, `"sha256:`)] + "1}", "checksum = 1: must be a string"},
	} {
		_, err := Parse([]byte(test.file))
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
			continue
		}
		kindOf(t, err)
	}
}

func TestReadMissingFile(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestDeepNesting: nesting deeper than package json allows is an error and does not crash the
// program.
func TestDeepNesting(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		if _, err := Parse([]byte(strings.Repeat(open, 1<<20))); !errors.Is(err, ErrMalformed) {
			t.Errorf("got %v", err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	p := params(f)
	f.Add(mustNew(f, p).text)
	p.Events, p.Trusted, p.Complete, p.ModelSHA256 = nil, nil, false, ""
	small := mustNew(f, p).text
	f.Add(small)
	f.Add(small[:len(small)/2])
	f.Add([]byte(`{"format":"stillpoint certificate","version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			if c != nil || kindOf(t, err) != ErrMalformed {
				t.Fatalf("%v, %v", c, err)
			}
			return
		}
		// check is called directly, since random changes do not pass the checksum.
		if _, err := c.doc.check(t.Context()); err != nil && kindOf(t, err) != ErrUnsound {
			t.Fatal(err)
		}
		report, err := c.Verify(t.Context())
		if err != nil {
			kindOf(t, err)
			return
		}
		claim := c.Claim()
		if report.String() == "" || report.Epsilon > claim.Epsilon || report.Charged > claim.Mu*claim.Mu*(1+1e-15) ||
			c.Coins() != Secret {
			t.Fatalf("verified as %+v: %s", report, data)
		}
	})
}
