package report

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/model"
)

// readShare returns the share of the rows that are read, from the released mean of the intercept's square over that of
// a row that is read. A share within two deviations of its noise from 1 counts as 1.
func readShare(share, noise float64) float64 {
	if share+2*noise >= 1 || share <= 2*noise {
		return 1
	}
	return share
}

// margins are the model's margins over the rows that are read: their mean and covariance, and the mean of the loss's
// second derivative in the margins, at, which is symmetric.
type margins struct {
	mean      []float64
	spread    [][]float64
	at        *mat.SymDense
	curvature func(mean []float64) (*mat.SymDense, bool) // at for another mean of the margins
}

// marginsOf computes the margins from g, the second moment of all rows, of which the given share is read, and from the
// weights. level is the mean of the loss's second derivative, where that was released, and otherwise 0. marginsOf returns
// false if the second derivative is not known for such margins.
func marginsOf(m *model.Model, g *mat.SymDense, weights []float64, shared, share, value, level float64,
	released *moment) (*margins, bool) {
	d := g.SymmetricDim()
	if v := g.At(d-1, d-1) / share; shared > 0 &&
		v > 4*released.Sigma { // rows longer than 1 are rescaled, so the last feature may be smaller than shared
		shared = math.Sqrt(v)
	}
	k := len(weights) / d
	of := &margins{mean: make([]float64, k), spread: make([][]float64, k)}
	products := make([]*mat.VecDense, k)
	for n := range k {
		products[n] = mat.NewVecDense(d, nil)
		products[n].MulVec(g, mat.NewVecDense(d, weights[n*d:(n+1)*d]))
		if shared > 0 {
			of.mean[n] = products[n].AtVec(d-1) / (share * shared)
		}
	}
	for n := range k {
		of.spread[n] = make([]float64, k)
		for j := range k {
			of.spread[n][j] = mat.Dot(products[n], mat.NewVecDense(d, weights[j*d:(j+1)*d]))/share - of.mean[n]*of.mean[j]
		}
	}
	of.curvature = func(mean []float64) (*mat.SymDense, bool) {
		if level > 0 {
			return mat.NewSymDense(1, []float64{level}), k == 1
		}
		curvature, ok := m.Curvature(mean, of.spread, released.Slope, value)
		if !ok {
			return nil, false
		}
		out := mat.NewSymDense(k, nil)
		for i := range curvature {
			for j := i; j < k; j++ {
				out.SetSym(i, j, (curvature[i][j]+curvature[j][i])/2)
			}
		}
		return out, true
	}
	var ok bool
	of.at, ok = of.curvature(of.mean)
	return of, ok
}

// variance returns the variance of the combination mix of the margins.
func (m *margins) variance(mix []float64) (sum float64) {
	for i, u := range mix {
		for j, v := range mix {
			sum += u * v * m.spread[i][j]
		}
	}
	return sum
}

