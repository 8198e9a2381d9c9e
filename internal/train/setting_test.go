package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
)

// other has for every setting a value that differs from the value that the algorithms choose by
// themselves.
var other = map[string]any{
	"goal": "population", "passes": 7., "steps": 9, "step_scale": .3, "multiplier": .5, "output": "random",
	"period": 3, "anchor_share": .3, "theorem": true, "failure": .2, "beta": .3, "constant_charges": true,
	"anchor_batch": .6, "difference_batch": .4, "batch_slack": .4, "sampling": .3, "rate": .02,
	"moment_share": .2, "clip_share": .05, "clip_scale": 1.3,
	"front_load": .5, "equal_cohorts": true, "rounds": 2, "depth": 2, "decay": .7, "accuracy": .01,
	"inner": "phased-sgd", "cohorts": "disjoint", "lambda": .01, "growth": 5., "distance": 3.,
	"kappa": 2., "gamma": 2., "shrink": 1.3, "descent": .3, "noise_scale": 3., "threshold": 2., "proportion": 2.,
	"norm_charge": .003, "landing": .5, "landing_steps": 11,
	"radius": .4, "smoothing": "lasry-lions", "space": "plain", "one_pass": true, "oracle": "single-pass",
	"prefix": "tree", "block": 5,
	"order": "first", "directions": 3,
	"gap": .3, "items": 9, "without_products": true, "without_selection": true,
	"held_out": .3, "candidates": 3, "score": "value", "ball_fraction": .5,
}

// with returns c with the setting key added, with its value in other.
func with(c Train, key string) Train {
	c.Settings = maps.Clone(c.Settings)
	if c.Settings == nil {
		c.Settings = Settings{}
	}
	c.Settings[key] = other[key]
	return c
}

