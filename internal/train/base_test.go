package train

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestFitsBeginAtTheBaseRate: a fit must release the base rate before anything else, the certificate's plan must be the
// one that follows from it, and a constant that the configuration states must take its place at no charge.
func TestFitsBeginAtTheBaseRate(t *testing.T) {
	for name, test := range map[string]struct {
		changes  []string
		margin   float64 // NaN: released
		releases bool
	}{
		"released":   {nil, math.NaN(), true},
		"stated":     {[]string{"logistic}", "logistic, start: {share: 0.2}}"}, math.Log(.25), false},
		"off":        {[]string{"replace-one}", "replace-one}\ntrain: {base: off, compare: off}"}, 0, false},
		"a share":    {[]string{"replace-one}", "replace-one}\ntrain: {base: 0.1}"}, math.NaN(), true},
		"of a count": {[]string{"logistic}", "poisson(1), start: {rate: 0.5}}", `classes: ["0", "1"]`, "number: [0, 2]"}, math.Log(.25), false},
		"of a number": {[]string{"logistic}", "squared(1), start: {value: 1.5}}", `classes: ["0", "1"]`, "number: [0, 2]"},
			.5, false},
	} {
		c := config(t, 2000, test.changes...)
		f, err := c.Fit(t.Context(), Options{Software: "test"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		first := f.Ledger.Events()[0]
		if released := first.Question == "difference of values"; released != test.releases {
			t.Errorf("%s: the first release is a %s", name, first.Question)
		}
		switch {
		case name == "off":
			if f.Base != nil {
				t.Errorf("%s: %+v", name, f.Base)
			}
			continue
		case f.Base == nil || f.Base.Public == test.releases:
			t.Fatalf("%s: %+v", name, f.Base)
		case test.releases:
			share := optimize.BaseShare
			if c.Train.Base > 0 {
				share = c.Train.Base
			}
			if want := share * f.Budget.Charge(); !(math.Abs(f.Planned.Base.Charge/want-1) <= 1e-9) || first.Charge > want {
				t.Errorf("%s: charged %v: must be %v", name, first.Charge, want)
			}
		default:
			if got := f.Base.Margins[0]; !(math.Abs(got-test.margin) <= 1e-12) {
				t.Errorf("%s: margin %v: must be %v", name, got, test.margin)
			}
		}
		if f.Result.Steps != f.Summary.Steps || f.Charged > f.Budget.Charge() || f.Charged < .999*f.Budget.Charge() {
			t.Errorf("%s: %d steps of %d, charged %v of %v", name, f.Result.Steps, f.Summary.Steps, f.Charged, f.Budget.Charge())
		}
	}
	for _, start := range []string{"{share: 0}", "{share: 1}", "{shares: [0.5, 0.5]}", "{rate: 1}", "{value: 1}",
		"{share: 0.5, rate: 1}"} {
		c := config(t, 300, "logistic}", "logistic, start: "+start+"}")
		if _, err := c.Plan(t.Context()); err == nil {
			t.Errorf("%s: accepted for two classes", start)
		}
	}
}

// TestWhyNothingIsCompared tests what a plan says where it makes no comparison with the best constant: why, if the budget is
// too small for one, and nothing if none is wanted, whatever share of the budget the base rate gets.
func TestWhyNothingIsCompared(t *testing.T) {
	const small = "at this budget the noise of a comparison would be as large as the difference that it measures"
	for _, base := range []string{"", "base: 0.05, ", "base: off, "} {
		for _, c := range []struct {
			rows         int
			compare, why string
		}{{200, "", small}, {200, "compare: off, ", ""}, {20_000, "", ""}, {20_000, "compare: off, ", ""}, {200, "compare: 0.1, ", ""}} {
			p, err := config(t, c.rows, "replace-one}", "replace-one}\ntrain: {"+base+c.compare+"algorithm: gd, steps: 2}").Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if p.NotCompared != c.why || c.why != "" && p.Compare != nil {
				t.Errorf("%d rows, %s%s: %q: must be %q", c.rows, base, c.compare, p.NotCompared, c.why)
			}
		}
	}
}

// TestSchedulesHaveTheWholeBudget: a plan on Poisson samples that leaves out the base rate and the comparison is that of a
// configuration without them, and says why nothing is compared.
func TestSchedulesHaveTheWholeBudget(t *testing.T) {
	var schedules, summaries []string
	for _, off := range []string{"", "base: off, compare: off, "} {
		p, err := config(t, 20_000, "replace-one}", "replace-one}\ntrain: {"+off+"algorithm: dp-sgd, steps: 4}").Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := p.Plan.Needs().Schedule
		if s == nil {
			t.Fatal("no schedule")
		}
		why := ""
		if off == "" {
			why = "the whole budget is its schedule's"
		}
		if p.NotCompared != why || p.Compare != nil || p.Base != nil {
			t.Errorf("%q: %q, compared %v, base %v", off, p.NotCompared, p.Compare, p.Base)
		}
		z, q := s.Step(0)
		schedules, summaries = append(schedules, fmt.Sprintf("noise %v, share %v", z, q)), append(summaries, fmt.Sprintf("%+v", p.Summary))
	}
	if schedules[0] != schedules[1] || summaries[0] != summaries[1] {
		t.Errorf("%s, %s\n%s\n%s", schedules[0], schedules[1], summaries[0], summaries[1])
	}
}
