package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/fitting"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// The tests of this file compare answers about privacy and charges to the letter, at numbers of which no two are alike.

// TestAnswersToTheLetter tests the text about the answers of accountants: which number is the lower end, which the
// upper, and at which epsilon or delta.
func TestAnswersToTheLetter(t *testing.T) {
	x := func(v float64) *float64 { return &v }
	r := &accountReport{Relation: account.ReplaceOne,
		Calibrated: &calibrated{Parameter: "sampling", Value: .0123, Epsilon: 1.75, Delta: 3e-7},
		Results: []answer{
			{Accountant: "pld", Kind: "bracket", Delta: x(2e-6), bracket: mechanism.Bracket{Lower: 1.23456789, Upper: 2.34567891},
				remark: "both"},
			{Accountant: "rdp", Kind: "upper-bound", Delta: x(2e-6), bracket: mechanism.Bracket{Lower: 3, Upper: 4.56789123},
				remark: "one"},
			{Accountant: "pld", Kind: "bracket", Epsilon: x(.625), bracket: mechanism.Bracket{Lower: .00123456789,
				Upper: .00234567891}},
			{Accountant: "zcdp", Kind: "none", Epsilon: x(.625), Error: "none known"},
		},
		Curve: []curvePoint{{1.2345678, .0123456789, .0234567891}},
	}
	if out := r.text(); out != `sampling 0.0123 is within epsilon 1.75, delta 3e-07
epsilon at delta 2e-06 under replace-one
  pld   between 1.2345679 and 2.3456789    both
  rdp   at most 4.5678912                one
delta at epsilon 0.625 under replace-one
  pld   between 0.0012345679 and 0.0023456789 `+`
  zcdp  none known
delta under replace-one
  at epsilon 1.2346     between 0.012345679 and 0.023456789
` {
		t.Errorf("%s", out)
	}
}

// accountedJSON has the members of account --json, under the names that its help states.
type accountedJSON struct {
	Group      int
	Neighbours string
	Releases   []release
	Calibrated *calibrated
	Results    []answer
	Curve      []curvePoint
}

// TestAccountAsJSON tests the numbers of account --json: releases and their counts, the size of a group, and the curve
// of delta, each against the closed form of 3 releases with noise 4 for 2 rows together, which are one with mu
// 2*sqrt(3)/4.
func TestAccountAsJSON(t *testing.T) {
	a := accountCommand{NoiseMultiplier: 4, Sampling: 1, Steps: 3, Group: 2, Width: 1e-3, Relation: "add-or-remove",
		Delta: []float64{1e-4, 1e-5}, Curve: true, JSON: true}
	var out strings.Builder
	if err := a.Run(t.Context(), &console{out: &out, err: &out}); err != nil {
		t.Fatal(err)
	}
	var r accountedJSON
	decode(t, out.String(), &r)
	if r.Group != 2 || len(r.Releases) != 1 || r.Releases[0].Count != 3 ||
		r.Neighbours != "up to 2 rows change together, for each of which: one row is added or removed; the number of rows is secret" {
		t.Errorf("%+v", r)
	}
	mu := math.Sqrt(3) / 2
	at := func(delta float64) float64 {
		return bisected(0, 20, func(epsilon float64) bool { return gaussianDelta(mu, epsilon) > delta })
	}
	for i, x := range []float64{1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-5} {
		if got := r.Results[i]; got.Delta == nil || *got.Delta != x || got.Epsilon != nil {
			t.Errorf("answer %d: %+v: must be at delta %v", i, got, x)
		}
		if i%3 == 0 {
			nearly(t, "lower", *r.Results[i].EpsilonLower, at(x), 1e-4)
			nearly(t, "upper", *r.Results[i].EpsilonUpper, at(x), 1e-4)
		}
	}
	last := at(1e-12)
	for k, p := range r.Curve {
		nearly(t, "epsilon of the curve", p.Epsilon, last*float64(k)/32, 1e-4)
		truth := gaussianDelta(mu, p.Epsilon)
		if !(p.DeltaLower <= truth*(1+1e-6) && truth <= p.DeltaUpper*(1+1e-6) && p.DeltaUpper <= truth*1.001+1e-15 &&
			p.DeltaLower >= truth*.999-1e-15) {
			t.Errorf("at epsilon %v between %v and %v: must hold %v", p.Epsilon, p.DeltaLower, p.DeltaUpper, truth)
		}
	}
	if len(r.Curve) != 33 {
		t.Errorf("%d points", len(r.Curve))
	}
}

