package firstorder_test

import (
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// method is the name of an algorithm and a function that plans it with fixed settings.
type method struct {
	name string
	plan func(p optimize.Problem, s size) (optimize.Plan, error)
}

// settings are the settings that all methods have.
type settings struct {
	steps  int
	scale  float64
	output optimize.Output
}

// methods returns every algorithm that makes queries on all records, with the given settings.
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
