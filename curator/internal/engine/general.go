package engine

import (
	"math"

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
	// around and beside are used by terms that estimate gradients along random directions. beside
	// holds the term's point moved along one direction. around holds the gradient at the moved
	// point.
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

// clip scales v to the norm radius if v is longer, and leaves v unchanged otherwise. It returns false if v
// is not finite. Because of rounding, the norm of the result may exceed radius by at most (len+4) 2^-52 of
// radius.
func clip(v []float64, radius float64) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x * x)
	}
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
	var big float64
	for _, x := range v {
		if !sound(x) {
			return false
		}
		big = max(big, math.Abs(x))
	}
	if big == 0 {
		return true
	}
	_, exp := math.Frexp(big)
	var sum float64
	for _, x := range v {
		s := math.Ldexp(x, -exp)
		sum += float64(s * s)
	}
	norm := math.Sqrt(sum)
	if math.Ldexp(norm, exp) <= radius {
		return true
	}
	for j, x := range v {
		v[j] = float64(math.Ldexp(x, -exp) * (radius / norm))
	}
	return true
}