// settingProblem returns a problem for an algorithm: with a non-convex loss for second-order, with the
// non-smooth hinge loss for smoothed, and with the logistic loss for all others.
func settingProblem(t *testing.T, algorithm string) optimize.Problem {
	t.Helper()
	l := loss.Logistic()
	switch algorithm {
	case "second-order":
		l = loss.Tanh()
	case "smoothed":
		l = loss.Hinge()
	}
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(l, b, optimize.Stated(20, 200_000))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fillOther adds to other the settings whose values are tags of their fields.
func fillOther(t *testing.T) {
	t.Helper()
	for _, a := range algorithms {
		for _, s := range settings([]algorithm{a, selection}) {
			if _, ok := other[s.Key]; !ok {
				value, ok := s.Value()
				if !ok {
					t.Errorf("train.%s: its field must have a tag trial: a setting of names has no value to try", s.Key)
				}
				other[s.Key] = value
			}
		}
	}
}

// changed returns a configuration of an algorithm without and with a setting, and whether the algorithm has the setting.
func changed(name, key string) (base, next Train, takes bool) {
	base = Train{Algorithm: name, Settings: Settings{}}
	takes = slices.ContainsFunc(HelpOf(name), func(s Setting) bool { return s.Key == key })
	selects := slices.Contains(keys(reflect.TypeOf(selection.zero)), key)
	if selects && name != "auto" {
		base.Settings["output"], takes = selected, true
	}
	if takes {
		switch key {
		case "gap": // auto has the setting gap for one goal only
			if name == "auto" {
				base.Settings["goal"] = "second-order"
			}
		case "sampling", "rate": // a plan of few steps is made faster
			base.Settings["steps"] = 5
		case "anchor_batch", "difference_batch": // the two settings are only valid together
			base.Settings = Settings{"anchor_batch": .5, "difference_batch": .5, "steps": 6}
			if name == "o2nc" {
				base.Settings["oracle"] = "multi-pass"
			}
		case "batch_slack": // belongs to batches: auto
			base.Settings = Settings{"batches": "auto", "steps": 6}
		case "prefix", "period", "theorem": // exist for one oracle of o2nc only
			if name == "o2nc" {
				base.Settings["oracle"] = "single-pass"
			}
		case "directions": // directions are drawn only with these settings
			base.Settings[map[bool]string{true: "order",
				false: "smoothing"}[name == "o2nc"]] = map[bool]string{true: "first", false: "sampled"}[name == "o2nc"]
		case "failure", "beta": // belong to the theorem's settings
			base.Settings["theorem"] = true
		case "kappa", "gamma": // the two settings are only valid together
			base.Settings["kappa"], base.Settings["gamma"] = 2., 1.
			if key == "kappa" {
				base.Settings["kappa"] = map[bool]float64{true: 3, false: 1.5}[name == "proximal-point"]
			}
		}
	}
	next = with(base, key)
	if name == "proximal-point" && key == "inner" && takes {
		next.Settings[key] = "storm" // the other solvers are those of recursive
	}
	if name == "proximal-point" && key == "output" && takes {
		next.Settings[key] = "smallest" // the only other valid value
	}
	return base, next, takes
}

// TestEverySettingCounts tests each setting with every algorithm: it must either change the plan or
// be refused by name.
func TestEverySettingCounts(t *testing.T) {
	fillOther(t)
	plan := func(c Train) (optimize.Plan, error) {
		plan, _, err := c.Plan(context.Background(), settingProblem(t, c.Algorithm))
		return plan, err
	}
	for i, a := range algorithms {
		if testing.Short() && (i%3 != 0 || samples(a.name)) { // schedules take long to calibrate
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(other)) {
			if slices.Contains(keys(reflect.TypeOf(selection.zero)), key) && a.name != "auto" {
				if _, err := plan(with(Train{Algorithm: a.name}, key)); err == nil ||
					!strings.Contains(err.Error(), "train."+key+": is a setting of output: selected") {
					t.Errorf("%s: train.%s without a selection: %v", a.name, key, err)
				}
				if a.name == "dp-sgd" || a.name == "dp-adam" {
					continue // all their records are in the samples, and none can be held out
				}
			}
			base, next, takes := changed(a.name, key)
			after, err := plan(next)
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
			// Plans contain functions, which cannot be compared, so their stated figures are compared. The
			// goal is left out, since it need not change any figure.
			if key != "goal" && !(a.name == "auto" && key == "gap") &&
				fmt.Sprintf("%+v", stated(before)) == fmt.Sprintf("%+v", stated(after)) {
				t.Errorf("%s: train.%s = %v changes nothing", a.name, key, other[key])
			}
		}
	}
}

// stated returns the content of a plan without its functions, so that two plans can be compared.
func stated(p optimize.Plan) any {
	return []any{p.Summary(), p.Properties(), p.Needs().Schedule != nil, p.Needs().Cohorts}
}

// TestSettingsAreReadStrictly tests that a configuration is refused, with the key's name, if a key
// is a setting of no algorithm or its value has another type, even if no algorithm is named yet.
func TestSettingsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"stepz: 3":           `unknown field "stepz"`,
		"steps: 2.5":         "train.steps = 2.5: must be a whole number",
		"steps: many":        "train.steps = many: must be a whole number",
		"step_scale: wide":   "train.step_scale = wide: must be a number",
		"theorem: 1":         "train.theorem = 1: must be true or false",
		"algorithm: 3":       "train.algorithm = 3: must be one of",
		"measure: all":       "train.measure = all: must be a number",
		"steps: 3, steps: 4": "already defined",
		"ball_fraction: [1]": "train.ball_fraction = [1]: must be a number",
		"steps: 99999999999": "must be a whole number",
	} {
		var c Train
		if err := yaml.Unmarshal([]byte("{"+text+"}"), &c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %q", text, err, want)
		}
	}
	var c Train
	if err := yaml.Unmarshal([]byte("{algorithm: recursive, lambda: 1e-3, rounds: 3, inner: phased-sgd, cohorts: disjoint, theorem: true}"), &c); err != nil {
		t.Fatal(err)
	}
	got, err := c.algorithm()
	if want := (recursive.Recursive{Lambda: 1e-3, Rounds: 3, Inner: recursive.PhasedSGD, Cohorts: recursive.Disjoint,
		Theorem: true}); err != nil || got != optimize.Algorithm(want) {
		t.Errorf("%+v, %v: want %+v", got, err, want)
	}
}

