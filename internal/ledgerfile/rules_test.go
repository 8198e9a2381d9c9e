package ledgerfile

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// TestEachRuleAlone breaks one rule of a sound entry at a time, on both sides of each limit. Each error names the field, its
// value and the rule.
func TestEachRuleAlone(t *testing.T) {
	mu, err := mechanism.GaussianMu(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	digits := strings.Repeat("0123456789abcdef", 4)
	entry := func() *Entry {
		return &Entry{Time: time.Unix(1e9, 0), Entry: Settled, Fit: 1, Data: "/people.csv", Algorithm: "gd", Guarantee: account.Guarantee{
			Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6, Mu: mu}, Charged: mu * mu / 2}
	}
	const given = "given together or not at all"
	type change struct {
		change func(*Entry)
		want   string
	}
	cases := []change{
		{func(*Entry) {}, ""},
		{func(e *Entry) { e.Fit = 0 }, "fit = 0: must be >= 1"},
		{func(e *Entry) { e.Time = time.Time{} }, "time = 0001-01-01 00:00:00 +0000 UTC: must be given"},
		{func(e *Entry) { e.Data = "" }, `data = "": must be the path of the table`},
		{func(e *Entry) { e.Algorithm = "" }, `algorithm = "": must be a name`},
		{func(e *Entry) { e.Entry = "opened" }, `entry = "opened": must be reserved, settled or interrupted`},
		{func(e *Entry) { e.Entry = Interrupted }, ""},
		{func(e *Entry) { e.Entry = Reserved }, fmt.Sprintf("charged = %v: must be absent from a reservation", mu*mu/2)},
		{func(e *Entry) { e.Entry, e.Charged = Reserved, 0 }, ""},
		{func(e *Entry) { e.Charged = 0 }, ""},
		{func(e *Entry) { e.Entry, e.Charged, e.Certificate = Reserved, 0, digits }, fmt.Sprintf("certificate = %q: must be 64 "+
			"hexadecimal digits in an end, or absent", digits)},
		{func(e *Entry) { e.Certificate = digits }, ""},
		{func(e *Entry) { e.Entry, e.Certificate = Interrupted, digits }, ""},
		{func(e *Entry) { e.Schedule = []account.SampledSteps{} }, "schedule = []: must be absent or have steps"},
		{func(e *Entry) { e.Mu = mu * (1 + .9e-6) }, ""},
		{func(e *Entry) { e.Mu = mu * (1 - .9e-6) }, ""},
		{func(e *Entry) { e.Mu = mu * (1 + 1.1e-6) }, fmt.Sprintf("mu = %v: must be that of epsilon = 1 and delta = 1e-06", mu*(1+1.1e-6))},
		{func(e *Entry) { e.Mu = mu * (1 - 1.1e-6) }, fmt.Sprintf("mu = %v: must be that of epsilon = 1 and delta = 1e-06", mu*(1-1.1e-6))},
		{func(e *Entry) { e.Charged = mu * mu * (1 + .9e-6) }, ""},
		{func(e *Entry) { e.Charged = mu * mu * (1 + 1.1e-6) }, fmt.Sprintf("charged = %v: must be at most mu^2 = %v",
			mu*mu*(1+1.1e-6), mu*mu)},
		{func(e *Entry) { e.Relation = 0 }, fmt.Sprintf("relation = %v: must be replace-one or add-or-remove", account.Relation(0))},
		{func(e *Entry) { e.Delta = 0 }, "delta = 0: must be > 0 and < 1"},
		{func(e *Entry) { e.Delta = 1 }, "delta = 1: must be > 0 and < 1"},
	}
	for _, bad := range []string{digits[1:], digits + "0", strings.ToUpper(digits), " " + digits[1:], digits[1:] + "g", digits + "\n"} {
		cases = append(cases, change{func(e *Entry) { e.Certificate = bad }, fmt.Sprintf("certificate = %q: must be 64 hexadecimal "+
			"digits in an end, or absent", bad)})
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -5e-324, 0} {
		if x != 0 {
			cases = append(cases, change{func(e *Entry) { e.Charged = x }, fmt.Sprintf("charged = %v: must be finite and >= 0", x)})
		}
		cases = append(cases, change{func(e *Entry) { e.Mu = x }, fmt.Sprintf("mu = %v: must be finite and > 0", x)},
			change{func(e *Entry) { e.Epsilon = x }, fmt.Sprintf("epsilon = %v: must be finite and > 0", x)},
			change{func(e *Entry) { e.Schedule = []account.SampledSteps{{NoiseMultiplier: x, Sampling: .5, Count: 1}} },
				fmt.Sprintf("schedule[0].noise_multiplier = %v: must be finite and > 0", x)},
			change{func(e *Entry) { e.Schedule = []account.SampledSteps{{NoiseMultiplier: 1, Sampling: x, Count: 1}} },
				fmt.Sprintf("schedule[0].sampling = %v: must be > 0 and <= 1", x)})
	}
	for _, x := range []float64{5e-324, 1} {
		cases = append(cases, change{func(e *Entry) { e.Schedule = []account.SampledSteps{{NoiseMultiplier: 1, Sampling: x, Count: 1}} }, ""})
	}
	cases = append(cases, change{func(e *Entry) {
		e.Schedule = []account.SampledSteps{{NoiseMultiplier: 1, Sampling: math.Nextafter(1, 2), Count: 1}}
	},
		"schedule[0].sampling = 1.0000000000000002: must be > 0 and <= 1"})
	for bits := range 8 { // each combination of the names of a store
		name := func(i int) string { return []string{"", "x"}[bits>>i&1] }
		want := fmt.Sprintf("store, dataset, run = %q, %q, %q: must be %s", name(0), name(1), name(2), given)
		if bits == 0 || bits == 7 {
			want = ""
		}
		cases = append(cases, change{func(e *Entry) { e.Store, e.Dataset, e.Run = name(0), name(1), name(2) }, want})
	}
	for i, c := range cases {
		e := entry()
		c.change(e)
		said := ""
		if err := e.check(); err != nil {
			said = err.Error()
		}
		if said != c.want {
			t.Errorf("change %d: %q: must be %q", i, said, c.want)
		}
	}
}
