package train

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Algorithms lists the names that Train.Algorithm takes; the first is the
// default.
func Algorithms() []string { return []string{"gd"} }

// plan settles the configured algorithm.
func (t Train) plan(p optimize.Problem, s optimize.Size) (optimize.Plan, error) {
	output, err := optimize.ParseOutput(t.Output)
	if err != nil {
		return nil, fmt.Errorf("train.output: %w", err)
	}
	switch t.Algorithm {
	case "", "gd":
		return optimize.GD{Steps: t.Steps, StepScale: t.StepScale, Multiplier: t.Multiplier, Output: output}.Plan(p, s)
	}
	return nil, fmt.Errorf("train.algorithm = %q: must be one of %v", t.Algorithm, Algorithms())
}
