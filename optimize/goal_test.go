package optimize_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// goals are a convex and a nonconvex problem with a size and a budget.
func goals(t *testing.T) (convex, bent optimize.Problem, s optimize.Size, b account.Budget) {
	t.Helper()
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	convex = optimize.Problem{Dim: 30, RankOne: true, Constants: loss.Logistic().Constants()}
	bent = convex
	bent.Constants = loss.Tanh().Constants()
	return convex, bent, optimize.Size{Records: 20_000, Mu: b.Mu()}, b
}

// TestGoalLimitsPasses: no candidate takes more passes than allowed, whole
// methods are not lost for it but planned with fewer steps, and a limit that
// binds nobody changes no plan.
func TestGoalLimitsPasses(t *testing.T) {
	p, _, s, b := goals(t)
	names := func(g optimize.Goal) (list []string) {
		all, err := optimize.Auto(p, s, g)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outlines(all) {
			if g.Passes > 0 && o.Passes > g.Passes*(1+1e-9) {
				t.Errorf("at most %v passes: %s takes %v", g.Passes, o.Algorithm, o.Passes)
			}
			list = append(list, o.Algorithm)
		}
		return list
	}
	for _, passes := range []float64{1, 3, 10} {
		got := names(optimize.Goal{Passes: passes, Budget: b})
		for _, want := range []string{"gd", "spiderboost", "storm", "dp-sgd", "one-pass-sgd", "one-pass-storm", "tree-spider"} {
			if !slices.Contains(got, want) {
				t.Errorf("at most %v passes: %s is not among %v", passes, want, got)
			}
		}
	}
	if free, loose := names(optimize.Goal{}), names(optimize.Goal{Passes: 1e9}); !slices.Equal(free, loose) {
		t.Errorf("without a limit %v, with one beyond reach %v", free, loose)
	}
	for _, passes := range []float64{-1, .5, math.NaN(), math.Inf(1)} {
		if _, err := optimize.Auto(p, s, optimize.Goal{Passes: passes}); err == nil || !strings.Contains(err.Error(), "optimize: passes = ") {
			t.Errorf("passes = %v: %v", passes, err)
		}
	}
}

// TestGoalComparesWhatItNames: candidates are predicted by the notion of success
// that was asked for.
func TestGoalComparesWhatItNames(t *testing.T) {
	p, bent, s, _ := goals(t)
	for success, of := range map[optimize.Success]func(optimize.Outline) float64{
		optimize.Gradient:   func(o optimize.Outline) float64 { return o.Predicted },
		optimize.Population: func(o optimize.Outline) float64 { return o.Population },
		optimize.ExcessRisk: func(o optimize.Outline) float64 { return o.Excess },
	} {
		list, err := optimize.Auto(p, s, optimize.Goal{Success: success})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if want := of(c.Outline); c.Predicted != want || want != of(c.Plan.Outline()) {
				t.Errorf("%v: %s is compared by %v: want %v", success, c.Outline.Algorithm, c.Predicted, want)
			}
		}
		if o := list[0].Outline; o.Predicted == o.Population || o.Predicted == o.Excess || o.Population == o.Excess {
			t.Errorf("%+v: the notions are not told apart", o)
		}
	}
	if _, err := optimize.Auto(bent, s, optimize.Goal{Success: optimize.ExcessRisk}); err == nil || !strings.Contains(err.Error(), "goal = excess-risk: is for convex losses") {
		t.Errorf("excess risk of a nonconvex loss: %v", err)
	}
	if _, err := optimize.Auto(p, s, optimize.Goal{Success: 3}); err == nil || !strings.Contains(err.Error(), "goal = success(3)") {
		t.Errorf("unknown goal: %v", err)
	}
}

// TestSamplingIsLastWithoutALimit: sampling saves passes, not privacy.
func TestSamplingIsLastWithoutALimit(t *testing.T) {
	_, bent, s, b := goals(t)
	list, err := optimize.Auto(bent, s, optimize.Goal{Budget: b})
	if err != nil {
		t.Fatal(err)
	}
	last, before := list[len(list)-1], list[len(list)-2]
	if last.Outline.Algorithm != "dp-sgd" {
		t.Errorf("the last is %s: want dp-sgd", last.Outline.Algorithm)
	}
	if !(last.Predicted < before.Predicted) {
		t.Errorf("dp-sgd is predicted %v after %v: it would be last by its prediction", last.Predicted, before.Predicted)
	}
}
