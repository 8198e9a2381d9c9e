package firstorder

import "github.com/stillpoint-dp/stillpoint/optimize"

// The functions below give tests outside the package the values of unexported fields.

func GDCharges(p optimize.Plan) []float64 { return p.(*optimize.Settled).UpdateRule().Importance }

func SpiderBoostCharges(p optimize.Plan) (anchor, difference float64) {
	b := p.(*spiderBoostPlan)
	return b.anchor, b.difference
}

func Period(p optimize.Plan) int { return p.(*spiderBoostPlan).period }

func STORMCharges(p optimize.Plan) (first, rest float64) {
	s := p.(*stormPlan)
	return s.first, s.rest
}

// Charges returns the charges of the second moment, of the curvature, of a step, and of all mean squares together.
func Charges(p optimize.Plan) (moment, curvature, gradient, squares float64) {
	g := p.(*preconditionedPlan)
	steps := g.Summary().Steps
	return g.moment, g.curvature, g.gradient, g.square * float64((steps+g.every-1)/g.every)
}

// UsualClip returns the default ratio of the clip norm to the root mean square gradient, for the effective size N.
func UsualClip(p optimize.Problem, N float64) float64 { return usualClip(p, N) }

// Beyond returns the charge of what the clip holds back.
func Beyond(p optimize.Plan) float64 { return p.(*preconditionedPlan).beyond }

// SeesClip reports whether a run on a problem releases what the clip holds back.
func SeesClip(p optimize.Problem) bool { return seesClip(p) }

// Least returns the ridge of a plan for an edge of 0 and a forecast excess that is the same for every ridge.
func Least(p optimize.Plan, excess float64) float64 {
	return p.(*preconditionedPlan).least(0, func(float64) float64 { return 1 },
		func(optimize.Problem, optimize.UpdateRule) float64 { return excess })
}

// Blocks reports whether the metric has a block and columns apart.
func Blocks(p optimize.Problem) bool { _, _, ok := blockOf(p); return ok }

func Edge(p optimize.Problem, sigma float64) float64 { return diagonalEdge(p, sigma) }

// Filter returns the shares B and V of Transferred at k = 1.
func Filter(steps int, h float64, from int) (left, noise float64) {
	return newFilter(steps, h, from).at(1)
}
