package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/train"
)

// variants are settings of algorithms that have code of their own. Every one is
// tried with every algorithm, and enrolled with those that take it.
func variants() []train.Train {
	return []train.Train{
		{Output: "last"}, {Output: "smallest"}, {Output: "random"},
		{StepScale: .5}, {Multiplier: .5}, {Rate: .1}, {Sampling: .3},
		{Period: 3}, {AnchorShare: .4}, {Theorem: true},
		{BallFraction: .5}, {FrontLoad: .5}, {Goal: "population"}, {Passes: 8},
		{AnchorBatch: .5, DifferenceBatch: .25},
		{EqualCohorts: true}, {Rounds: 2}, {Depth: 1}, {Decay: 1}, {Accuracy: .05},
		{Inner: "phased-sgd"}, {Cohorts: "disjoint"}, {Lambda: .05}, {Growth: 4}, {Distance: 2},
		{Output: "selected"}, {Output: "selected", HeldOut: .3, Candidates: 3, Score: "value"},
	}
}

// subjectSteps is how many steps a trained subject takes, if its algorithm can
// be told: enough for every branch, few enough for many replays.
const subjectSteps = 10

// trained returns the algorithms of package train on a small problem, each under
// the relations it serves and with the settings that it takes.
func trained() ([]Subject, error) {
	var list []Subject
	for _, name := range train.Algorithms() {
		before := len(list)
		var refusal error
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			b, err := account.NewBudget(20, 1e-6, relation)
			if err != nil {
				return nil, err
			}
			// Some take convex losses only. Settings are tried with the first that
			// is taken.
			settings := variants()
			for _, l := range []string{"tanh", "huber(0.3)"} {
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

// withSettings returns an algorithm with its default settings and with all of
// the given ones that it takes; an error if not even the first.
func withSettings(name, l string, b account.Budget, settings []train.Train) ([]Subject, error) {
	plain, err := trainedAs(train.Train{Algorithm: name}, l, b)
	if err != nil {
		return nil, err
	}
	list := []Subject{plain}
	for _, v := range settings {
		if v.Output != "" && v.Output != "selected" && b.Relation() == account.AddOrRemove {
			continue // rules that ask nothing see no relation
		}
		v.Algorithm = name
		if s, err := trainedAs(v, l, b); err == nil {
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
	p, err := problem(l, dim)
	if err != nil {
		return Subject{}, err
	}
	if t.Score == "value" {
		p.Regularizer = nil // cannot be a part of scores
	}
	size := size(records, b, 1)
	plan, _, err := short(t).Plan(p, size, b)
	if err != nil {
		// Not all algorithms are told their steps.
		if plan, _, err = t.Plan(p, size, b); err != nil {
			return Subject{}, err
		}
	}
	return OfPlan(title(t, name, b.Relation()), l, b, Generate(records, dim, l, 7), plan), nil
}

func short(t train.Train) train.Train {
	t.Steps = subjectSteps
	return t
}

// title names the settings that are not those of the zero value.
func title(t train.Train, l string, r account.Relation) string {
	name := t.Algorithm
	t.Algorithm = ""
	settings := strings.Trim(fmt.Sprintf("%+v", t), "{}")
	for _, field := range strings.Fields(settings) {
		switch key, value, _ := strings.Cut(field, ":"); value {
		case "", "0", "false":
		default:
			name += fmt.Sprintf(" %s=%s", strings.ToLower(key), value)
		}
	}
	return fmt.Sprintf("%s, %s, %v", name, l, r)
}

func problem(l loss.Loss, dim int) (optimize.Problem, error) {
	regularizer, err := loss.L2(.01)
	_, rankOne := l.(loss.RankOne)
	return optimize.Problem{Dim: dim, Constants: l.Constants(), RankOne: rankOne, Regularizer: regularizer}, err
}

func size(records int, b account.Budget, share float64) optimize.Size {
	s := optimize.Size{Records: float64(records), Mu: b.Mu() * share, Neighbours: 2}
	if b.Relation() == account.AddOrRemove {
		s.Neighbours = 1
	}
	return s
}

// measured adds the release of a result's quality to a run.
func measured(s Subject, p optimize.Problem, charge float64) Subject {
	run := s.Run
	s.Run = func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error) {
		result, err := run(ctx, o, observe)
		if err != nil {
			return result, err
		}
		m, err := optimize.Measure{Charge: charge}.Ask(ctx, o, p, result.(optimize.Result).W)
		return [2]any{result, m}, err
	}
	return s
}
