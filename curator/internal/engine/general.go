package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// generalPass computes contributions of a loss that writes its own gradient.
type generalPass struct {
	loss               loss.General
	sum, grad, another []float64
}

func newGeneralPass(l loss.General, dim int) *generalPass {
	return &generalPass{loss: l, sum: make([]float64, dim), grad: make([]float64, dim), another: make([]float64, dim)}
}

func (g *generalPass) tile(p *pass, x []float32, y []float64) {
	dim := len(g.sum)
	for i := range y {
		r := x[i*p.stride : i*p.stride+dim]
		value, ok := g.contribution(p.terms, r, y[i])
		if !ok {
			continue
		}
		p.sound++
		if value {
			p.acc[0] += Round(float64(g.sum[0] * p.scale))
			continue
		}
		for j, v := range g.sum {
			p.acc[j] += Round(float64(v * p.scale))
		}
	}
}

// contribution sets g.sum to the weighted sum of the record's clipped terms. ok
// is false when the record is faulty or a term is not finite. value says that
// the answer is the scalar g.sum[0].
func (g *generalPass) contribution(terms []pointedTerm, x []float32, y float64) (value, ok bool) {
	dim := len(g.sum)
	clear(g.sum)
	if y != y {
		return false, false
	}
	for _, t := range terms {
		ball := t.Ball()
		w := t.point[:dim]
		if t.Kind() == query.Value {
			v := g.loss.Value(w, x, y) - ball.Centre
			if !sound(v) {
				return true, false
			}
			g.sum[0] += float64(t.Weight() * min(max(v, -ball.Radius), ball.Radius))
			value = true
			continue
		}
		g.loss.Gradient(g.grad, w, x, y)
		if t.Kind() == query.Difference {
			g.loss.Gradient(g.another, t.prev[:dim], x, y)
			for j := range g.grad {
				g.grad[j] -= g.another[j]
				if ball.Centre != 0 {
					g.grad[j] -= float64(ball.Centre * t.step[j])
				}
			}
		}
		if !clip(g.grad, ball.Radius) {
			return value, false
		}
		for j, v := range g.grad {
			if t.Kind() == query.Difference && ball.Centre != 0 {
				v += float64(ball.Centre * t.step[j])
			}
			g.sum[j] += float64(t.Weight() * v)
		}
	}
	return value, true
}

// clip scales v to norm at most radius; it reports false when v is not finite.
// The clipped norm exceeds radius by a relative (len+4) 2^-52 at most.
func clip(v []float64, radius float64) bool {
	var sum float64
	for _, x := range v {
		if !sound(x) {
			return false
		}
		sum += float64(x * x)
	}
	if sum == 0 || sum > 0x1p900 || sum < 0x1p-900 {
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

// clipScaled is clip for vectors whose squared norm over- or underflows: the
// norm is taken after scaling by a power of two.
func clipScaled(v []float64, radius float64) bool {
	var big float64
	for _, x := range v {
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
