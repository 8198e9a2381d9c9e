package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// computation is an entry of the table computations: the functions that compute contributions to a term of one kind of
// query, one function for losses of margins and one for general losses. The table is indexed by the kind, query.Kind.
type computation struct {
	// rankOne is for losses of margins. It computes the numbers by which the term multiplies each row of a
	// tile, one number for each margin. It clips them, multiplies them by the term's weight and adds them
	// to p.coef. If the answers of the kind are numbers, it adds the number itself. On entry p.margin holds
	// the rows' margins at the term's point.
	rankOne func(p *pass, t *pointedTerm, b row.Block)
	// general writes to v the term's unclipped contribution of one record. general is nil for kinds
	// that general losses do not have.
	general func(g *generalPass, v []float64, t *pointedTerm, x []float32, y float64)
}

var computations = [...]computation{
	query.Gradient:   {addSlopes, (*generalPass).gradientAt},
	query.Difference: {addSlopeChanges, (*generalPass).gradientChange},
	query.Value:      {addValues, (*generalPass).valueAt},
	query.Norm:       {addSlopes, (*generalPass).gradientAt},

	query.SecondMoment:   {rankOne: addOnes},
	query.Curvature:      {rankOne: addCurvatures},
	query.MetricGradient: {rankOne: addSlopesInMetric},
	query.SquaredSlope:   {rankOne: addSquaredSlopes},
	query.Product:        {addProducts, (*generalPass).productAt},
	query.ProductChange:  {addProductChanges, (*generalPass).productChange},
	query.CurvatureAlong: {addCurvaturesAlong, (*generalPass).curvatureAlong},

	query.ValueChange: {addValueChanges, (*generalPass).valueChange},

	query.RowMean:         {rankOne: addOnes},
	query.SquaredDistance: {rankOne: addSquaredDistances},
	query.CentredMoment:   {rankOne: addOnes},

	// The weighted kinds have no functions here: a weightedPass computes them.
	query.WeightedGradient:  {},
	query.WeightedCurvature: {},
	query.ScoreMoment:       {},
	query.WeightedMoment:    {},

	query.SquaredFeatures: {rankOne: addOnes},
}

// addSlopes adds the clipped and weighted coefficients of gradients to p.coef. The gradient of phi(<w,x>,
// y) is the slope times the row.
func addSlopes(p *pass, t *pointedTerm, b row.Block) {
	n := p.shape.margins * len(b.Targets)
	slope := p.slope[:n]
	p.slopes(t, slope, p.margin[:n], b)
	p.addWithin(slope, t)
}

// addSlopeChanges adds the clipped and weighted coefficients of differences of gradients at two points to
// p.coef. A difference is the change of the slope times the row.
func addSlopeChanges(p *pass, t *pointedTerm, b row.Block) {
	n := p.shape.margins * len(b.Targets)
	slope, other, move, margin := p.slope[:n], p.other[:n], p.move[:n], p.margin[:n]
	// The margin at the previous point is computed as <w,x> - <step,x>, where step is the
	// displacement between the points. A difference then depends on step through the dot product
	// <step,x> only, and the error of this product is relative to the step.
	p.dots(move, t.step, b)
	p.slopes(t, slope, margin, b)
	for i := range other {
		other[i] = margin[i] - move[i]
	}
	p.slopes(t, other, other, b)
	for i := range slope {
		slope[i] -= other[i]
	}
	if lo, hi, ok := t.Curvature(); ok {
		p.addBetween(slope, move, t, lo, hi)
	} else {
		p.addWithin(slope, t)
	}
}

// addValues adds, to each record's number, the value of the loss minus the term's public centre, clipped to
// the term's radius and times the term's weight. A value that is not finite makes its record faulty.
func addValues(p *pass, t *pointedTerm, b row.Block) {
	y := b.Targets
	value := p.slope[:len(y)]
	p.call(p.rankOne.Values, value, p.margin[:p.shape.margins*len(y)], y)
	for i := range value {
		value[i] -= t.ball.Centre
	}
	addClipped(p.coef, p.faulty, value, t.weight, -t.ball.Radius, t.ball.Radius)
}

// addValueChanges adds, to each record's number, the loss at the term's point minus the loss at its
// previous point and minus the term's public centre, clipped to the term's radius and times the term's weight.
// A difference that is not finite makes its record faulty. The margins at the previous point are the margins at the point minus the rows'
// products with the displacement between the points.
func addValueChanges(p *pass, t *pointedTerm, b row.Block) {
	y, n := b.Targets, p.shape.margins*len(b.Targets)
	value, before, move, margin := p.slope[:len(y)], p.other[:n], p.move[:n], p.margin[:n]
	p.dots(move, t.step, b)
	for i := range before {
		before[i] = margin[i] - move[i]
	}
	p.call(p.rankOne.Values, value, margin, y)
	p.call(p.rankOne.Values, move[:len(y)], before, y)
	for i := range value {
		value[i] -= move[i]
		value[i] -= t.ball.Centre
	}
	addClipped(p.coef, p.faulty, value, t.weight, -t.ball.Radius, t.ball.Radius)
}

func (g *generalPass) gradientAt(v []float64, t *pointedTerm, x []float32, y float64) {
	g.estimate(v, t, t.point, x, y)
}

func (g *generalPass) gradientChange(v []float64, t *pointedTerm, x []float32, y float64) {
	g.estimate(v, t, t.point, x, y)
	g.estimate(g.another, t, t.prev, x, y)
	for j := range v {
		v[j] -= g.another[j]
	}
}

func (g *generalPass) valueAt(v []float64, t *pointedTerm, x []float32, y float64) {
	v[0] = g.value(t.point, x, y)
}

func (g *generalPass) valueChange(v []float64, t *pointedTerm, x []float32, y float64) {
	v[0] = g.value(t.point, x, y) - g.value(t.prev, x, y)
}
