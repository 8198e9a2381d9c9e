package kl_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Short names for the helpers in package optimizetest.
var (
	ctx          = context.Background()
	budget       = optimizetest.Budget
	run          = optimizetest.RunPlan
	resolve      = optimizetest.Resolve
	descend      = optimizetest.Descend
	add          = optimizetest.Add
	length       = optimizetest.Length
	same         = optimizetest.Same
	close        = optimizetest.Close
	charges      = optimizetest.Charges
	withinBudget = optimizetest.WithinBudget
)

// methods lists the methods, each with settings that solve the shared problems.
var methods = []struct {
	name string
	of   optimize.Algorithm
}{
	{"strongly-convex", kl.StronglyConvex{Steps: 2000, StepScale: 1, Lambda: .03}},
	{"proximal-point", kl.Proximal{Steps: 200, Rounds: 20, StepScale: 1, Lambda: .02}},
	{"kl-geometric", kl.Geometric{Steps: 600, StepScale: 1, Shrink: 1.05}},
	{"adaptive-gd", kl.Adaptive{StepScale: 1, LandingSteps: 900, Output: optimize.Last}},
	{"kl-spider", kl.Spider{KL: optimize.KL{Kappa: 2, Gamma: 4}, Descent: .25, Rounds: 1500, StepScale: .25,
		Threshold: 1e-9, Output: optimize.Last}},
}

// asked plans and runs an algorithm on a shared problem, and returns plan, oracle, result and problem.
// mu = 0 means the budget's mu.
func asked(t *testing.T, a optimize.Algorithm, p optimizetest.Problem, records int, mu float64) (optimize.Plan,
	*optimizetest.Oracle, optimize.Result, optimize.Problem) {
	t.Helper()
	o := optimizetest.New(p.Config(budget(t), records/len(p.Rows), 5))
	public := o.Problem(p.Public)
	if mu > 0 {
		public.Mu = mu
	}
	plan, err := a.Plan(ctx, public)
	return plan, o, run(t, resolve(t, plan, err), o), public
}

// points returns the points of the queries of one kind, with the answers and their noise.
func points(o *optimizetest.Oracle, kind query.Kind) (w, answers [][]float64, sigma []float64) {
	for _, a := range o.Asked {
		if term := a.Question.Terms()[0]; term.Kind() == kind {
			w, answers, sigma = append(w, term.Point()), append(answers, a.Answer.Mean), append(sigma, a.Answer.Sigma)
		}
	}
	return w, answers, sigma
}

// TestCountsAreNotNegative: a negative number of steps or rounds is refused by each algorithm that takes one, by its name.
func TestCountsAreNotNegative(t *testing.T) {
	public := optimizetest.New(optimizetest.Problems()[1].Config(budget(t), 4, 5)).Problem(optimizetest.Problems()[1].Public)
	public.KL = optimize.KL{Kappa: 2, Gamma: 3}
	for name, a := range map[string]optimize.Algorithm{"rounds": kl.Proximal{Rounds: -1}, "steps": kl.Proximal{Steps: -1}, "steps ": kl.Geometric{Steps: -1}} {
		if _, err := a.Plan(ctx, public); err == nil || !strings.Contains(err.Error(), ": "+strings.TrimSpace(name)+" = -1: must be") {
			t.Errorf("%T: %v: must name %s", a, err, name)
		}
	}
}
