package firstorder

import "github.com/stillpoint-dp/stillpoint/optimize"

// The functions below give tests outside the package the values of unexported fields.

func GDCharges(p optimize.Plan) []float64 { return p.(*gdPlan).charges }

func SpiderBoostCharges(p optimize.Plan) (anchor, difference float64) {
	b := p.(*spiderBoostPlan)
	return b.anchor, b.difference
}

func Period(p optimize.Plan) int { return p.(*spiderBoostPlan).period }

func STORMCharges(p optimize.Plan) (first, rest float64) {
	s := p.(*stormPlan)
	return s.first, s.rest
}

// Blocks reports whether the metric has a block and columns apart.
func Blocks(p optimize.Problem) bool { _, _, ok := blockOf(p); return ok }

func Edge(p optimize.Problem, sigma float64) float64 { return diagonalEdge(p, sigma) }