// tilt corrects curved, the product of the mean second derivative of a way and the rows' second moment, for the
// dependence between both: rows far along the way's weights have margins at which most losses are less curved, and
// with unequal classes rows of one side. It takes features as normal, so that a row is its regression on its margin
// plus a part that does not depend on the margin. With t the standardised margin and E[f], E[f t] and E[f t^2] the
// means of the second derivative f, the mean of f x x' then follows from the mean row and the covariance c of the row
// with t. The three means follow from E[f] at shifted mean margins (Stein 1981): E[f t] is its derivative, and
// E[f (t^2 - 1)] its second derivative, times the deviation and its square. The way is the combination mix of the
// margins, and shared times the mean row is the last row of the second moment.
func (m *margins) tilt(curved, rows *mat.SymDense, weights, mix []float64, shared, share float64, known *structure) {
	d, way := len(weights), mat.NewVecDense(len(mix), mix)
	row, c := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	row.ScaleVec(1/shared, mat.NewVecDense(d, mat.Row(nil, d-1, rows)))
	c.MulVec(rows, mat.NewVecDense(d, weights))
	c.ScaleVec(1/share, c)
	z := mat.Dot(row, mat.NewVecDense(d, weights))
	variance := mat.Dot(c, mat.NewVecDense(d, weights)) - z*z
	if !(variance > 1e-6) {
		return
	}
	deviation := math.Sqrt(variance)
	c.AddScaledVec(c, -z, row)
	c.ScaleVec(1/deviation, c)
	step, whole := max(.3*deviation, .02), m.variance(mix)
	towards := make([]float64, len(mix)) // the regression of the margins on the way's
	for i := range mix {
		for j, v := range mix {
			towards[i] += m.spread[i][j] * v
		}
	}
	at := func(shift float64) float64 {
		mean := slices.Clone(m.mean)
		for i, v := range towards {
			mean[i] += shift * v / whole
		}
		second, ok := m.curvature(mean)
		if !ok {
			return math.NaN()
		}
		return mat.Inner(way, second, way)
	}
	here, above, below := at(0), at(step), at(-step)
	first := deviation * (above - below) / (2 * step)
	second := max(variance*(above-2*here+below)/(step*step), -.9*here)
	if !(math.Abs(first)+math.Abs(second) < mostMoment) {
		return
	}
	curved.SymRankOne(curved, share*second, c)
	curved.RankTwo(curved, share*first, row, c)
	if known == nil {
		return
	}
	known.separate(curved)
	own := make([]float64, d) // the mean second derivative over the rows of an uncommon level or hat, no normal feature
	for j, part := range known.parts() {
		if part && row.AtVec(j) > 0 && row.AtVec(j) <= mostUncommon*row.AtVec(d-1) {
			far := deviation * c.AtVec(j) / row.AtVec(j)
			own[j] = at(min(max(far, -mostFar*deviation), mostFar*deviation))
			curved.SetSym(j, j, rows.At(j, j)*own[j])
		}
	}
	for _, h := range known.hats {
		for j := h.First; j < h.First+h.Width; j++ {
			for k := h.First; k < j; k++ {
				if own[j]*own[k] > 0 {
					curved.SetSym(j, k, rows.At(j, k)*math.Sqrt(own[j]*own[k]))
				}
			}
		}
	}
}

// mostFar is the largest distance of the mean margin of a level or hat from that of all rows, in deviations of the
// margin. mostUncommon is the largest mean of an uncommon level or hat, as a share of the intercept.
const mostFar, mostUncommon = 3, .4

// usualApart is the usual distance of the curvature along a direction from its mean, over the mean. leastVaried is the
// least second moment of the rows in the metric along a direction that counts among those with noise.
const usualApart, leastVaried = .5, .2

// seenCurvature returns the mean second derivative of the loss over the rows of the given second moment, from the curvature
// at the result that the run released, and what the curvature in the weights has beyond that mean times the second moment.
// Each entry of the difference is shrunk, by as much as noise hides a usual one: along directions in which rows vary
// little, usual differences are small, too. Both are 0 and nil if no curvature was released.
func (l *trace) seenCurvature(r *eigenMoment, rows *mat.SymDense) (level float64, apart *mat.SymDense, err error) {
	if l.Curvature == nil {
		return 0, nil, nil
	}
	m := (*moment)(l.Curvature)
	d := rows.SymmetricDim()
	entries, err := m.matrix()
	switch {
	case err != nil:
		return 0, nil, err
	case m.Features != d || !(m.Step > 0 && m.Sigma > leastMoment && m.Sigma < mostMoment) ||
		slices.ContainsFunc(entries, func(v float64) bool { return !(math.Abs(v) < mostMoment) }):
		return 0, nil, errors.New("the released curvature is too large or too small to compute with")
	}
	here, usual := mat.NewSymDense(d, entries), inference.Between(r.power(-.5), rows)
	level = max(mat.Trace(here)/mat.Trace(usual), 0)
	e, err := inference.Decompose(usual)
	if err != nil {
		return 0, nil, errNoEigenvalues
	}
	dim := 1. // at least
	for _, v := range e.Values[:d-1] {
		if v >= leastVaried {
			dim++
		}
	}
	usual.ScaleSym(-level, usual)
	here.AddSym(here, usual)
	var turned mat.Dense // in the coordinates of e
	turned.Product(e.Vectors.T(), here, &e.Vectors)
	turned.Apply(func(i, j int, v float64) float64 {
		signal := math.Pow(level*usualApart, 2) * max(e.Values[i], 0) * max(e.Values[j], 0)
		return v * signal / (signal + 2*dim*m.Sigma*m.Sigma)
	}, &turned)
	turned.Product(&e.Vectors, &turned, e.Vectors.T())
	return level, inference.Between(r.power(.5), inference.Symmetric(&turned)), nil
}
