package firstorder_test

import (
	"errors"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEveryQuestionMayFail lets each question of a run in a metric fail in turn, also those beside the steps: about squares of
// many features, the centre of rows, the first radius of a kink, its curvature, and what the clip holds back. The run ends with
// the error.
func TestEveryQuestionMayFail(t *testing.T) {
	broken := errors.New("broken")
	own, _ := skewed(t, 300, .01, false)
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pinball(0.6)", "huber(0.3)", "logistic", "poisson(3)", "many features"} {
		config := optimizetest.Config{Rows: own.Rows, Targets: own.Targets, Repeat: 300, Budget: b, Seed: 5}
		var p optimize.Problem
		if name == "many features" {
			p, config = manyFeatures(t, 10, query.MaxPairs+4)
		} else {
			if config.Loss, err = loss.Parse(name); err != nil {
				t.Fatal(err)
			}
			if p, err = optimize.NewProblem(config.Loss, b, optimizetest.New(config)); err != nil {
				t.Fatal(err)
			}
			if p.Kinked != nil {
				if p, err = p.Smoothed(query.Smoothing{Radius: .01}); err != nil {
					t.Fatal(err)
				}
			}
			p.Explained = true
			if p.Counts {
				rate := optimize.BaseRate{Loss: config.Loss, Features: 3, Intercept: float64(own.Rows[0][2])}
				base, ok := rate.AtRate(.3)
				if !ok {
					t.Fatal("no base rate")
				}
				p = rate.Begin(p, base)
			}
		}
		asked := map[query.Kind]bool{}
		for fails := 0; ; fails++ {
			config.Script = func(k int) error {
				if k == fails {
					return broken
				}
				return nil
			}
			o := optimizetest.New(config)
			plan, err := firstorder.Preconditioned{Steps: 4}.Plan(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			_, err = plan.Run(t.Context(), o, nil)
			if len(o.Asked) <= fails {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			asked[o.Asked[fails].Question.Term(0).Kind()] = true
			if !errors.Is(err, broken) {
				t.Errorf("%s: question %d has no answer: %v", name, fails, err)
			}
		}
		for kind, by := range map[query.Kind][]string{query.MetricGradient: {"pinball(0.6)", "huber(0.3)", "logistic", "many features"},
			query.ValueChange: {"pinball(0.6)"}, query.Curvature: {"poisson(3)"}, query.SquaredFeatures: {"many features"}, query.SquaredSlope: {"pinball(0.6)", "huber(0.3)"}} {
			for _, of := range by {
				if of == name && !asked[kind] {
					t.Errorf("%s: no question about %v was tried", name, kind)
				}
			}
		}
	}
}
