package train

import (
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Algorithms lists the names that Train.Algorithm takes; the first is the
// default.
func Algorithms() []string {
	return []string{"auto", "gd", "spiderboost", "storm", "dp-sgd", "dp-adam"}
}

// Plan settles the configured algorithm for a problem, a size and a budget that
// the caller names. Under auto it also returns all candidates, the chosen one
// first.
func (t Train) Plan(p optimize.Problem, s optimize.Size, b account.Budget) (optimize.Plan, []optimize.Candidate, error) {
	output, err := optimize.ParseOutput(t.Output)
	if err != nil {
		return nil, nil, fmt.Errorf("train.output: %w", err)
	}
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	ball := optimize.Ball{Fraction: t.BallFraction}
	switch t.Algorithm {
	case "", "auto":
		goal, err := t.goal(b)
		if err != nil {
			return nil, nil, err
		}
		list, err := optimize.Auto(p, s, goal)
		if err != nil {
			return nil, nil, err
		}
		return list[0].Plan, list, nil
	case "gd":
		plan, err := optimize.GD{Steps: t.Steps, StepScale: t.StepScale, Multiplier: t.Multiplier, Output: output}.Plan(p, s)
		return plan, nil, err
	case "spiderboost":
		boost := optimize.SpiderBoost{
			Theorem: t.Theorem, Steps: t.Steps, Period: t.Period, AnchorShare: t.AnchorShare, StepScale: t.StepScale, Ball: ball, Output: output,
		}
		if t.AnchorBatch != 0 || t.DifferenceBatch != 0 {
			plan, err := boost.PlanBatches(p, s, b, optimize.Batches{Anchor: t.AnchorBatch, Difference: t.DifferenceBatch})
			return plan, nil, err
		}
		plan, err := boost.Plan(p, s)
		return plan, nil, err
	case "dp-sgd", "dp-adam":
		plan, err := optimize.SGD{
			Adam: t.Algorithm == "dp-adam", Rate: t.Rate, Sampling: t.Sampling, Steps: t.Steps, StepScale: t.StepScale, Output: output,
		}.Plan(p, s, b)
		return plan, nil, err
	case "storm":
		storm := optimize.STORM{Steps: t.Steps, StepScale: t.StepScale, Ball: ball, FrontLoad: t.FrontLoad}
		if t.Output != "" {
			storm.Output = &output
		}
		plan, err := storm.Plan(p, s)
		return plan, nil, err
	}
	return nil, nil, fmt.Errorf("train.algorithm = %q: must be one of %v", t.Algorithm, Algorithms())
}

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
func (t Train) check() error {
	takes := map[string][]string{
		"auto":        {"goal", "passes"},
		"gd":          {"steps", "step_scale", "multiplier", "output"},
		"spiderboost": {"steps", "step_scale", "period", "anchor_share", "ball_fraction", "theorem", "output", "anchor_batch", "difference_batch"},
		"storm":       {"steps", "step_scale", "front_load", "ball_fraction", "output"},
		"dp-sgd":      {"steps", "step_scale", "sampling", "output"},
		"dp-adam":     {"steps", "rate", "sampling", "output"},
	}
	algorithm := t.Algorithm
	if algorithm == "" {
		algorithm = "auto"
	}
	known, ok := takes[algorithm]
	if !ok {
		return nil // refused by name
	}
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"goal", t.Goal != ""}, {"passes", t.Passes != 0}, {"steps", t.Steps != 0}, {"step_scale", t.StepScale != 0}, {"multiplier", t.Multiplier != 0},
		{"output", t.Output != ""}, {"period", t.Period != 0}, {"anchor_share", t.AnchorShare != 0},
		{"ball_fraction", t.BallFraction != 0}, {"front_load", t.FrontLoad != 0}, {"theorem", t.Theorem},
		{"sampling", t.Sampling != 0}, {"rate", t.Rate != 0}, {"anchor_batch", t.AnchorBatch != 0}, {"difference_batch", t.DifferenceBatch != 0},
	} {
		if s.set && !slices.Contains(known, s.name) {
			if algorithm == "auto" {
				return fmt.Errorf("train.%s: auto settles it itself: name an algorithm, one of %v, to set it", s.name, Algorithms()[1:])
			}
			return fmt.Errorf("train.%s: is not a setting of %s, which takes %v", s.name, algorithm, known)
		}
	}
	return nil
}
