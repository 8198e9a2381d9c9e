package train

import (
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// algorithm is one that a configuration can name.
type algorithm struct {
	name string
	// takes lists the settings it does not ignore.
	takes []string
	plan  func(t Train, o output, p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, error)
}

// output is the configured output rule; set says that there is one.
type output struct {
	rule optimize.Output
	set  bool
}

// pointer returns the rule for methods whose zero rule is not TailAverage.
func (o output) pointer() *optimize.Output {
	if !o.set {
		return nil
	}
	return &o.rule
}

// selection are the settings of the output rule "selected".
var selection = []string{"held_out", "candidates", "score"}

var algorithms = []algorithm{
	{"gd", []string{"steps", "step_scale", "multiplier", "output"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, _ account.Budget) (optimize.Plan, error) {
			return optimize.GD{Steps: t.Steps, StepScale: t.StepScale, Multiplier: t.Multiplier, Output: o.rule}.Plan(p, s)
		}},
	{"spiderboost", []string{"steps", "step_scale", "period", "anchor_share", "ball_fraction", "theorem", "output", "anchor_batch", "difference_batch"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, error) {
			c := optimize.SpiderBoost{
				Theorem: t.Theorem, Steps: t.Steps, Period: t.Period, AnchorShare: t.AnchorShare, StepScale: t.StepScale, Ball: t.ball(), Output: o.rule,
			}
			if t.sampled() {
				return c.PlanBatches(p, s, b, optimize.Batches{Anchor: t.AnchorBatch, Difference: t.DifferenceBatch})
			}
			return c.Plan(p, s)
		}},
	{"storm", []string{"steps", "step_scale", "front_load", "ball_fraction", "output"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, _ account.Budget) (optimize.Plan, error) {
			return optimize.STORM{Steps: t.Steps, StepScale: t.StepScale, Ball: t.ball(), FrontLoad: t.FrontLoad, Output: o.pointer()}.Plan(p, s)
		}},
	{"dp-sgd", []string{"steps", "step_scale", "sampling", "output"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, error) {
			return optimize.SGD{Sampling: t.Sampling, Steps: t.Steps, StepScale: t.StepScale, Output: o.rule}.Plan(p, s, b)
		}},
	{"dp-adam", []string{"steps", "rate", "sampling", "output"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, error) {
			return optimize.SGD{Adam: true, Rate: t.Rate, Sampling: t.Sampling, Steps: t.Steps, Output: o.rule}.Plan(p, s, b)
		}},
	{"one-pass-sgd", []string{"steps", "step_scale", "equal_cohorts", "output"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, _ account.Budget) (optimize.Plan, error) {
			return optimize.OnePassSGD{Steps: t.Steps, StepScale: t.StepScale, EqualCohorts: t.EqualCohorts, Output: o.rule}.Plan(p, s)
		}},
	{"one-pass-storm", []string{"steps", "step_scale", "equal_cohorts", "ball_fraction", "output"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, _ account.Budget) (optimize.Plan, error) {
			return optimize.OnePassSTORM{Steps: t.Steps, StepScale: t.StepScale, Ball: t.ball(), EqualCohorts: t.EqualCohorts, Output: o.pointer()}.Plan(p, s)
		}},
	{"tree-spider", []string{"rounds", "depth", "decay", "step_scale", "accuracy", "ball_fraction", "theorem", "output"},
		func(t Train, o output, p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, error) {
			return optimize.TreeSpider{
				Theorem: t.Theorem, Rounds: t.Rounds, Depth: t.Depth, Decay: t.Decay, StepScale: t.StepScale, Accuracy: t.Accuracy,
				Ball: t.ball(), Output: o.rule,
			}.Plan(p, s, b)
		}},
	{"recursive", []string{"inner", "cohorts", "rounds", "steps", "step_scale", "lambda", "growth", "distance", "theorem"},
		func(t Train, _ output, p optimize.Problem, s optimize.Size, _ account.Budget) (optimize.Plan, error) {
			inner, err := optimize.ParseInner(t.Inner)
			if err != nil {
				return nil, fmt.Errorf("train.inner: %w", err)
			}
			cohorts, err := optimize.ParseCohorts(t.Cohorts)
			if err != nil {
				return nil, fmt.Errorf("train.cohorts: %w", err)
			}
			return optimize.Recursive{
				Inner: inner, Cohorts: cohorts, Theorem: t.Theorem, Radius: t.Distance, Lambda: t.Lambda, Growth: t.Growth,
				Rounds: t.Rounds, Steps: t.Steps, StepScale: t.StepScale,
			}.Plan(p, s)
		}},
}

// Algorithms lists the names that Train.Algorithm takes; the first is the
// default.
func Algorithms() []string {
	names := []string{"auto"}
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// selected is the output rule that scores points on records held out.
const selected = "selected"

// Plan settles the configured algorithm for a problem, a size and a budget that
// the caller names. Under auto it also returns all candidates, the chosen one
// first.
func (t Train) Plan(p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, []optimize.Candidate, error) {
	if t.Algorithm == "" || t.Algorithm == "auto" {
		return t.auto(p, s, b)
	}
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == t.Algorithm })
	if i < 0 {
		return nil, nil, fmt.Errorf("train.algorithm = %q: must be one of %v", t.Algorithm, Algorithms())
	}
	a := algorithms[i]
	if err := t.check(a); err != nil {
		return nil, nil, err
	}
	if t.Output != selected {
		o := output{set: t.Output != ""}
		var err error
		if o.rule, err = optimize.ParseOutput(t.Output); err != nil {
			return nil, nil, fmt.Errorf("train.output: %w, or %q", err, selected)
		}
		plan, err := a.plan(t, o, p, s, b)
		return plan, nil, err
	}
	score, err := optimize.ParseScore(t.Score)
	if err != nil {
		return nil, nil, fmt.Errorf("train.score: %w", err)
	}
	plan, err := optimize.Selected{Share: t.HeldOut, Candidates: t.Candidates, By: score}.Plan(p, s,
		func(p optimize.Problem, s optimize.Size) (optimize.Plan, error) { return a.plan(t, output{}, p, s, b) })
	return plan, nil, err
}

