package onepass

import "github.com/stillpoint-dp/stillpoint/optimize"

// DepthFirst gives tests depthFirst, with depth and right as two values.
func DepthFirst(depth int) func(func(int, bool) bool) {
	return func(yield func(int, bool) bool) {
		for v := range depthFirst(depth) {
			if !yield(v.depth, v.right) {
				return
			}
		}
	}
}

func Sizes(p optimize.Plan) []float64 { return p.(*optimize.Settled).UpdateRule().Importance }

func Tree(p optimize.Plan) (rounds, depth int, sizes []float64) {
	t := p.(*treePlan)
	return t.rounds, t.depth, t.sizes
}

func Steps(p optimize.Plan) (length, accuracy float64) {
	t := p.(*treePlan)
	return t.length, t.accuracy
}

// CohortSizes is cohortSizes.
var CohortSizes = cohortSizes
