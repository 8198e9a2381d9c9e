package train

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// other has a value for every setting that is not what rules would choose.
var other = map[string]any{
	"goal": "population", "passes": 7., "steps": 9, "step_scale": .3, "multiplier": .5, "output": "random",
	"period": 3, "anchor_share": .3, "theorem": true, "anchor_batch": .6, "difference_batch": .4, "sampling": .3, "rate": .02,
	"front_load": .5, "equal_cohorts": true, "rounds": 2, "depth": 2, "decay": .7, "accuracy": .01,
	"inner": "phased-sgd", "cohorts": "disjoint", "lambda": .01, "growth": 5., "distance": 3.,
	"held_out": .3, "candidates": 3, "score": "value", "ball_fraction": .5,
}

// set sets the field of a YAML key.
func set(t *testing.T, c Train, key string) Train {
	t.Helper()
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == key {
			v.Field(i).Set(reflect.ValueOf(other[key]))
			return c
		}
	}
	t.Fatalf("train.%s: no such setting", key)
	return c
}

// TestEverySettingCounts: under every algorithm each setting either changes the
// plan or is refused by name. None is passed over in silence.
func TestEverySettingCounts(t *testing.T) {
	fields := reflect.TypeFor[Train]()
	for i := range fields.NumField() {
		key := fields.Field(i).Tag.Get("yaml")
		// Measure is the fit's, whatever the algorithm.
		if _, ok := other[key]; !ok && key != "algorithm" && key != "measure" {
			t.Errorf("train.%s: is not in this test", key)
		}
	}
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p := optimize.Problem{Dim: 20, RankOne: true, Constants: loss.Logistic().Constants()}
	s := optimize.Size{Records: 200_000, Mu: b.Mu()}
	plan := func(c Train) (optimize.Plan, error) {
		plan, _, err := c.Plan(p, s, b)
		return plan, err
	}
	all := append(slices.Clone(algorithms), algorithm{name: "auto", takes: []string{"goal", "passes"}})
	for _, a := range all {
		for _, key := range slices.Sorted(maps.Keys(other)) {
			base := Train{Algorithm: a.name}
			takes := slices.Contains(a.takes, key)
			if slices.Contains(selection, key) && a.name != "auto" {
				if _, err := plan(set(t, base, key)); err == nil || !strings.Contains(err.Error(), "train."+key+": is a setting of output: selected") {
					t.Errorf("%s: train.%s without a selection: %v", a.name, key, err)
				}
				if a.name == "dp-sgd" || a.name == "dp-adam" {
					continue // their samples are of everybody, of whom none can be held out
				}
				base.Output, takes = selected, true
			}
			switch key {
			case "sampling", "rate": // few steps are planned faster
				if takes {
					base.Steps = 5
				}
			case "anchor_batch", "difference_batch": // one needs the other
				if takes {
					base.AnchorBatch, base.DifferenceBatch, base.Steps = .5, .5, 6
				}
			}
			changed, err := plan(set(t, base, key))
			if !takes {
				if err == nil || !strings.Contains(err.Error(), "train."+key+":") {
					t.Errorf("%s: train.%s is not its setting: %v", a.name, key, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: train.%s = %v: %v", a.name, key, other[key], err)
				continue
			}
			before, err := plan(base)
			if err != nil {
				t.Fatal(err)
			}
			if key != "goal" && reflect.DeepEqual(before, changed) {
				t.Errorf("%s: train.%s = %v changes nothing", a.name, key, other[key])
			}
		}
	}
}

// TestGoalReachesAuto: what auto is to compare plans by, and how many passes
// they may take, is what the configuration says.
func TestGoalReachesAuto(t *testing.T) {
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p := optimize.Problem{Dim: 20, RankOne: true, Constants: loss.Logistic().Constants()}
	s := optimize.Size{Records: 200_000, Mu: b.Mu()}
	for name, of := range map[string]func(optimize.Outline) float64{
		"":            func(o optimize.Outline) float64 { return o.Predicted },
		"population":  func(o optimize.Outline) float64 { return o.Population },
		"excess-risk": func(o optimize.Outline) float64 { return o.Excess },
	} {
		// A measurement leaves dp-sgd out, which takes long to plan.
		_, list, err := Train{Goal: name, Passes: 4, Measure: .01}.Plan(p, s, b)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Predicted != of(c.Outline) {
				t.Errorf("goal %q: %s is compared by %v: want %v", name, c.Outline.Algorithm, c.Predicted, of(c.Outline))
			}
			if c.Outline.Passes > 4*(1+1e-9) {
				t.Errorf("at most 4 passes: %s takes %v", c.Outline.Algorithm, c.Outline.Passes)
			}
		}
	}
}