func (t Train) auto(p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, []optimize.Candidate, error) {
	if err := t.check(algorithm{name: "auto", takes: []string{"goal", "passes"}}); err != nil {
		return nil, nil, err
	}
	goal, err := t.goal(b)
	if err != nil {
		return nil, nil, err
	}
	list, err := optimize.Auto(p, s, goal)
	if err != nil {
		return nil, nil, err
	}
	return list[0].Plan, list, nil
}

func (t Train) ball() optimize.Ball { return optimize.Ball{Fraction: t.BallFraction} }

func (t Train) sampled() bool { return t.AnchorBatch != 0 || t.DifferenceBatch != 0 }

// goal is what auto compares plans by. Methods on Poisson samples, whose planning
// takes longest, leave nothing for a measurement, and are not chosen where
// passes are not limited.
func (t Train) goal(b account.Budget) (optimize.Goal, error) {
	success, err := optimize.ParseSuccess(t.Goal)
	if err != nil {
		return optimize.Goal{}, fmt.Errorf("train.goal: %w", err)
	}
	g := optimize.Goal{Success: success, Passes: t.Passes}
	if t.Measure == 0 && t.Passes > 0 {
		g.Budget = b
	}
	return g, nil
}

// check refuses settings that the algorithm would ignore.
func (t Train) check(a algorithm) error {
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"goal", t.Goal != ""}, {"passes", t.Passes != 0}, {"steps", t.Steps != 0}, {"step_scale", t.StepScale != 0},
		{"multiplier", t.Multiplier != 0}, {"output", t.Output != ""}, {"period", t.Period != 0}, {"anchor_share", t.AnchorShare != 0},
		{"ball_fraction", t.BallFraction != 0}, {"front_load", t.FrontLoad != 0}, {"theorem", t.Theorem},
		{"sampling", t.Sampling != 0}, {"rate", t.Rate != 0}, {"anchor_batch", t.AnchorBatch != 0}, {"difference_batch", t.DifferenceBatch != 0},
		{"equal_cohorts", t.EqualCohorts}, {"rounds", t.Rounds != 0}, {"depth", t.Depth != 0}, {"decay", t.Decay != 0},
		{"accuracy", t.Accuracy != 0}, {"inner", t.Inner != ""}, {"cohorts", t.Cohorts != ""}, {"lambda", t.Lambda != 0},
		{"growth", t.Growth != 0}, {"distance", t.Distance != 0}, {"held_out", t.HeldOut != 0}, {"candidates", t.Candidates != 0}, {"score", t.Score != ""},
	} {
		switch {
		case !s.set || slices.Contains(a.takes, s.name):
		case s.name == "output" && t.Output == selected && a.name != "auto": // wraps every algorithm
		case slices.Contains(selection, s.name) && a.name != "auto":
			if t.Output != selected {
				return fmt.Errorf("train.%s: is a setting of output: %s", s.name, selected)
			}
		case a.name == "auto":
			return fmt.Errorf("train.%s: auto settles it itself: name an algorithm, one of %v, to set it", s.name, Algorithms()[1:])
		default:
			return fmt.Errorf("train.%s: is not a setting of %s, which takes %v", s.name, a.name, a.takes)
		}
	}
	return nil
}
