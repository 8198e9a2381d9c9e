package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/fitting"
	"github.com/stillpoint-dp/stillpoint/internal/inspect"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestBudgetToTheLetter tests the text about a dataset's budget: shares are of the cap's charge, and a run that ended
// shows its charge and its reservation apart.
func TestBudgetToTheLetter(t *testing.T) {
	d := &budget.Dataset{Name: "people", Rows: 9, Head: "abc", Charge: .8, Spent: .3, Open: .1, Left: .4375, Over: .0625,
		Epsilon: 1.2345678, Sampled: 2, Runs: make([]budget.RunState, 2)}
	d.Cap.Guarantee = budgetOf(t, 3.5).Guarantee("")
	d.Cap.SampledRuns = 7
	r := &d.Runs[0]
	r.Row, r.Time, r.Label, r.Limit.Epsilon, r.Limit.Delta = 4, "2031-02-03T04:05:06Z", "fit one", 1.25, 3e-7
	r.Reserved.Charge, r.Charged.Charge, r.Settled, r.Corrected = .2, .16, true, 3
	r = &d.Runs[1]
	r.Row, r.Time, r.Label, r.Limit.Epsilon, r.Limit.Delta = 6, "2031-02-04T04:05:06Z", "fit two", .5, 1e-7
	r.Charged.Charge = .1
	text := spent(d)
	lineIs(t, text, "spent", "["+strings.Repeat("#", 12)+strings.Repeat("+", 7)+strings.Repeat(".", 31)+"] 37.5% spent")
	lineIs(t, text, "charged", "0.3 of 0.8 (units of mu^2), of which 0.1 by runs that have not ended; 0.4375 left")
	lineIs(t, text, "OVERSPENT", "by 0.0625 (units of mu^2): runs released more than the cap allows, so its "+
		"guarantee does not hold")
	lineIs(t, text, "so far", "epsilon 1.235 at delta 1e-06")
	lineIs(t, text, "sampled", "2 of 7 runs that may sample")
	lineIs(t, text, "runs", " 20.00%  row 4, 2031-02-03T04:05:06Z  fit one: epsilon 1.25, delta 3e-07, charged 0.16 (ended, "+
		"reserved 0.2, corrected upwards 3 times)")
	lineIs(t, text, "", " 12.50%  row 6, 2031-02-04T04:05:06Z  fit two: epsilon 0.5, delta 1e-07, charged 0.1 (reserved, has not "+
		"ended)")
	lineIs(t, text, "rows", "9, each with a hash of the one before")
	if got := provenOf(d); !strings.Contains(got, "released 0.0625 (units of mu^2) more than it allows.\n"+
		"Together they are (1.235, 1e-06)-differentially private under replace-one.") {
		t.Error(got)
	}
	if d.Over = 0; !strings.Contains(provenOf(d), "\n(3.5, 1e-06)-differentially private under replace-one: ") {
		t.Error(provenOf(d))
	}
	if counted(1, "row") != "1 row" || counted(3, "row") != "3 rows" || times(1) != "once" {
		t.Error(counted(3, "row"), times(1))
	}
}

// TestCheckToTheLetter tests the table of check: each count stands in its column.
func TestCheckToTheLetter(t *testing.T) {
	r := &inspect.Report{Rows: 1234, LeftOut: 56, Malformed: 7, Silent: 89, Columns: []inspect.Column{{Name: "age", Kind: "number",
		Read: 1101, Missing: 22, Unreadable: 33, Below: 44, Above: 55, Other: 66,
		Findings: []inspect.Finding{{What: "wrong", Cells: 12, Do: "mend", Examples: []string{"x"}}}}},
		Table: []inspect.Finding{{What: "short", Cells: 13, Do: "look"}}}
	text := checked("t.csv", r)
	for _, want := range []string{"t.csv: 1234 rows, 56 more left out by the row filter\n" +
		"rows that count and contribute nothing: 89, of which 7 have more or fewer cells than the header\n\n",
		"\n13 rows: short\n  look\n", "\nage: 12 cells: wrong: \"x\"\n  mend\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat,
		"column kind read missing unreadable below above other age number 1101 22 33 44 55 66 ") {
		t.Error(text)
	}
}

