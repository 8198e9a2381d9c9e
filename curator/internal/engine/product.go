package engine

import (
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// addProducts adds the clipped and weighted coefficients of products of the Hessian and the term's vector,
// its step, to p.coef. For a loss phi(<w,x>, y), the coefficient is the second derivative of phi times the
// product of step and row x. The coefficient is later multiplied by the row. A product obeys the same bound
// as the difference of gradients at two points that differ by the step, and is clipped in the same way.
func addProducts(p *pass, t *pointedTerm, b row.Block) {
	y := b.Targets
	n := p.shape.margins * len(y)
	curvature, move := p.slope[:n], p.move[:n]
	p.dots(move, t.step, b)
	p.curvature(curvature, p.margin[:n], move, y)
	lo, hi, _ := t.Curvature()
	p.addBetween(curvature, move, t, lo, hi)
}

// addProductChanges adds the clipped and weighted coefficients of products with a change of the Hessian to
// p.coef: the Hessian at the term's point minus the Hessian at its previous point, times the term's vector
// along. The margin at the previous point is computed as the margin at the point minus the product of the
// row and the displacement between the points.
func addProductChanges(p *pass, t *pointedTerm, b row.Block) {
	y := b.Targets
	n := p.shape.margins * len(y)
	curvature, before, move := p.slope[:n], p.other[:n], p.move[:n]
	p.dots(move, t.step, b)
	for i, z := range p.margin[:n] {
		before[i] = z - move[i]
	}
	p.dots(move, t.along, b)
	p.curvature(curvature, p.margin[:n], move, y)
	p.curvature(before, before, move, y)
	for i := range curvature {
		curvature[i] -= before[i]
	}
	p.addWithin(curvature, t)
}

// addCurvaturesAlong adds, to each record's number, v'Hv minus the term's public centre, clipped to the
// term's radius and times the term's weight. H is the Hessian of the record's loss and v the term's vector.
func addCurvaturesAlong(p *pass, t *pointedTerm, b row.Block) {
	y := b.Targets
	k := p.shape.margins
	n := k * len(y)
	curvature, move := p.slope[:n], p.move[:n]
	p.dots(move, t.along, b)
	p.curvature(curvature, p.margin[:n], move, y)
	for i := range y {
		var sum float64
		for j, m := range move[i*k : (i+1)*k] {
			sum += float64(m * curvature[i*k+j])
		}
		curvature[i] = sum - t.ball.Centre
	}
	addClipped(p.coef, p.faulty, curvature[:len(y)], t.weight, -t.ball.Radius, t.ball.Radius)
}

// curvature sets dst to the second derivative of phi at the margins z, times the vector u: one number
// for each margin. dst may be z.
func (p *pass) curvature(dst, z, u, y []float64) {
	if p.single != nil {
		p.call(p.single.Curvatures, dst, z, y)
		for i, v := range u {
			dst[i] = float64(dst[i] * v)
		}
		return
	}
	given := p.given[:len(u):len(u)]
	copy(given, u)
	p.call(func(dst, z, y []float64) { p.rankOne.(loss.Margins).CurvaturesAlong(dst, z, given, y) }, dst, z, y)
}

func (g *generalPass) productAt(v []float64, t *pointedTerm, x []float32, y float64) {
	g.product(v, t.point, t.step, x, y)
}

func (g *generalPass) productChange(v []float64, t *pointedTerm, x []float32, y float64) {
	g.product(v, t.point, t.along, x, y)
	g.product(g.another, t.prev, t.along, x, y)
	for j := range v {
		v[j] -= g.another[j]
	}
}

func (g *generalPass) curvatureAlong(v []float64, t *pointedTerm, x []float32, y float64) {
	g.product(g.another, t.point, t.along, x, y)
	v[0] = 0
	for j, h := range g.another {
		v[0] += float64(t.along[j] * h)
	}
}

// product makes the loss write the product of its Hessian and a vector to dst. Entries that the loss leaves
// unwritten are NaN.
func (g *generalPass) product(dst, w, along []float64, x []float32, y float64) {
	copy(g.w, w)
	copy(g.along, along)
	copy(g.x, x)
	forget(dst)
	g.loss.(loss.Twice).HessianVector(dst, g.w, g.along, g.x, y)
}