// TestCalibratedInNumbers tests the computed parameters: noise is the least of six digits within the goal, a number of
// steps the largest. For all rows both follow from the closed form.
func TestCalibratedInNumbers(t *testing.T) {
	mu := gaussianBudget(1.25, 1e-5)
	for _, c := range []struct {
		name string
		a    accountCommand
		want float64
	}{
		{"noise_multiplier", accountCommand{Calibrate: "noise", Steps: 7}, math.Sqrt(7) / mu},
		{"steps", accountCommand{Calibrate: "steps", NoiseMultiplier: 20, Steps: 1}, math.Floor(400 * mu * mu)},
	} {
		a := c.a
		a.Sampling, a.Group, a.Width, a.Relation, a.JSON = 1, 1, 1e-3, "add-or-remove", true
		a.Epsilon, a.Delta = []float64{1.25}, []float64{1e-5}
		var out strings.Builder
		if err := a.Run(t.Context(), &console{out: &out, err: &out}); err != nil {
			t.Fatal(err)
		}
		var r accountedJSON
		decode(t, out.String(), &r)
		k := r.Calibrated
		if k.Parameter != c.name || k.Epsilon != 1.25 || k.Delta != 1e-5 || !(math.Abs(k.Value-c.want) <= 2e-5*c.want) ||
			k.Parameter == "noise_multiplier" && k.Value < c.want {
			t.Errorf("%+v: must be %s %v", k, c.name, c.want)
		}
	}
	for _, c := range []struct{ x, want float64 }{{.0123456, 1e-7}, {1.5, 1e-5}, {987.6, 1e-3}} {
		nearly(t, "one unit of the sixth digit", unit(c.x), c.want, 1e-12)
	}
	if inDigits(123, 1e-5) != .00123 || inDigits(3, 100) != 300 {
		t.Error(inDigits(123, 1e-5), inDigits(3, 100))
	}
}

// TestCalibratedSharesAreLargest tests that a calibrated sampling probability is within the goal and that one that is
// 2 parts in 10,000 larger is not.
func TestCalibratedSharesAreLargest(t *testing.T) {
	a := &accountCommand{Calibrate: "sampling", NoiseMultiplier: 1.1, Sampling: 1, Steps: 1, Group: 1, Width: 1e-3,
		Epsilon: []float64{.6}, Delta: []float64{1e-5}}
	out, err := a.calibrate(t.Context(), account.AddOrRemove, nil)
	if err != nil {
		t.Fatal(err)
	}
	for share, within := range map[float64]bool{out.Value: true, out.Value * 1.0002: false} {
		if truth := sampledDelta(1.1, share, .6); truth <= 1e-5 != within {
			t.Errorf("sampling %v: delta %v", share, truth)
		}
	}
	// A value that is not private yet is moved by one unit of its last digit towards more privacy.
	for _, digit := range []float64{1e-3, -1e-3} {
		moved := &calibrated{Value: 1.1, Epsilon: 1, Delta: gaussianDelta(1/1.1005, 1) * 1.000001}
		if digit < 0 { // less of the parameter is more private
			moved.Delta = gaussianDelta(1.0995, 1) * 1.000001
		}
		err := (&accountCommand{Width: 1e-6}).verified(t.Context(), moved, digit, func(x float64) ([]mechanism.Composed, error) {
			if digit < 0 {
				x = 1 / x
			}
			m, err := mechanism.NewGaussian(x)
			return []mechanism.Composed{{Mechanism: m, Count: 1}}, err
		})
		if err != nil || !(math.Abs(moved.Value-(1.1+digit)) <= 1e-12) {
			t.Errorf("%v, %v: must be %v", moved.Value, err, 1.1+digit)
		}
	}
}

