package enginetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// rowed presents a loss of margins as a general loss, a function of all its parameters.
type rowed struct{ loss.Loss }

func (l rowed) Value(w []float64, x []float32, y float64) float64 {
	return written(l.Loss.(interface{ Values(dst, z, y []float64) }).Values, 1, inners(w, x), y)[0]
}

func (l rowed) Gradient(dst, w []float64, x []float32, y float64) {
	z := inners(w, x)
	spread(dst, written(l.Loss.(interface{ Slopes(dst, z, y []float64) }).Slopes, len(z), z, y), x)
}

// spread sets dst to the outer product of the slopes, one for each margin, and the row x.
func spread(dst, slopes []float64, x []float32) {
	for k, s := range slopes {
		for j, v := range x {
			dst[k*len(x)+j] = float64(s * float64(v))
		}
	}
}

// estimate returns the gradient at w that a term uses: the gradient of the loss, of the loss
// smoothed in closed form, or an estimate along random directions.
func estimate(l loss.General, t query.Term, w []float64, r sample) []float64 {
	s := t.Smoothing()
	if !s.On() {
		return gradient(l, w, r)
	}
	sum := make([]float64, len(w))
	if !s.Sampled() {
		one := l.(rowed).Loss.(loss.RankOne)
		spread(sum, []float64{scalar(slopesFor(one, t, len(r.X), math.Sqrt(inner(wide(r.X), r.X))), inner(w, r.X), r.Y)}, r.X)
		return sum
	}
	directions, _ := t.Directions()
	for i := range s.Directions {
		u := make([]float64, len(w))
		directions.Write(u, directions.Of(r.X, r.Y, i))
		up, down := make([]float64, len(w)), make([]float64, len(w))
		for j := range u {
			up[j], down[j] = w[j]+float64(s.Radius*u[j]), w[j]-float64(s.Radius*u[j])
		}
		if s.By == query.Values {
			change := l.Value(up, r.X, r.Y) - l.Value(down, r.X, r.Y)
			slope := float64(float64(len(w))/(2*s.Radius)*change) / float64(s.Directions)
			for j := range u {
				sum[j] += float64(slope * u[j])
			}
			continue
		}
		for j, v := range gradient(l, up, r) {
			sum[j] += v / float64(s.Directions)
		}
	}
	return sum
}

// asWritten returns a loss as a general loss, which computes its gradient in the parameters itself.
func asWritten(l loss.Loss) loss.General {
	if g, ok := l.(loss.General); ok {
		return g
	}
	return rowed{l}
}