// TestProgressToTheLetter tests the lines and events about steps and shards.
func TestProgressToTheLetter(t *testing.T) {
	step := train.Step{Number: 7, Of: 19, GradientNorm: .01234, Noise: .05678, Charged: .0345678}
	var out strings.Builder
	for _, c := range []struct {
		json, verbose bool
		want          string
	}{
		{false, false, "step 7 of 19\n"},
		{false, true, "step 7 of 19: noisy gradient norm 0.012 (noise alone 0.057), charged 0.03457\n"},
		{true, false, `{"event":"step","step":7,"of":19,"gradient_norm":0.01234,"noise":0.05678,"charged":0.0345678}` + "\n"},
	} {
		out.Reset()
		p := &progress{c: &console{err: &out, json: c.json}, w: &out, verbose: c.verbose, last: time.Unix(0, 0)}
		if p.step(step); out.String() != c.want {
			t.Errorf("%+v: %q", c, out.String())
		}
	}
	s := &fitting.Shards{Count: 5}
	for _, c := range []struct {
		json bool
		want string
	}{
		{false, "listening on h:1 for 5 shards\nshard 3 is ready\nshard 4 is lost: the fit waits for another worker of this partition\n"},
		{true, `{"event":"listening","address":"h:1","shards":5}` + "\n" + `{"event":"shard","partition":3,"ready":true}` + "\n" +
			`{"event":"shard","partition":4,"ready":false}` + "\n"},
	} {
		out.Reset()
		(&console{err: &out, json: c.json}).tellShards(s)
		s.Listening("h:1")
		s.Told(fitting.ShardEvent{Partition: 3, Ready: true})
		if s.Told(fitting.ShardEvent{Partition: 4}); out.String() != c.want {
			t.Errorf("%q: must be %q", out.String(), c.want)
		}
	}
}

// TestFittedAsJSON tests the numbers of fit --json of a made-up fit.
func TestFittedAsJSON(t *testing.T) {
	b := budgetOf(t, 1.5)
	f := &runfolder.Fitted{Fitted: &train.Fitted{Planned: train.Planned{Budget: b, Records: 4321}}, Folder: "out",
		Earlier: make([]runfolder.Entry, 2)}
	f.Result.Complete, f.Result.Steps, f.Summary.Steps, f.Charged, f.Releases = true, 11, 37, .0625, 13
	f.Compared = &train.Compared{Difference: -.2, Sigma: .03, Least: -1.5, Most: 2.5, Constant: .8, ConstantSigma: .1}
	text, err := json.Marshal(result(t.Context(), &train.Config{}, f))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	decode(t, string(text), &got)
	mu := gaussianBudget(1.5, 1e-6)
	for key, want := range map[string]float64{"steps": 11, "of": 37, "records": 4321, "charged": .0625, "budget": mu * mu,
		"releases": 13, "earlier": 2, "epsilon": 1.5, "delta": 1e-6, "mu": mu} {
		if v, ok := got[key].(float64); !ok || v < want*(1-1e-6) || v > want*(1+1e-6) {
			t.Errorf("%s is %v: must be %v", key, got[key], want)
		}
	}
	// As TestSentencesToTheLetter of package runrecord works them out: .25 -+ 1.96*.048814.
	saved := got["saved"].(map[string]any)
	if got["complete"] != true || got["verdict"] != "better" ||
		fmt.Sprintf("%.4f %.4f %.4f", saved["share"], saved["low"], saved["high"]) != "0.2500 0.1543 0.3457" {
		t.Errorf("%v, %v, %v", got["complete"], got["verdict"], saved)
	}
}
