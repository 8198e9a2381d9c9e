package firstorder_test

import (
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// method is an algorithm as its users configure it.
type method struct {
	name string
	plan func(p optimize.Problem, s size) (optimize.Plan, error)
}

// settings are what all methods have in common.
type settings struct {
	steps  int
	scale  float64
	output optimize.Output
}

// methods lists every algorithm that asks about all records, with the given
// settings.
func methods(c settings) []method {
	return []method{
		{"gd", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return firstorder.GD{Steps: c.steps, StepScale: c.scale, Output: c.output}.Plan(ctx, with(p, s))
		}},
		{"nesterov", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return firstorder.Nesterov{Steps: c.steps, StepScale: c.scale, Output: c.output}.Plan(ctx, with(p, s))
		}},
		{"spiderboost", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return firstorder.SpiderBoost{Steps: c.steps, StepScale: c.scale, Output: c.output}.Plan(ctx, with(p, s))
		}},
		{"storm", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return firstorder.STORM{Steps: c.steps, StepScale: c.scale, Output: c.output}.Plan(ctx, with(p, s))
		}},
	}
}