// TestExplicitZero: for every setting of every algorithm and of the output rule "selected", an explicit zero or
// empty name must be refused by key, value and rule, in a configuration and in a map of a program, or must be
// accepted by the field's tag. Keys that several algorithms have must agree. The test fails if a zero reaches a plan.
func TestExplicitZero(t *testing.T) {
	itself := map[string]bool{}
	tried := 0
	for _, a := range append(slices.Clone(algorithms), algorithm{selected, optimize.Selected{}}) {
		for _, key := range keys(reflect.TypeOf(a.zero)) {
			f, _ := field(reflect.TypeOf(a.zero), key)
			_, tagged := f.Tag.Lookup(zeroTag)
			if known, ok := itself[key]; ok && known != tagged {
				t.Errorf("%s: train.%s: zero means itself: %v, and %v elsewhere", a.name, key, tagged, known)
			}
			itself[key] = tagged
			zeros := []any{0, 0., -0., int64(0), "0", "0e9"}
			switch inWords(f.Type) {
			case "yes or no":
				continue // false is what it says
			case "name":
				zeros = []any{""}
			}
			for _, zero := range zeros {
				tried++
				c := Train{Algorithm: a.name, Settings: Settings{key: zero}}
				if a.name == selected {
					c = Train{Algorithm: "gd", Settings: Settings{key: zero, "output": selected}}
				}
				_, err := c.algorithm()
				written := (&Train{}).Set(map[string]any{key: zero})
				for _, err := range []error{err, written} {
					if inWords(f.Type) == "name" && err == written && err == nil {
						continue // names are checked once the algorithm is known
					}
					if refused := err != nil && strings.Contains(err.Error(), "train."+key+" = ") &&
						strings.Contains(err.Error(), "leave it out for the algorithm's rule"); refused == tagged {
						t.Errorf("%s: train.%s = %#v: %v: zero means itself: %v", a.name, key, zero, err, tagged)
					}
				}
			}
		}
	}
	if tried < 400 || !itself["look"] || itself["landing"] {
		t.Errorf("%d zeros tried: %v", tried, itself)
	}
}

// TestRefusedSettingsAreNamed tests the errors for numbers out of range of every setting: each has the name of the setting
// before its value, and of the algorithm before that, if any.
func TestRefusedSettingsAreNamed(t *testing.T) {
	tried := 0
	for _, a := range algorithms {
		if samples(a.name) { // schedules take long to calibrate
			continue
		}
		for _, key := range keys(reflect.TypeOf(a.zero)) {
			f, _ := field(reflect.TypeOf(a.zero), key)
			var values []any
			switch f.Type.Kind() {
			case reflect.Float64:
				values = []any{-3., math.NaN(), math.Inf(1)}
			case reflect.Int:
				values = []any{-3}
			}
			for _, value := range values {
				given := Settings{key: value}
				if other, ok := map[string]string{"gamma": "kappa", "difference_batch": "anchor_batch"}[key]; ok {
					given[other] = map[string]float64{"kappa": 2, "anchor_batch": .5}[other] // valid together alone
				}
				_, _, err := Train{Algorithm: a.name, Settings: given}.Plan(context.Background(), settingProblem(t, a.name))
				want := regexp.MustCompile(fmt.Sprintf(`^optimize: (?:(?:%s|kl): )?(?:[a-z ]+ = [^,:]+, )?%s = %s(?:: | of the records: | a round: |, [a-z ]+ = )`,
					regexp.QuoteMeta(a.name), strings.ReplaceAll(key, "_", " "), regexp.QuoteMeta(fmt.Sprint(value))))
				if tried++; err == nil || !want.MatchString(err.Error()) {
					t.Errorf("%s: %s = %v: %v", a.name, key, value, err)
				}
			}
		}
	}
	if tried < 150 {
		t.Errorf("%d numbers tried", tried)
	}
}

// TestGoalReachesAuto tests that the setting "algorithm: auto" compares plans by the configured
// goal and keeps to the configured number of passes.
func TestGoalReachesAuto(t *testing.T) {
	for name, of := range map[string]func(optimize.Summary) float64{
		"gradient":    func(o optimize.Summary) float64 { return o.Predicted },
		"population":  func(o optimize.Summary) float64 { return o.Population },
		"excess-risk": func(o optimize.Summary) float64 { return o.Excess },
	} {
		// A measurement leaves dp-sgd out, which takes long to plan.
		_, list, err := Train{Measure: .01, Settings: Settings{"goal": name, "passes": 4}}.Plan(context.Background(),
			settingProblem(t, "auto"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Predicted != of(c.Summary) {
				t.Errorf("goal %q: %s is compared by %v: want %v", name, c.Summary.Algorithm, c.Predicted, of(c.Summary))
			}
			if c.Summary.Passes > 4*(1+1e-9) {
				t.Errorf("at most 4 passes: %s takes %v", c.Summary.Algorithm, c.Summary.Passes)
			}
		}
	}
}
