package optimizetest

import (
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// written returns the loss in the form that the query terms need. If l is rank-one and a term has a smoothing by random
// directions, it returns l as a loss that computes its own gradient. Otherwise it returns l itself.
func written(l loss.Loss, terms []query.Term) loss.Loss {
	r, ok := l.(loss.RankOne)
	if ok && slices.ContainsFunc(terms, func(t query.Term) bool { return t.Smoothing().Sampled() }) {
		return rowed{r, r}
	}
	return l
}

// rowed presents a loss of one margin as a loss.General, a function of the parameters w.
type rowed struct {
	loss.Loss
	of loss.RankOne
}

func (l rowed) Value(w []float64, x []float32, y float64) float64 { return one(l.of.Values, w, x, y) }

func (l rowed) Gradient(dst, w []float64, x []float32, y float64) {
	copy(dst, vector(x))
	for j := range dst {
		dst[j] *= one(l.of.Slopes, w, x, y)
	}
}

// estimateAt returns the gradient of one record at w as the term t defines it: the gradient of l if t has
// no smoothing, the gradient smoothed in closed form, or the estimate from the term's random directions.
func estimateAt(l loss.General, t query.Term, w []float64, x []float32, y float64) []float64 {
	s := t.Smoothing()
	sum := make([]float64, len(w))
	if !s.On() {
		return gradientAt(l, w, x, y)
	} else if !s.Sampled() {
		addTo(sum, one(slopes(l.(rowed).of, t, x), w, x, y), vector(x))
		return sum
	}
	draws, _ := t.Directions()
	for i := range s.Directions {
		u := make([]float64, len(w))
		draws.Write(u, draws.Of(x, y, i))
		up, down := slices.Clone(w), slices.Clone(w)
		addTo(up, s.Radius, u)
		addTo(down, -s.Radius, u)
		if s.By == query.Gradients {
			addTo(sum, 1/float64(s.Directions), gradientAt(l, up, x, y))
			continue
		}
		change := l.Value(up, x, y) - l.Value(down, x, y)
		addTo(sum, float64(len(w))/(2*s.Radius)*change/float64(s.Directions), u)
	}
	return sum
}
