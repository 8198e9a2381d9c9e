package report

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// arrival says how far the steps of a run went from its start to the minimum, for each coordinate of a way.
type arrival struct {
	curvatures, shares []float64    // curvature of the loss, and share of the way that the steps cover
	about              [][3]float64 // the share at the points of thirds, since the noise of the moment hides the curvature
	ends               []float64    // where the steps ended
	began              []float64    // where they began
	half               *mat.Dense   // its transpose takes weights to coordinates
	prior              []float64    // variance of the way along each coordinate before anything is seen of it
}

// went sets the start of the steps, and the prior: weights are independent, with the same variance.
func (w *way) went(start []float64, variance float64) {
	var at mat.VecDense
	at.MulVec(w.half.T(), mat.NewVecDense(len(start), start))
	w.began = at.RawVector().Data
	for i := range w.began {
		w.prior = append(w.prior, variance*mat.Dot(w.half.ColView(i), w.half.ColView(i)))
	}
}

// vary returns the sum of the variances of the features over the rows that are read, from the second moment of all
// rows.
func vary(rows *mat.SymDense, shared, share float64) float64 {
	last := rows.SymmetricDim() - 1
	sum := 0.
	for j := range last {
		mean := 0.
		if shared > 0 {
			mean = rows.At(j, last) / (share * shared)
		}
		sum += max(rows.At(j, j)/share-mean*mean, 0)
	}
	return sum
}

// variance returns the variance of the noise of a coordinate.
func (w *way) variance(i int) float64 {
	draws, _ := w.displaced.Dims()
	sum := w.noise[i] * w.noise[i]
	for n := range draws {
		sum += math.Pow(w.displaced.At(n, i), 2) / float64(draws)
	}
	return sum
}

// rest returns the mean square of the difference between linear functions of the model's weights, without noise, and
// the same functions of the minimum, as a matrix: a row of factors of all weights for each function. The model has the
// share kept of the way from the start to the end of the run.
//
// Along a coordinate with the share f, the steps went f times the way to the minimum, plus noise. The square of the way
// is estimated as its posterior mean. The prior is that all weights have the same variance, which follows from that of
// the margins: where f is small, what the steps covered says little. Ways along different coordinates have independent
// signs.
func (c *covariance) rest(rows [][]float64, kept float64) *mat.SymDense {
	k, d := len(c.ways), len(c.ways[0].noise)
	left := mat.NewDense(len(rows), k*d, nil)
	for r, row := range rows {
		for n, at := range c.along(row) {
			w, all := c.ways[n], mat.Dot(at, at)
			for i, about := range w.about {
				v, square := at.AtVec(i), 0.
				if v*v < 1e-12*all { // rows do not differ along the coordinate, and the function does not depend on it
					continue
				}
				went, noise, prior := kept*(w.ends[i]-w.began[i]), kept*kept*w.variance(i), w.prior[i]
				for j, f := range about {
					f *= kept
					seen := f*f*prior + noise
					square += thirds[j] * (1 - f) * (1 - f) * (math.Pow(f*prior*went/seen, 2) + prior*noise/seen)
				}
				left.Set(r, n*d+i, v*math.Sqrt(square))
			}
		}
	}
	out := mat.NewSymDense(len(rows), nil)
	out.SymOuterK(1, left)
	return out
}

// thirds are the weights of the mean over a normal quantity at the points -sqrt(3), 0 and sqrt(3) deviations of it.
var thirds = [3]float64{1. / 6, 2. / 3, 1. / 6}

// along returns a linear function of the weights, given by its factors, in the coordinates of each way.
func (c *covariance) along(factors []float64) (list []*mat.VecDense) {
	k, d := len(c.ways), len(c.ways[0].noise)
	var along mat.Dense
	along.Mul(c.mix.T(), mat.NewDense(k, d, factors))
	for n, w := range c.ways {
		at := new(mat.VecDense)
		at.MulVec(w.back.T(), mat.NewVecDense(d, along.RawRowView(n)))
		list = append(list, at)
	}
	return list
}

// share returns the share of a change of the minimum that reaches a linear function of the model, if the weight number
// own alone changes at the minimum.
func (c *covariance) share(factors []float64, own int, kept float64) (share float64) {
	d := len(c.ways[0].noise)
	for n, at := range c.along(factors) {
		w := c.ways[n]
		for i, f := range w.shares {
			share += at.AtVec(i) * kept * f * w.half.At(own%d, i) * c.mix.At(own/d, n)
		}
	}
	return share / factors[own]
}

// partBias is the least bias of a coefficient, in standard deviations of its noise, with which its share is stated
// beside the noise.
const partBias = .6

// arrive sets for each coefficient the share of the way that the steps covered, and adds the expected rest of the way
// to its error and to the covariance. It does so only if the noise is estimated.
func (e *explanation) arrive(means []float64, sigma float64) {
	k := e.noise
	if e.how != estimated || k.lift.size > 0 || len(e.list) == 0 {
		return
	}
	rows := k.rows(partsIn(e.list))
	rest := k.covariance.rest(rows, k.kept)
	e.covariance.AddSym(e.covariance, rest)
	for i := range e.list {
		c := &e.list[i]
		most, share := 0., math.Inf(1)
		for _, p := range c.parts {
			most = max(most, math.Abs(p.Factor))
		}
		for _, p := range c.parts { // of a difference, the weights of both sides
			if math.Abs(p.Factor) > most*(1-1e-9) {
				share = min(share, k.covariance.share(rows[i], p.Feature, k.kept))
				c.late = c.late || c.against != "" && means != nil && means[p.Feature%len(means)] < leastMean*sigma
			}
		}
		share = max(share, 0) // where steps moved the term by less than its noise, its share may come out below 0
		c.share, c.bias = &share, math.Sqrt(rest.At(i, i))
		c.effectSD = math.Sqrt(e.covariance.At(i, i))
		c.spanSD = c.units * c.effectSD
		c.late = c.late || share < leastShare
	}
}

// leastShare is the least share of the way with which a coefficient's error is stated. Below it are terms of rare
// levels, which may have no minimum at all.
const leastShare = .05

// leastMean is the least mean of an indicator or hat, in standard deviations of its noise, with which the error of its
// coefficient is stated.
const leastMean = 2

// arrivalReason says why the noise of a coefficient that has not arrived is not stated.
const arrivalReason = "the noise hides how many rows tell of it, or of its reference: the value is noise"

// errors returns the standard deviations and the covariance of linear functions of the model's weights, as of does,
// with the expected rest of their ways.
func (k carried) errors(list [][]dataset.Part) (sd []float64, covariance *mat.SymDense) {
	sd, covariance, _ = k.of(list)
	if covariance == nil || k.lift.size > 0 {
		return sd, covariance
	}
	covariance.AddSym(covariance, k.covariance.rest(k.rows(list), k.kept))
	for i := range sd {
		sd[i] = math.Sqrt(covariance.At(i, i))
	}
	return sd, covariance
}

// part reports whether the rest of the coefficient's way counts beside its noise.
func (c coefficient) part() bool { return c.bias > partBias*c.noiseSD }
