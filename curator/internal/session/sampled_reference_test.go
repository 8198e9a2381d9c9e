package session

import (
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// rowed presents a loss of one margin as a general loss, a function of its parameters.
type rowed struct {
	loss.Loss
	of loss.RankOne
}

func (l rowed) Value(w []float64, x []float32, y float64) float64 {
	v := []float64{0}
	l.of.Values(v, []float64{inner(w, x)}, []float64{y})
	return v[0]
}

func (l rowed) Gradient(dst, w []float64, x []float32, y float64) {
	s := []float64{0}
	l.of.Slopes(s, []float64{inner(w, x)}, []float64{y})
	for j := range dst {
		dst[j] = s[0] * float64(x[j])
	}
}

// asWritten returns a loss as a general loss, which computes its gradient itself. This is the form in
// which queries with random directions use it.
func asWritten(l loss.Loss) loss.Loss {
	switch l := l.(type) {
	case loss.RankOne:
		return rowed{l, l}
	case loss.Margins:
		return loss.Joint(l)
	}
	return l
}

// estimate returns the gradient that a term uses, for a general loss: the loss's own, or an estimate
// along random directions.
func estimate(l loss.General, t query.Term, w []float64, x []float32, y float64) []float64 {
	s := t.Smoothing()
	switch {
	case !s.On():
		return gradient(l, w, x, y)
	case !s.Sampled():
		v := make([]float64, len(w))
		for j := range v {
			v[j] = slope(l.(rowed).of, t, w, x, y) * float64(x[j])
		}
		return v
	}
	directions, _ := t.Directions()
	sum, m := make([]float64, len(w)), float64(s.Directions)
	for i := range s.Directions {
		u := make([]float64, len(w))
		directions.Write(u, directions.Of(x, y, i))
		up, down := plus(w, s.Radius, u), plus(w, -s.Radius, u)
		if s.By == query.Gradients {
			sum = plus(sum, 1/m, gradient(l, up, x, y))
		} else {
			change := l.Value(up, x, y) - l.Value(down, x, y)
			sum = plus(sum, float64(len(w))/(2*s.Radius)*change/m, u)
		}
	}
	return sum
}
