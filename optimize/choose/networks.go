package choose

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// networks orders the candidates for a network without jumps: it moves gradient descent (gd) to the front,
// whatever the forecasts and passes. The forecasts assume the curvature of linear models. On networks,
// plans whose forecasts were equal to gd's made a few steps and ended with 2 to 6 times gd's gradient norm.
// gd has the best measured results on networks (lab/results/accuracy.md). If the limit on passes reduces gd's
// steps, the plan of gd that returns the last iterate comes first. If the limit is below fewPasses,
// networks is not used and forecasts order the plans, since after so few steps gd is still near the start.
func networks(list []Candidate) []Candidate {
	first := -1
	for i, c := range list {
		if c.Summary.Algorithm == "gd" {
			first = i // the later of two plans of gd is the plan for few passes
		}
	}
	if first < 0 {
		return list
	}
	c := list[first]
	c.why = "on networks gradient descent was the best of the measured algorithms; for other algorithms than " +
		"linear models' the forecasts are too far off to choose by"
	copy(list[1:first+1], list[:first])
	list[0] = c
	for i := range list {
		list[i].unranked, list[i].Ranked = true, math.Inf(1)
	}
	return list
}

// fewPasses is the limit on passes below which plans for networks are ordered by forecasts.
const fewPasses = 8

// unforeseen reports whether the plans for a problem are ordered by the function networks, and not by
// forecasts.
func (a Auto) unforeseen(p optimize.Problem) bool {
	return p.Layered && (a.Passes == 0 || a.Passes >= fewPasses)
}
