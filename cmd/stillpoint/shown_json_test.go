package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// alikeJSON compares the JSON of two values, in which the members of objects have no order.
func alikeJSON(t *testing.T, what string, got, want any) {
	t.Helper()
	var a, b any
	for v, to := range map[any]*any{&got: &a, &want: &b} {
		text, err := json.Marshal(*v.(*any))
		if err != nil {
			t.Fatal(err)
		}
		decode(t, string(text), to)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s is\n%v: must be\n%v", what, a, b)
	}
}

// TestWholeFitAsJSON compares each member of the JSON of a made-up fit, of which no two values are alike; members without a
// value are absent.
func TestWholeFitAsJSON(t *testing.T) {
	b := budgetOf(t, 1.5)
	f := &runfolder.Fitted{Fitted: &train.Fitted{Planned: train.Planned{Budget: b, Records: 4321,
		Unit: account.Unit{Column: "person", Rows: 3}, Filter: account.Filter{Column: "year", Value: "2031"}}},
		Folder: "out", ModelPath: "out/model.json", CertificatePath: "out/certificate.json"}
	f.Summary.Algorithm, f.Summary.Steps, f.Result.Steps, f.Charged, f.Releases = "gd", 37, 11, .0625, 13
	f.Family.Name, f.Family.Why, f.Family.Chosen = "lines", "a reason", true
	f.Entry.Guarantee = b.Guarantee("")
	c := &train.Config{Table: "people"}
	want := map[string]any{"folder": "out", "model": "out/model.json", "certificate": "out/certificate.json", "complete": false, "algorithm": "gd",
		"steps": 11, "of": 37, "family": map[string]any{"name": "lines", "why": "a reason", "chosen": true}, "records": 4321,
		"relation": "replace-one", "epsilon": b.Epsilon(), "delta": b.Delta(), "mu": b.Mu(), "unit": "person", "charged": .0625, "budget": b.Charge(),
		"neighbour": f.Unit.Neighbour(f.Filter, account.ReplaceOne), "protects": f.Unit.Protects(f.Filter, account.ReplaceOne), "releases": 13, "table": "people",
		"earlier": 0}
	with := func(change string, members map[string]any, set func()) {
		t.Helper()
		set()
		maps.Copy(want, members)
		var j map[string]any
		decode(t, marshalled(t, result(t.Context(), c, f)), &j)
		if together, ok := j["together"].(float64); ok {
			if want["together"] = together; len(f.Earlier) > 0 && !(together > 2*b.Epsilon() && together < 2.3*b.Epsilon()) {
				t.Errorf("together %v", together)
			}
		}
		alikeJSON(t, change, j, want)
	}
	with("a fit with nothing else", nil, func() {})
	with("a complete fit", map[string]any{"complete": true}, func() { f.Result.Complete = true })
	with("trusted", map[string]any{"trusted": []string{"first", "second"}}, func() { f.Trusted = []string{"first", "second"} })
	warning := train.Warning{Code: "code", Text: "text"}
	with("warnings", map[string]any{"warnings": []train.Warning{warning}}, func() { f.Warnings = []train.Warning{warning} })
	stored := &account.Reservation{Dataset: "d", Run: "r", Row: 5, Head: "h"}
	with("stored", map[string]any{"stored": stored}, func() { f.Reserved = stored })
	measured := &optimize.Measured{Loss: .5, LossSigma: .25, LossClip: 1.5, GradientNorm: .125, GradientSigma: .0625}
	with("measured", map[string]any{"measured": measured}, func() { f.Measured = measured })
	constant := &train.Constant{Least: .75, Most: .875, Regularizer: .375}
	with("constant", map[string]any{"constant": constant}, func() { f.Constant = constant })
	curved := &optimize.Curved{Curvature: -.2, Sigma: .3, Directions: 4}
	with("curvature", map[string]any{"curvature": curved}, func() { f.Result.Curvature = curved })
	norm := &optimize.SelectedNorm{GradientNorm: .6, Sigma: .7, Radius: .8, Among: 9}
	with("looked", map[string]any{"looked": norm}, func() { f.Result.SelectedNorm = norm })
	compared := &train.Compared{Difference: .2, Sigma: .03, Least: -1.5, Most: 2.5}
	with("compared", map[string]any{"compared": compared, "verdict": "worse", "comparison": compared.Sentence()}, func() { f.Compared = compared })
	with("earlier", map[string]any{"earlier": 3}, func() {
		f.Earlier = slices.Repeat([]runfolder.Entry{{Guarantee: b.Guarantee("")}}, 3)
	})
}

// TestWholePlanAsJSON compares each member of the JSON of a made-up plan.
func TestWholePlanAsJSON(t *testing.T) {
	b := budgetOf(t, 1.5)
	p := train.Planned{Budget: b, Records: 4321, Dim: 17, Plan: moving{}, LowerBound: .03125, Why: "a reason",
		Unit: account.Unit{Column: "person", Rows: 3}, Filter: account.Filter{Column: "year", Value: "2031"},
		Compare: &train.Compare{Charge: .0625 * b.Charge()}, Ranks: &train.Ranks{Charge: .125 * b.Charge()}, Base: &optimize.BaseRate{Charge: .25 * b.Charge()},
		First: &train.Stage{Share: .375, Second: .625}, Families: []train.FamilyPlan{{Family: "lines", Features: 12, Size: 34.5}}}
	p.Summary.Algorithm, p.Summary.Steps, p.Summary.Effective, p.Summary.Floor = "gd", 37, 70, .00456
	p.Family.Name, p.Family.Why, p.Family.Chosen = "curves", "another reason", true
	p.Candidates = []choose.Candidate{{Summary: p.Summary}, {Summary: optimize.Summary{Algorithm: "storm", Steps: 9}}}
	var j map[string]any
	decode(t, marshalled(t, planJSON(p)), &j)
	for member, want := range map[string]any{"records": 4321, "dim": 17, "epsilon": b.Epsilon(), "delta": b.Delta(), "mu": b.Mu(), "relation": "replace-one",
		"neighbour": p.Unit.Neighbour(p.Filter, account.ReplaceOne), "protects": p.Unit.Protects(p.Filter, account.ReplaceOne), "filter": p.Filter, "unit": p.Unit,
		"plan": p.Summary, "compare": .0625, "ranks": .125, "base": .25, "first_stage": p.First, "outlook": p.Outlook(), "family": p.Family, "families": p.Families,
		"lower_bound": .03125, "considered": []any{p.Candidates[0].Summary, p.Candidates[1].Summary}, "why": "a reason", "takes": j["takes"]} {
		alikeJSON(t, member, j[member], want)
		delete(j, member)
	}
	if delete(j, "warnings"); len(j) > 0 {
		t.Errorf("other members: %v", j)
	}
}
