package report

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// holding estimates by how much the clip of gradients moves the weights of a fit of classes or counts. All of it is
// released: the last clip norm, the second moment of the rows, and the model, which tells how often a row has an outcome.
type holding struct {
	clip     float64
	square   *mat.Dense // P^2 for the metric P
	g        *mat.SymDense
	mean     []float64 // the mean row m
	rest     float64   // mean of |P x|^2 less |P m|^2
	weights  []float64
	loss     interface{ Slopes(dst, z, y []float64) }
	outcomes func(z []float64) (y, share []float64) // targets at the margins z, and their shares
	curved   func(z []float64) float64              // second derivative at the margin; nil for classes
}

// spreadOfRest are the ratios to rest that stand for the rows of a level, whose other columns differ.
var spreadOfRest = []float64{.25, 1, 1.75}

// heldBack is the least estimated move by the clip, in stated deviations, at which no deviation is stated.
const heldBack = .5

// holding returns nil if the releases do not tell what the clip moves.
func (f *Fit) holding() *holding {
	l, s, d := f.plan.Trace, f.Model.Schema(), f.Model.Schema().Dim()
	h := &holding{weights: f.Model.Weights(), mean: make([]float64, d)}
	t := s.Target()
	if l == nil || l.Moment == nil || s.Norm() > 0 || len(h.weights)%d != 0 || t.Exposure.Column != "" || t.Event != "" {
		return nil
	}
	var e mat.EigenSym
	released := (*moment)(l.Moment)
	_, g, shape, err := released.matrices()
	h.clip = released.Clip
	if err != nil || !(h.clip > 0) || g.SymmetricDim() != d || !(g.At(d-1, d-1) > 2*released.Sigma) || !e.Factorize(shape, true) {
		return nil
	}
	h.g, h.square = g, newReleased(e, released).power(-1)
	for j := range d {
		h.mean[j] = g.At(j, d-1) / g.At(d-1, d-1) / s.Scale()
	}
	for i := range d {
		for j := range d {
			h.rest += h.square.At(i, j) * (g.At(i, j) - h.mean[i]*h.mean[j])
		}
	}
	h.rest = max(h.rest, 0)
	of, _ := f.Model.Loss().(loss.RankOne)
	switch m, several := f.Model.Loss().(loss.Margins); {
	case several:
		h.loss, h.outcomes = m, shares
	case of == nil:
		return nil
	case of.Name() == "logistic":
		h.loss, h.outcomes = of, func(z []float64) (y, share []float64) {
			_, share = shares([]float64{0, z[0]})
			return []float64{-1, 1}, share
		}
	case strings.HasPrefix(of.Name(), "poisson("):
		h.loss, h.curved = of, func(z []float64) float64 { return math.Exp(z[0]) }
		h.outcomes = func(z []float64) (y, share []float64) {
			for n := 0.; n <= min(t.High, mostCounted); n++ {
				v, _ := math.Lgamma(n + 1)
				mean := math.Exp(z[0]) * t.High
				y, share = append(y, 2*n/t.High-1), append(share, math.Exp(n*math.Log(mean)-mean-v))
			}
			return y, share
		}
	default:
		return nil
	}
	return h
}

// mostCounted is the largest count of which the share is worked out.
const mostCounted = 2000

// shares returns the classes and their shares at the margins z.
func shares(z []float64) (y, share []float64) {
	most := slices.Max(z)
	for k, v := range z {
		y, share = append(y, float64(k)), append(share, math.Exp(v-most))
	}
	vector.Divide(share, vector.Sum(share, func(v float64) float64 { return v }))
	return y, share
}

// moved returns by how much the clip moves each margin of rows such as x: until the mean of clipped slopes is 0. To first
// order this is the mean of what the clip takes from the slopes, over the mean second derivative of the loss.
func (h *holding) moved(x []float64) []float64 {
	row, k := mat.NewVecDense(len(x), x), len(h.weights)/len(x)
	z, out, curved, slope := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	for m := range z {
		z[m] = vector.Dot(x, h.weights[m*len(x):(m+1)*len(x)])
	}
	norm := mat.Inner(row, h.square, row)
	y, share := h.outcomes(z)
	for i, p := range share {
		h.loss.Slopes(slope, z, y[i:i+1])
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
		if h.curved != nil {
			curved[m] = h.curved(z)
		}
		out[m] /= max(curved[m], 1e-12)
	}
	return out
}

// moves returns by how much the clip moves each weight. A level or hat is a mean row with it in place of its column's
// features. The weight of a number is that of the least squares line through the moves at the mean row and at sqrt 3
// deviations on both sides of it, the nodes of a normal distribution.
func (h *holding) moves(ranges [][2]int, shared float64) []float64 {
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
		at := slices.IndexFunc(ranges, func(r [2]int) bool { return r[0] <= j && j < r[0]+r[1] })
		if at >= 0 {
			clear(x[ranges[at][0] : ranges[at][0]+ranges[at][1]])
			x[j] = shared
			set(j, 1/shared, h.moved(x), base)
		} else if far := math.Sqrt(3 * max(h.g.At(j, j)-h.mean[j]*h.mean[j], 0)); far > 0 {
			x[j] = h.mean[j] + far
			above := h.moved(x)
			x[j] = h.mean[j] - far
			set(j, .5/far, above, h.moved(x))
		}
	}
	for j := range d { // the same move of all classes moves nothing
		if k := len(base); k > 1 {
			mean := 0.
			for m := range k {
				mean += out[m*d+j] / float64(k)
			}
			for m := range k {
				out[m*d+j] -= mean
			}
		}
	}
	return out
}

// hold marks the coefficients that the clip may move by more than heldBack of their deviation.
func (f *Fit) hold(e *explanation) {
	if e.how != estimated || e.noise.lift.size > 0 {
		return
	}
	h := f.holding()
	if h == nil {
		return
	}
	var ranges [][2]int
	for _, g := range f.Model.Schema().Groups() {
		ranges = append(ranges, [2]int{g.First, g.Width})
	}
	for _, g := range f.Model.Schema().Hats() {
		ranges = append(ranges, [2]int{g.First, g.Width})
	}
	moves := h.moves(ranges, 1/f.Model.Schema().Scale())
	for i := range e.list {
		c := &e.list[i]
		c.clipped = !c.late && !c.intercept && math.Abs(partsOf(c.parts, moves)) > heldBack*c.effectSD
	}
}
