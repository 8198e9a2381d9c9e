package experiment_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestEveryTheoremPromises tests for every algorithm with a setting theorem, on a family that the theorem is about, the
// promise of its plan: at a little more than Promise.From records the bound is below what the start satisfies, at a
// little less it is not, and a thousandth of the records makes the bound larger. The promise must not move with the
// size of the plan that states it.
func TestEveryTheoremPromises(t *testing.T) {
	cases := map[string]string{
		"spiderboost": "tanh", "dpzero": "tanh", "tree-spider": "tanh", "recursive": "logistic",
		"o2nc multi-pass":  "capped(0.4)",
		"o2nc single-pass": "capped(0.4)", "second-order": "saddle(0.15)", "perturbed-gd": "saddle(0.15)",
		"kl-spider": "exp-tail", "adaptive-gd": "low-rank(5)", "proximal-point": "three-halves-fine",
		"strongly-convex": "low-rank(5)",
	}
	for _, name := range train.Algorithms() {
		// The settings of warm, which smoothed takes, follow from a forecast, which is no bound.
		takes := slices.ContainsFunc(train.HelpOf(name), func(s train.Setting) bool { return s.Key == "theorem" })
		if !takes || name == "warm" || name == "smoothed" {
			continue
		}
		extras := []string{""}
		if name == "o2nc" {
			extras = []string{" multi-pass", " single-pass"}
		}
		for _, extra := range extras {
			family, ok := cases[name+extra]
			if !ok {
				t.Errorf("%s%s: no family", name, extra)
				continue
			}
			settings := train.Settings{"theorem": true}
			if extra != "" {
				settings["radius"], settings["oracle"] = .4, extra[1:]
			}
			a := train.Train{Algorithm: name, Settings: settings}
			promises(t, name+extra, family, a)
		}
	}
}

func promises(t *testing.T, name, family string, a train.Train) {
	t.Helper()
	f, err := experiment.NewFamily(family, 10, 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n float64) (optimize.Summary, bool) {
		p, err := f.Problem(n, b)
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := a.Plan(context.Background(), p)
		if err != nil {
			return optimize.Summary{}, false
		}
		return plan.Summary(), true
	}
	var first optimize.Summary
	for n, ok := 100., false; !ok; n *= 10 {
		if n > 1e9 {
			t.Fatalf("%s: no size can be planned", name)
		}
		first, ok = at(n)
	}
	from := first.Promise.From
	if first.Promise.Theorem == "" || !(from > 0) {
		t.Fatalf("%s: promise = %+v: must name a theorem and a size", name, first.Promise)
	}
	tried := 0
	for _, x := range []float64{.9, 1.1} {
		if from > 1e9 {
			break // too many steps to plan
		}
		s, ok := at(math.Round(from * x))
		if !ok {
			continue
		}
		tried++
		if got := s.Promise.Bound < s.Promise.Start; got != (x > 1) {
			t.Errorf("%s at %.3g records of %.3g: bound %v, start %v", name, from*x, from, s.Promise.Bound, s.Promise.Start)
		}
		if math.Abs(s.Promise.From/from-1) > .01 {
			t.Errorf("%s: from %v at %.3g records, and %v at another size", name, s.Promise.From, from*x, from)
		}
	}
	if tried == 0 && from < 1e9 {
		t.Errorf("%s: no plan near %.3g records", name, from)
	}
}
