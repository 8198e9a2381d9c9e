package choose_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// goals returns a convex and a nonconvex problem of 30 dimensions, a size and a budget.
func goals(t *testing.T) (convex, bent optimize.Problem, s size, b account.Budget) {
	t.Helper()
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	convex = optimize.Problem{Shape: optimize.Vector(30), RankOne: true, Constants: loss.Logistic().Constants()}
	bent = convex
	bent.Constants = loss.Tanh().Constants()
	return convex, bent, size{Records: 20_000, Mu: b.Mu()}, b
}

// TestGoalLimitsPasses: no candidate may make more passes than allowed. Methods must be planned with fewer
// steps and not be left out. If the limit is above the passes of all plans, it must change no plan.
func TestGoalLimitsPasses(t *testing.T) {
	p, _, s, b := goals(t)
	names := func(g choose.Auto, b ...account.Budget) (list []string) {
		all, err := g.Candidates(ctx, with(p, s, b...))
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
		if testing.Short() && passes != 3 {
			continue
		}
		got := names(choose.Auto{Passes: passes}, b)
		for _, want := range []string{"gd", "spiderboost", "storm", "dp-sgd", "one-pass-sgd", "one-pass-storm",
			"tree-spider"} {
			if !slices.Contains(got, want) {
				t.Errorf("at most %v passes: %s is not among %v", passes, want, got)
			}
		}
		// If the limit reduces gd's steps, gd must be planned twice: with an average and with the last
		// iterate.
		if n := len(got) - len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s == "gd" })); n != 2 {
			t.Errorf("at most %v passes: %d plans of gd among %v", passes, n, got)
		}
	}
	if free, loose := names(choose.Auto{}), names(choose.Auto{Passes: 1e9}); !slices.Equal(free, loose) {
		t.Errorf("without a limit %v, with one beyond reach %v", free, loose)
	}
	for _, passes := range []float64{-1, .5, math.NaN(), math.Inf(1)} {
		if _, err := (choose.Auto{Passes: passes}).Candidates(ctx, with(p, s)); err == nil ||
			!strings.Contains(err.Error(), "optimize: passes = ") {
			t.Errorf("passes = %v: %v", passes, err)
		}
	}
}

// TestGoalComparesWhatItNames: candidates must be ordered by the forecast of the goal's quantity.
func TestGoalComparesWhatItNames(t *testing.T) {
	p, bent, s, _ := goals(t)
	for success, of := range map[choose.Criterion]func(optimize.Summary) float64{
		choose.Gradient:   func(o optimize.Summary) float64 { return o.Predicted },
		choose.Population: func(o optimize.Summary) float64 { return o.Population },
		choose.ExcessRisk: func(o optimize.Summary) float64 { return o.Excess },
	} {
		list, err := choose.Auto{Goal: success}.Candidates(ctx, with(p, s))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if want := of(c.Summary); c.Predicted != want || want != of(c.Plan.Summary()) {
				t.Errorf("%v: %s is compared by %v: want %v", success, c.Summary.Algorithm, c.Predicted, want)
			}
		}
		// In a single pass the gradient on the records has the same forecast as the distribution's.
		if o := list[0].Summary; o.Predicted == o.Population && !list[0].Plan.Properties().OnePass ||
			o.Predicted == o.Excess || o.Population == o.Excess {
			t.Errorf("%+v: the notions are not told apart", o)
		}
	}
	if _, err := (choose.Auto{Goal: choose.ExcessRisk}).Candidates(ctx, with(bent, s)); err == nil ||
		!strings.Contains(err.Error(), "goal = excess-risk: is for convex losses") {
		t.Errorf("excess risk of a nonconvex loss: %v", err)
	}
	if _, err := (choose.Auto{Goal: 4}).Candidates(ctx, with(p, s)); err == nil ||
		!strings.Contains(err.Error(), "goal = criterion(4)") {
		t.Errorf("unknown goal: %v", err)
	}
}

// TestSamplingIsLastWithoutALimit: without a limit on passes, plans on Poisson samples must come last,
// since sampling saves passes and not privacy.
func TestSamplingIsLastWithoutALimit(t *testing.T) {
	_, bent, s, b := goals(t)
	list, err := choose.Auto{}.Candidates(ctx, with(bent, s, b))
	if err != nil {
		t.Fatal(err)
	}
	last, before := list[len(list)-1], list[len(list)-2]
	if last.Summary.Algorithm != "dp-sgd" {
		t.Errorf("the last is %s: want dp-sgd", last.Summary.Algorithm)
	}
	if !(last.Predicted < before.Predicted) {
		t.Errorf("dp-sgd is predicted %v after %v: it would be last by its prediction", last.Predicted, before.Predicted)
	}
}

// TestWhyPreconditionedIsFirst tests for which losses preconditioned is put before plans with a lower forecast, and the reason that
// is told: ordered classes, classes without an order, losses whose forecast is too far off, a rare class, and the distribution of
// the records. For the goal excess risk none of them is told.
func TestWhyPreconditionedIsFirst(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	const ordered, classes, far, rare, people = "for ordered classes it was the best", "classes were told apart better at every budget",
		"its forecast is too far off", "of a rare class, or of counts", "the gradient on the distribution of the records"
	for _, c := range []struct {
		loss    string
		records float64
		share   float64 // of the curvature at the released base rate in its bound; 0 without a base rate
		want    string
	}{{"ordered(4)", 5e4, 0, ordered}, {"softmax(3)", 5e6, 0, classes}, {"huber(0.1)", 5e6, 0, far}, {"logistic", 5e6, .1, rare},
		{"logistic", 5e6, .9, people}, {"logistic", 5e6, 0, people}} {
		l, err := loss.Parse(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		p, err := optimize.NewProblem(l, b, optimize.Stated(loss.RecordFeatures(l, 20), c.records))
		if err != nil {
			t.Fatal(err)
		}
		if c.share > 0 {
			p.Base = &optimize.Base{Curvature: c.share * p.Constants.Curvature.Hi}
		}
		for _, g := range []choose.Criterion{choose.Gradient, choose.ExcessRisk} {
			if g == choose.ExcessRisk && !p.Convex() {
				continue
			}
			list, err := choose.Auto{Goal: g, WithoutSamples: true}.Candidates(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			why := choose.Auto{Goal: g, WithoutSamples: true}.Why(list)
			for _, reason := range []string{ordered, classes, far, rare, people} {
				if told := strings.Contains(why, reason); told != (reason == c.want && g == choose.Gradient) ||
					told && list[0].Summary.Algorithm != "preconditioned" {
					t.Errorf("%s, base %v, %v: %s is first: %q: must have %q", c.loss, c.share, g, list[0].Summary.Algorithm, why, c.want)
				}
			}
		}
	}
}
