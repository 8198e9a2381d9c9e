package certificate

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/account"
)

func TestReportJSON(t *testing.T) {
	r := &Report{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.AddOrRemove, Mu: 0.25},
		Recomputed: .5, Basis: BasisGaussianFilter, Charged: 0.0625, Records: 7,
		Neighbour: "a table with one row more or less", Events: 3, Complete: true}
	const want = `{"epsilon":1,"delta":0.000001,"epsilon_recomputed":0.5,"relation":"add-or-remove","basis":"gaussian-dp-filter","mu":0.25,"charged":0.0625,"records":7,"neighbour":"a table with one row more or less","events":3,"complete":true}`
	if got, err := json.Marshal(r); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	r.Trusted = []string{"smoothness"}
	if got, err := json.Marshal(r); err != nil || !strings.Contains(string(got), `"trusted":["smoothness"]`) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestReportText(t *testing.T) {
	r := &Report{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.AddOrRemove}, Records: 7,
		Trusted: []string{"smoothness"}}
	for _, want := range []string{"7 declared", "NO: the run was interrupted", "TRUSTED    \"smoothness\"",
		"not a signature"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("no %q in\n%s", want, r)
		}
	}
}

// TestRoundUp: the epsilon shown is never below the true value, and above it by less than one
// unit of its sixth digit.
func TestRoundUp(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "1", 1.0000001: "1.00001", 0.9999999999999998: "1",
		1.234564: "1.23457", 100.0625: "100.063", 1234567: "1.23457e+06", 999999.2: "1e+06"} {
		if got := roundUp(x); got != want {
			t.Errorf("roundUp(%v) = %s, want %s", x, got, want)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		x := rapid.Float64Range(1e-9, 1e9).Draw(r, "x")
		y, err := strconv.ParseFloat(roundUp(x), 64)
		if err != nil || y < x || y > x*(1+1.001e-5) {
			r.Fatalf("roundUp(%v) = %v", x, y)
		}
	})
}
