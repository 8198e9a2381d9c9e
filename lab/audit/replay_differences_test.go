package audit

import (
	"errors"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// aTrace returns a new trace, the record of everything visible in a run. The run drew a cohort, made a
// query, and got an error.
func aTrace(t *testing.T) *trace {
	t.Helper()
	c := query.NewCohort(1, 5)
	q, err := query.New(.1, query.GradientAt(c, []float64{1, 2}, 1))
	if err != nil {
		t.Fatal(err)
	}
	e, err := account.GaussianEvent("gradient", 1, .4, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := query.Release{Mean: []float64{3, 4}, Sigma: 2, Charge: e.Charge}
	return &trace{
		calls: []call{
			{method: "Draw", asked: 5, returned: c},
			{method: "Ask", asked: q, returned: r, answered: true},
			{method: "Draw", asked: 99, returned: query.Cohort{}, err: "no more records"},
		},
		steps:  []optimize.Step{{Number: 1, Of: 1, W: []float64{1, 2}}},
		result: optimize.Result{W: []float64{1, 2}, Steps: 1},
		err:    "no more records",
		events: []account.Event{e},
		exchanges: []simulate.Exchange{{
			Asked: q, Members: []int32{4, 2, 1, 7, 9}, Event: e, Scale: 100, Bits: 8, Exact: []int64{1, 2}, Released: r,
		}},
	}
}

// TestEveryDifferenceIsNamed tests pairs of traces that differ in one part other than the exact answers.
// For each pair, the function differences must return a violation of the rule for this part. For two equal
// traces it must return no violation.
func TestEveryDifferenceIsNamed(t *testing.T) {
	other, err := query.New(.1, query.GradientAt(query.NewCohort(1, 5), []float64{1, 2 + 1e-15}, 1))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*trace)
		rule   string
	}{
		"nothing":                {func(*trace) {}, ""},
		"the exact answer":       {func(x *trace) { x.exchanges[0].Exact[0]++ }, ""},
		"a call less":            {func(x *trace) { x.calls = x.calls[:2] }, "control flow"},
		"another call":           {func(x *trace) { x.calls[0].method = "DrawEach" }, "control flow"},
		"another size asked for": {func(x *trace) { x.calls[2].asked = 98 }, "control flow"},
		"another question":       {func(x *trace) { x.calls[1].asked = other }, "control flow"},
		"another cohort":         {func(x *trace) { x.calls[0].returned = query.NewCohort(2, 5) }, "control flow"},
		"another size":           {func(x *trace) { x.calls[0].returned = query.NewCohort(1, 4) }, "control flow"},
		"another answer": {func(x *trace) {
			x.calls[1].returned = query.Release{Mean: []float64{3, 4 + 1e-15}, Sigma: 2, Charge: x.events[0].Charge}
		}, "control flow"},
		"another error": {func(x *trace) { x.calls[2].err = errors.New("no record").Error() }, "control flow"},
		"another step":  {func(x *trace) { x.steps[0].W[1] += 1e-15 }, "control flow"},
		"a step more":   {func(x *trace) { x.steps = append(x.steps, x.steps[0]) }, "control flow"},
		"another result": {func(x *trace) { x.result = optimize.Result{W: []float64{1, 2.5}, Steps: 1} },
			"control flow"},
		"another end":            {func(x *trace) { x.err = "" }, "control flow"},
		"another charge":         {func(x *trace) { x.events = slices.Clone(x.events); x.events[0].Sigma *= 2 }, "charge"},
		"an event more":          {func(x *trace) { x.events = append(x.events, x.events[0]) }, "charge"},
		"another law":            {func(x *trace) { x.exchanges[0].Event.Sensitivity *= 2 }, "charge"},
		"another grid":           {func(x *trace) { x.exchanges[0].Scale *= 2 }, "charge"},
		"other noise":            {func(x *trace) { x.exchanges[0].Bits++ }, "charge"},
		"another prefix sum":     {func(x *trace) { x.exchanges[0].Prefix.Items = 3 }, "charge"},
		"other records":          {func(x *trace) { x.exchanges[0].Members[2] = 3 }, "cohorts"},
		"another question heard": {func(x *trace) { x.exchanges[0].Asked = other }, "question"},
	} {
		for _, swap := range []bool{false, true} {
			a, b := aTrace(t), aTrace(t)
			c.change(b)
			if swap {
				a, b = b, a
			}
			got := differences(a, b, true)
			if c.rule == "" && len(got) > 0 || c.rule != "" && (len(got) != 1 || got[0].Rule != c.rule) {
				t.Errorf("%s: %v: want one violation of %q", name, got, c.rule)
			}
		}
	}
	// In tables of different lengths, the same random bits draw other rows.
	a, b := aTrace(t), aTrace(t)
	b.exchanges[0].Members[2] = 3
	if got := differences(a, b, false); len(got) > 0 {
		t.Errorf("other rows of a table of another length: %v", got)
	}
}
