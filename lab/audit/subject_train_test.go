package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/internal/train/trialtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// variants returns settings with which algorithms run different code. Each entry is tried with every
// algorithm, and audited with the algorithms that accept it. A setting that the list in this function does
// not contain is tried with the value that [trialtest.Values] returns for it.
func variants() []train.Settings {
	listed := []train.Settings{
		{"output": "last"}, {"output": "smallest"}, {"output": "random"}, {"output": "average"},
		{"step_scale": .5}, {"multiplier": .5}, {"constant_charges": true}, {"rate": .1}, {"sampling": .3},
		{"period": 3}, {"anchor_share": .4}, {"theorem": true}, {"theorem": true, "failure": .1},
		{"theorem": true, "beta": .1},
		{"moment_share": .3}, {"clip_share": .2}, {"clip_scale": .5},
		{"ball_fraction": .5}, {"front_load": .5}, {"goal": "population"}, {"goal": "second-order"}, {"passes": 8},
		{"anchor_batch": .5, "difference_batch": .25}, {"batches": "auto", "batch_slack": 1},
		{"equal_cohorts": true}, {"rounds": 2}, {"depth": 1}, {"decay": 1}, {"accuracy": .05},
		{"inner": "phased-sgd"}, {"inner": "gd"}, {"inner": "spiderboost"}, {"inner": "storm"}, {"cohorts": "disjoint"}, {"lambda": .05}, {"growth": 4}, {"distance": 2},
		{"kappa": 1.5, "gamma": 2}, {"kappa": 3, "gamma": 2}, {"threshold": 5}, {"shrink": 1.2}, {"descent": .1},
		{"noise_scale": 4},
		{"proportion": 4}, {"norm_charge": .01}, {"landing": .5}, {"landing_steps": 3},
		{"radius": .2}, {"radius": .2, "smoothing": "lasry-lions"}, {"space": "plain"}, {"one_pass": true},
		{"oracle": "multi-pass"}, {"oracle": "multi-pass", "anchor_batch": .5, "difference_batch": .25},
		{"oracle": "single-pass"}, {"oracle": "single-pass", "prefix": "tree", "block": 2},
		{"smoothing": "sampled"}, {"order": "first", "directions": 2}, {"order": "zero"},
		{"order": "zero", "oracle": "multi-pass"}, {"order": "zero", "oracle": "single-pass"},
		{"gap": .3}, {"items": 3}, {"without_products": true}, {"without_selection": true},
		{"output": "selected"}, {"output": "selected", "held_out": .3, "candidates": 3, "score": "value"},
		{"output": "selected", "score": "second-order"},
	}
	// The setting "steps" is removed from the result, since every subject sets it already.
	var settings []trialtest.Setting
	for _, name := range append([]string{"selected"}, train.Algorithms()...) {
		for _, s := range train.HelpOf(name) {
			settings = append(settings, trialtest.Setting(s))
		}
	}
	all := trialtest.Values(append(listed, train.Settings{"steps": subjectSteps}), settings)
	return slices.Delete(all, len(listed), len(listed)+1)
}

// subjectSteps is the value of the setting "steps" of audited algorithms: enough steps to reach every
// branch, and few enough for many replays.
const subjectSteps = 10

// trained returns the algorithms of package train on a small problem, each under the relations that
// it supports, with its defaults and with each of the given settings that it accepts.
func trained(all []train.Settings) ([]Subject, error) {
	var list []Subject
	for _, name := range train.Algorithms() {
		before := len(list)
		var refusal error
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			b, err := account.NewBudget(20, 1e-6, relation)
			if err != nil {
				return nil, err
			}
			// Some algorithms accept only convex losses, or only losses whose slope jumps. The settings are tried
			// only with the first loss that the algorithm accepts.
			settings := all
			losses := []string{"tanh", "huber(0.3)", "softmax(3)", "pinball(0.3)"}
			if name == "smoothed" { // the settings of algorithm smoothed are for losses whose slope jumps
				slices.Reverse(losses)
			}
			losses = append(losses, "network(2,relu,hinge)")
			for _, l := range losses {
				taken, err := withSettings(name, l, b, settings)
				if err != nil {
					refusal = err
					continue
				}
				list, settings = append(list, taken...), nil
			}
		}
		if len(list) == before {
			return nil, fmt.Errorf("audit: %s: %w", name, refusal)
		}
	}
	return list, nil
}

// withSettings returns an algorithm with its default settings, and with each of the given settings
// that it accepts. It returns an error if the algorithm does not accept the defaults.
func withSettings(name, l string, b account.Budget, settings []train.Settings) ([]Subject, error) {
	plain, err := trainedAs(train.Train{Algorithm: name}, l, b)
	if err != nil {
		return nil, err
	}
	list := []Subject{plain}
	for _, v := range settings {
		if v["output"] != nil && v["output"] != "selected" && b.Relation() == account.AddOrRemove {
			continue // these output rules make no query, so the relation does not matter to them
		}
		if s, err := trainedAs(train.Train{Algorithm: name, Settings: v}, l, b); err == nil {
			list = append(list, s)
		}
	}
	return list, nil
}

func trainedAs(t train.Train, name string, b account.Budget) (Subject, error) {
	const records, dim = 40, 3
	l, err := loss.Parse(name)
	if err != nil {
		return Subject{}, err
	}
	features := loss.RecordFeatures(l, dim)
	p, err := optimize.NewProblem(l, b, optimize.Stated(features, records))
	if err != nil {
		return Subject{}, err
	}
	if t.Settings["score"] != "value" { // scores by value allow no regularizer
		if p.Regularizer, err = loss.L2(.01); err != nil {
			return Subject{}, err
		}
	}
	ctx := context.Background()
	plan, _, err := short(t).Plan(ctx, p)
	if err != nil {
		// Some algorithms have no setting for steps.
		if plan, _, err = t.Plan(ctx, p); err != nil {
			return Subject{}, err
		}
	}
	return OfPlan(title(t, name, b.Relation()), l, b, Generate(records, features, l, 7), plan), nil
}

func short(t train.Train) train.Train {
	few, ok := fewSteps[t.Algorithm]
	if !ok {
		few = train.Settings{"steps": subjectSteps}
	}
	few = maps.Clone(few)
	if t.Settings["kappa"] != nil {
		delete(few, "gamma")
	}
	maps.Copy(few, t.Settings)
	t.Settings = few
	return t
}

// fewSteps has the settings by which the audit shortens an algorithm, by the algorithm's name. An algorithm
// without an entry is shortened by the setting "steps" alone.
var fewSteps = map[string]train.Settings{
	"kl-spider":      {"rounds": 4, "descent": 2, "kappa": 1, "gamma": 2},
	"proximal-point": {"rounds": 2, "steps": 5},
	"second-order":   {"rounds": 2, "items": 4},
	"adaptive-gd":    {"norm_charge": .03, "landing": .8, "landing_steps": 5},
}

// title names a subject of the audit by its algorithm, settings, loss and relation.
func title(t train.Train, l string, r account.Relation) string {
	name := t.Algorithm
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		name += fmt.Sprintf(" %s=%v", key, t.Settings[key])
	}
	return fmt.Sprintf("%s, %s, %v", name, l, r)
}
