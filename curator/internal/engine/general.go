package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// generalPass computes contributions of a loss that is not a function of margins and computes its
// gradient itself.
type generalPass struct {
	loss loss.General
	// sum is the record's contribution, grad the contribution of one term, and another a second vector for
	// a term that is a difference. Each has one number for each parameter.
	sum, grad, another []float64
	// w, along and x are copies of the loss's arguments, so that a loss that writes to its
	// arguments changes nothing.
	w, along []float64
	x        []float32
	// around and beside are used by terms that estimate gradients along random directions. beside holds the term's
	// point moved along one direction. around holds the gradient at the moved point.
	around, beside []float64
}

func newGeneralPass(l loss.General, parameters, features int) *generalPass {
	return &generalPass{
		loss: l, sum: make([]float64, parameters), grad: make([]float64, parameters), another: make([]float64, parameters),
		w: make([]float64, parameters), along: make([]float64, parameters), x: make([]float32, features),
		around: make([]float64, parameters), beside: make([]float64, parameters),
	}
}

// add adds one record's contribution, rounded to grid steps, to the sums p.acc. A faulty record adds
// nothing or, if contributions are numbers, p.faultySteps().
func (g *generalPass) add(p *pass, x []float32, y float64) {
	sum := g.sum
	if p.number {
		sum = g.sum[:1]
	}
	ok := g.contribution(p.terms, x, y) && toSteps(sum, p.scale)
	switch {
	case p.number && !ok:
		p.acc[0] += Round(p.faultySteps())
	case ok:
		for j, v := range sum {
			p.acc[j] += Round(v)
		}
	}
}

// toSteps converts a record's contribution to grid steps. It returns false if a result is not finite.
func toSteps(sum []float64, scale float64) bool {
	for j, v := range sum {
		if sum[j] = float64(v * scale); !sound(sum[j]) {
			return false
		}
	}
	return true
}

// gradient makes the loss write its gradient to dst. Entries that the loss leaves unwritten are NaN.
func (g *generalPass) gradient(dst, w []float64, x []float32, y float64) {
	copy(g.w, w)
	copy(g.x, x)
	forget(dst)
	g.loss.Gradient(dst, g.w, g.x, y)
}

func (g *generalPass) value(w []float64, x []float32, y float64) float64 {
	copy(g.w, w)
	copy(g.x, x)
	return g.loss.Value(g.w, g.x, y)
}

// contribution sets the field sum to the weighted sum of the record's clipped terms. If the terms are
// numbers, the public centre is subtracted from each of them before clipping, and the first entry of sum is
// their weighted sum. contribution returns false for a faulty record: if its target is NaN, which marks a
// malformed record, or if a term is not finite. A panic of the loss is not caught here.
func (g *generalPass) contribution(terms []pointedTerm, x []float32, y float64) (ok bool) {
	if terms[0].number {
		g.sum[0] = 0
	} else {
		clear(g.sum)
	}
	if y != y {
		return false
	}
	for i := range terms {
		t := &terms[i]
		ball, v := t.ball, g.grad
		if t.number {
			v = g.grad[:1]
		}
		t.general(g, v, t, x, y)
		if t.number {
			v[0] -= ball.Centre
			if !sound(v[0]) {
				return false
			}
			g.sum[0] += float64(t.weight * min(max(v[0], -ball.Radius), ball.Radius))
			continue
		}
		if ball.Centre != 0 {
			for j := range v {
				v[j] -= float64(ball.Centre * t.step[j])
			}
		}
		if !clip(v, ball.Radius) {
			return false
		}
		for j, s := range v {
			if ball.Centre != 0 {
				s += float64(ball.Centre * t.step[j])
			}
			g.sum[j] += float64(t.weight * s)
		}
	}
	return true
}

// clip scales v to the norm radius if v is longer, and leaves v unchanged otherwise. It returns false if v is not
// finite. Because of rounding, the norm of the result may exceed radius by at most (len+4) 2^-52 of radius.
func clip(v []float64, radius float64) bool {
	sum := squares(v, 0)
	if !(sum >= 0x1p-900 && sum <= 0x1p900) {
		return clipScaled(v, radius)
	}
	if norm := math.Sqrt(sum); norm > radius {
		factor := radius / norm
		for j := range v {
			v[j] = float64(v[j] * factor)
		}
	}
	return true
}

// clipScaled is clip for vectors whose squared norm could over- or underflow, or that are not finite. It divides v by a
// power of two before it computes the norm.
func clipScaled(v []float64, radius float64) bool {
	big := maxAbs(v)
	if !sound(big) {
		return false
	}
	if big == 0 {
		return true
	}
	_, exp := math.Frexp(big)
	norm := math.Sqrt(squares(v, exp))
	if math.Ldexp(norm, exp) <= radius {
		return true
	}
	for j, x := range v {
		v[j] = float64(math.Ldexp(x, -exp) * (radius / norm))
	}
	return true
}

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