// TestPlottedCurveInNumbers tests that the drawn curve of delta goes through the points of the closed form: on a
// logarithmic axis its ends are at the largest delta and at the least that is drawn, and the middle in proportion.
func TestPlottedCurveInNumbers(t *testing.T) {
	m, err := mechanism.NewGaussian(2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mechanism.Compose(t.Context(), []mechanism.Composed{{Mechanism: m, Count: 1}}, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "curve.svg")
	if err := plotCurve(t.Context(), path, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var points [][2]float64
	for _, part := range strings.Split(string(text), "<path")[1:] {
		_, d, _ := strings.Cut(part, ` d="`)
		d, _, _ = strings.Cut(d, `"`)
		var list [][2]float64
		f := strings.FieldsFunc(d, func(r rune) bool { return strings.ContainsRune("MLHVZ, \n", r) })
		for i := 0; i+1 < len(f); i += 2 {
			list = append(list, [2]float64{parsed(t, f[i]), parsed(t, f[i+1])})
		}
		if len(list) > len(points) {
			points = list
		}
	}
	if len(points) != 61 {
		t.Fatalf("%d points", len(points))
	}
	last := bisected(0, 20, func(epsilon float64) bool { return gaussianDelta(.5, epsilon) > 1e-12 })
	first, end := points[0], points[60]
	for k, p := range points {
		epsilon := last * float64(k) / 60
		share := math.Log(gaussianDelta(.5, epsilon)/gaussianDelta(.5, 0)) / math.Log(1e-12/gaussianDelta(.5, 0))
		if x := first[0] + (end[0]-first[0])*float64(k)/60; !(math.Abs(p[0]-x) <= .2) {
			t.Errorf("point %d is at x %v: must be %v", k, p[0], x)
		}
		if y := first[1] + (end[1]-first[1])*share; !(math.Abs(p[1]-y) <= .5) {
			t.Errorf("point %d is at y %v: must be %v", k, p[1], y)
		}
	}
}

// TestDryRunsToTheLetter tests the charge of a fit that was not run, and the cost of it and of the earlier fits: two
// budgets are together one with the square root of the sum of the squares of their mu.
func TestDryRunsToTheLetter(t *testing.T) {
	own, before := budgetOf(t, 1.5), budgetOf(t, .75)
	p := planned(t, 900)
	p.Budget = own
	d := &runfolder.Dry{Ledger: "out/ledger.jsonl", Cost: &budget.Cost{Charge: .0123456789}, Fitted: &runfolder.Fitted{
		Fitted: &train.Fitted{Planned: p}, ModelPath: "out/model.json", CertificatePath: "out/certificate.json",
		Earlier: []runfolder.Entry{{Guarantee: before.Guarantee("")}, {Guarantee: before.Guarantee("")}}}}
	d.Entry.Guarantee = own.Guarantee("")
	c := &train.Config{Budget: &train.StoredBudget{Dataset: "people"}}
	text := drySummary(t.Context(), c, d)
	lineIs(t, text, "dataset", "people: mu^2 of 0.0123457 of its cap in the store")
	mu := math.Sqrt(math.Pow(gaussianBudget(1.5, 1e-6), 2) + 2*math.Pow(gaussianBudget(.75, 1e-6), 2))
	epsilon := bisected(0, 20, func(e float64) bool { return gaussianDelta(mu, e) > 1e-6 })
	together := printed(t, text, `together +with 2 earlier fits of this table: epsilon (\S+) at delta 1e-06; every fit costs a budget of its own`)
	nearly(t, "together", together[0], epsilon, 2e-3)
	var j map[string]any
	decode(t, marshalled(t, dryJSON(t.Context(), c, d)), &j)
	if plan, ok := j["planned"].(map[string]any); !ok || plan["epsilon"] != 1.5 {
		t.Errorf("the plan is %v", j["planned"])
	}
	delete(j, "planned")
	if want := (map[string]any{"dry_run": true, "ledger": "out/ledger.jsonl", "model": "out/model.json", "certificate": "out/certificate.json",
		"dataset": "people", "charge": .0123456789, "earlier_fits": 2., "together": together[0]}); !maps.Equal(j, want) || together[0] < epsilon {
		t.Errorf("%v: must be %v, together %v", j, want, epsilon)
	}
	lineIs(t, text, "would charge", "the whole budget, in out/ledger.jsonl, before the first release")
	lineIs(t, text, "would write", "out/model.json, out/certificate.json")
	lineIs(t, text, "dry run", "nothing was released, charged or written")
	d.Earlier, d.Cost = nil, nil // no fit before, and no store
	clear(j)
	decode(t, marshalled(t, dryJSON(t.Context(), c, d)), &j)
	delete(j, "planned")
	if want := (map[string]any{"dry_run": true, "ledger": "out/ledger.jsonl", "model": "out/model.json", "certificate": "out/certificate.json",
		"earlier_fits": 0.}); !maps.Equal(j, want) {
		t.Errorf("%v: must be %v", j, want)
	}
	if text := drySummary(t.Context(), c, d); strings.Contains(text, "together") || strings.Contains(text, "dataset") {
		t.Error(text)
	}
}

// TestLedgersToTheLetter tests the line of a table with several fits, and that of one with a single fit.
func TestLedgersToTheLetter(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i, epsilon := range []float64{1.5, .75, .75} {
		e := runfolder.Entry{Time: time.Unix(1_900_000_000, 0).UTC(), Entry: "reserved", Fit: i + 1, Data: "table people", Algorithm: "gd",
			Guarantee: budgetOf(t, epsilon).Guarantee("")}
		if i == 2 {
			e.Data = "table pets"
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n", text)
	}
	if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	l := ledgerCommand{Folders: []string{dir}, Delta: 2e-6}
	if err := l.Run(t.Context(), &console{out: &out, err: &out}); err != nil {
		t.Fatal(err)
	}
	mu := math.Hypot(gaussianBudget(1.5, 1e-6), gaussianBudget(.75, 1e-6))
	for pattern, mu := range map[string]float64{`table people: 2 fits, together epsilon (\S+) at delta 2e-06 under replace-one`: mu,
		`table pets: 1 fit, together epsilon (\S+) at delta 2e-06 under replace-one`: gaussianBudget(.75, 1e-6)} {
		epsilon := bisected(0, 20, func(e float64) bool { return gaussianDelta(mu, e) > 2e-6 })
		got := printed(t, out.String(), pattern)[0]
		if !(got >= epsilon) || got > 1.002*epsilon {
			t.Errorf("%v: must be %v, rounded up", got, epsilon)
		}
	}
}

// TestOpenRunsToTheLetter tests the facts about runs that have not ended: their row, their charge and the charge up to
// which they may have released.
func TestOpenRunsToTheLetter(t *testing.T) {
	r := budget.RunState{Row: 6, Time: "2031-02-03T04:05:06Z"}
	r.Run, r.Charged.Charge = "r1", .25
	r.Lease = &budget.Lease{Holder: `{"id":12,"host":"h"}`, Charge: .0345678, Renewed: "then"}
	ended := r
	ended.Run, ended.Settled = "r2", true
	all, err := new(budgetShow).open(t.Context(), &budget.Dataset{Runs: []budget.RunState{ended, r}})
	if err != nil || len(all) != 1 || all[0].Row != 6 || all[0].Charge != .25 || all[0].Allowed != .0345678 || all[0].Run != "r1" {
		t.Fatalf("%+v, %v", all, err)
	}
	all[0].Holder = "process 12"
	all = append(all, openRun{Run: "r3", Row: 8, Copies: []string{"a", "b", "c"}}, openRun{Run: "r4", Row: 9, Folder: "out"})
	if got := listed(all, "s.db"); got != `open         row 6, run r1: its folder was not found: --in DIR,... searches for it
               held by process 12; may have released up to 0.0346 (units of mu^2)
             row 8, run r3: 3 folders have this run, and at most one of them is its own: a, b, c
             row 9, run r4: stillpoint budget settle r4 --store s.db --from out
` {
		t.Error(got)
	}
}

// TestSharesOfTimesToTheLetter tests the line about the release of a baseline hazard, and rows of families.
func TestSharesOfTimesToTheLetter(t *testing.T) {
	b := budgetOf(t, 1.5)
	p := train.Planned{Budget: b, Plan: moving{}, Hazards: &train.Hazards{Charge: .15 * b.Charge(), Pilot: .06 * b.Charge()},
		Families: []train.FamilyPlan{{Family: "lines", Gain: .6789, Features: 12, Size: 3456.789, Records: 23456.7,
			Takes: &train.Estimate{Time: 4500 * time.Millisecond}},
			{Family: "curves", Features: 34, Size: 56.789, Records: 345678, Takes: &train.Estimate{Time: 67 * time.Second}}}}
	text := outline(p, false)
	lineIs(t, text, "hazard", "15% of the budget releases the baseline hazard, of which 6% a pilot fit")
	for _, want := range []string{"lines    0.68            12   3457        23457      4.5\n",
		"curves   unknown         34  56.79       345678       67\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var j struct{ Records float64 }
	if decode(t, marshalled(t, planJSON(planned(t, 4321))), &j); j.Records != 4321 {
		t.Errorf("%+v", j)
	}
	curved := outline(planned(t, 900, "age: {number: [0, 100]}", "age: {number: [0, 100], curve: 9}"), false)
	lineIs(t, curved, "curves", "with these numbers of knots: age 9")
	c := &train.Config{Shards: &fitting.Shards{Count: 5}, Table: "people"}
	if got := reads(c); got != c.TableName()+" in 5 shards" {
		t.Error(got)
	}
}
