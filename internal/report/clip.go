package report

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// holding estimates by how much the clip of gradients moves the weights of a fit of classes or counts. All of it is
// released: the last clip norm, the second moment of the rows, and the model, which tells how often a row has an outcome.
type holding struct {
	clip      float64
	square, g *mat.SymDense // P^2 for the metric P, and the second moment of the rows
	mean      []float64     // the mean row m
	rest      float64       // mean of |P x|^2 less |P m|^2
	weights   []float64
	slopes    func(dst, z, y []float64)
	most      float64 // largest count; 0 for classes
}

// heldBack is the least estimated move by the clip, in deviations without it, at which no deviation is stated. unsure is the
// mean square of a move over the square of its estimate. mostCounted is the largest count of which the share is worked out.
const heldBack, unsure, mostCounted = 1.5, 2, 2000

// spreadOfRest are the ratios to rest that stand for the rows of a level, whose other columns differ.
var spreadOfRest = []float64{.25, 1, 1.75}

// holding returns nil if the releases do not tell what the clip moves.
func (f *Fit) holding() *holding {
	l, s, d := f.plan.Trace, f.Model.Schema(), f.Model.Schema().Dim()
	h := &holding{weights: f.Model.Weights()}
	of, ok := f.Model.Loss().(interface{ Slopes(dst, z, y []float64) })
	name, _, _ := strings.Cut(f.Model.Loss().Name(), "(")
	if !ok || l == nil || l.Moment == nil || s.Norm() > 0 || len(h.weights)%d != 0 || s.Target().Exposure.Column != "" ||
		s.Target().Event != "" || !slices.Contains([]string{"logistic", "softmax", "poisson"}, name) {
		return nil
	}
	if h.slopes = of.Slopes; name == "poisson" {
		h.most = s.Target().High
	}
	m := (*moment)(l.Moment)
	_, g, shape, err := m.matrices()
	if err != nil || !(m.Clip > 0) || g.SymmetricDim() != d || !(g.At(d-1, d-1) > 2*m.Sigma) {
		return nil
	}
	metric, err := decomposed(shape, m)
	if err != nil {
		return nil
	}
	h.clip, h.g, h.square = m.Clip, g, metric.power(-1)
	h.mean = vector.Make(d, func(j int) float64 { return g.At(j, d-1) / g.At(d-1, d-1) / s.Scale() })
	var spread mat.Dense
	spread.Mul(h.square, g)
	mean := mat.NewVecDense(d, h.mean)
	h.rest = max(mat.Trace(&spread)-mat.Inner(mean, h.square, mean), 0)
	return h
}

// outcomes returns the targets of rows at the margins z, and their shares. Those of classes follow from the slopes.
func (h *holding) outcomes(z []float64) (y, share []float64) {
	if h.most > 0 {
		mean := math.Exp(z[0]) * h.most
		for n := 0.; n <= min(h.most, mostCounted); n++ {
			v, _ := math.Lgamma(n + 1)
			y, share = append(y, 2*n/h.most-1), append(share, math.Exp(n*math.Log(mean)-mean-v))
		}
		return y, share
	}
	share = make([]float64, len(z))
	if len(z) == 1 {
		h.slopes(share, z, []float64{-1})
		return []float64{-1, 1}, []float64{1 - share[0], share[0]}
	}
	h.slopes(share, z, []float64{0})
	share[0]++
	return vector.Make(len(z), func(k int) float64 { return float64(k) }), share
}

// moved returns by how much the clip moves each margin of rows such as x: until the mean of clipped slopes is 0. To first
// order this is the mean of what the clip takes from the slopes, over the mean second derivative of the loss.
func (h *holding) moved(x []float64) []float64 {
	row, k := mat.NewVecDense(len(x), x), len(h.weights)/len(x)
	out, curved, slope := make([]float64, k), make([]float64, k), make([]float64, k)
	z := vector.Make(k, func(m int) float64 { return vector.Dot(x, h.weights[m*len(x):(m+1)*len(x)]) })
	norm := mat.Inner(row, h.square, row)
	y, share := h.outcomes(z)
	for i, p := range share {
		h.slopes(slope, z, y[i:i+1])
		held := 0.
		for _, far := range spreadOfRest {
			held += max(0, 1-h.clip/math.Sqrt(vector.Dot(slope, slope)*(norm+far*h.rest))) / float64(len(spreadOfRest))
		}
		for m, s := range slope {
			out[m] += p * held * s
			curved[m] += p * s * s // of classes the mean second derivative
		}
	}
	for m := range out {
		if h.most > 0 {
			curved[m] = math.Exp(z[m])
		}
		out[m] /= max(curved[m], 1e-12)
	}
	return out
}

// clipMoves returns by how much the clip may move each weight of the model; nil if the releases do not tell.
func (f *Fit) clipMoves() []float64 {
	h, s := f.holding(), f.Model.Schema()
	if h == nil {
		return nil
	}
	ranges := s.Groups()
	for _, g := range s.Hats() {
		ranges = append(ranges, dataset.Group{First: g.First, Width: g.Width})
	}
	return h.moves(ranges, 1/s.Scale())
}

// moves returns by how much the clip moves each weight. A level or hat is a mean row with it in place of its column's
// features. The weight of a number is that of the least squares line through the moves at the mean row and at sqrt 3
// deviations on both sides of it, the nodes of a normal distribution.
func (h *holding) moves(ranges []dataset.Group, shared float64) []float64 {
	d := len(h.mean)
	base := h.moved(h.mean)
	out := make([]float64, len(h.weights))
	set := func(j int, by float64, moved, less []float64) {
		for m, v := range moved {
			out[m*d+j] = by * (v - less[m])
		}
	}
	set(d-1, 1/shared, base, make([]float64, len(base)))
	for j := range d - 1 {
		x := slices.Clone(h.mean)
		at := slices.IndexFunc(ranges, func(r dataset.Group) bool { return r.First <= j && j < r.First+r.Width })
		if at >= 0 {
			clear(x[ranges[at].First:][:ranges[at].Width])
			x[j] = shared
			set(j, 1/shared, h.moved(x), base)
		} else if far := math.Sqrt(3 * max(h.g.At(j, j)-h.mean[j]*h.mean[j], 0)); far > 0 {
			x[j] = h.mean[j] + far
			above := h.moved(x)
			x[j] = h.mean[j] - far
			set(j, .5/far, above, h.moved(x))
		}
	}
	return out
}

// hold marks the coefficients that the clip may move by more than heldBack of their deviation without this move.
func (e *explanation) hold() {
	if e.how != estimated || e.noise.lift.size > 0 || e.noise.moves == nil {
		return
	}
	for i := range e.list {
		c := &e.list[i]
		square := math.Pow(partsOf(c.parts, e.noise.moves), 2)
		c.clipped = !c.late && square > heldBack*heldBack*(c.effectSD*c.effectSD-unsure*square)
	}
}
