package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Parted is a loss with a score that is a sum of at most three parts, each a function of one product of a row with the
// score's weights and further parameters, the gaps between thresholds. Parts returns the parts of a record with the score
// z and the target y, at the parameters theta beside the weights: the slopes and second derivatives in their products. The
// rows of the parts follow from class: those of cuts class and class - 1, and of gap class - 1, where row (x, -1, ..., -1,
// 0, ...) of a cut has -1 for each gap below it. A part that does not exist has zeros.
type Parted interface {
	Stacked
	Parts(theta []float64, z, y float64) (class int, slopes, curvatures [3]float64, ok bool)
}

// ofParts computes the contribution of a record of a [Parted], whose metric R has a dimension for each parameter. The
// weight u is that of the longest of the record's rows of cuts, in the metric, and so depends on the record's features
// alone. The weighted gradient is shortened to the product of the term's limits where it is longer. The weighted curvature
// is scaled down where its trace is above the radius. It returns false if the record is faulty.
func (g *weightedPass) ofParts(x []float32, y float64) bool {
	x = x[:g.features]
	d, above := g.dim, g.dim-len(x)
	g.product(0, x)
	theta := append([]float64(nil), g.w[len(x):]...) // a copy, so that a loss that writes to it changes nothing
	class, slopes, curvatures, ok := g.parts.Parts(theta, g.margin[0], y)
	if !ok || class < 0 || class > above+1 {
		return false
	}
	var longest float64
	for cut := range above + 1 {
		row := g.rows[cut*d : (cut+1)*d]
		if cut > 0 {
			copy(row, g.rows[(cut-1)*d:cut*d])
			for k, r := range g.matrix[(len(x)+cut-1)*d : (len(x)+cut)*d] {
				row[k] -= r
			}
		}
		longest = max(longest, squares(row, 0))
	}
	factor, reach := 1., g.term.Reach()
	if n := math.Sqrt(longest); n > reach {
		factor = reach / n
	}
	var rows [3][]float64
	if class <= above {
		rows[0] = g.rows[class*d : (class+1)*d]
	}
	if class > 0 {
		rows[1] = g.rows[(class-1)*d : class*d]
		if class <= above {
			rows[2] = g.matrix[(len(x)+class-1)*d : (len(x)+class)*d]
		}
	}
	u := float64(factor * factor)
	if g.term.Kind() == query.WeightedCurvature {
		return g.bent(u, curvatures, rows)
	}
	for i, row := range rows {
		for k, v := range row {
			g.score[k] += float64(float64(u*slopes[i]) * v)
		}
	}
	n := math.Sqrt(squares(g.score, 0))
	if !sound(n) {
		return false
	}
	if most := float64(g.term.Slope() * reach); n > most {
		for k, v := range g.score {
			g.score[k] = float64(v * (most / n))
		}
	}
	return true
}

// bent adds the curvatures of the parts to the sum, scaled down such that the trace is at most the term's radius.
func (g *weightedPass) bent(u float64, curvatures [3]float64, rows [3][]float64) bool {
	trace := 0.
	for i, row := range rows {
		curvatures[i] = float64(u * max(curvatures[i], 0))
		trace += float64(curvatures[i] * squares(row, 0))
	}
	if !sound(trace) {
		return false
	}
	by := 1.
	if most := g.term.ball.Radius; trace > most {
		by = most / trace
	}
	for i, row := range rows {
		if row != nil {
			addOuter(g.sum, float64(by*curvatures[i]), row)
		}
	}
	return true
}
