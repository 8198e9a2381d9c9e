package report

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// arrival says how far the steps of a run went from its start to the minimum, for each coordinate of a way.
type arrival struct {
	curvatures, shares []float64  // curvature of the loss, and share of the way that the steps cover
	least              []float64  // the share if the curvature is two deviations of the moment's noise lower
	ends               []float64  // where the steps ended
	began              []float64  // where they began
	half               *mat.Dense // its transpose takes weights to coordinates
	prior              []float64  // variance of the way along each coordinate before anything is seen of it
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

// vary returns the sum of the variances of the features over the rows that are read, from the second moment of all rows.
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

// arrived returns two numbers about a linear function of the weights, given by its factors of all weights, for a model
// that has the share kept of the way from the start to the end of the run. share is the share of a change of the
// minimum that reaches the model, if the weight number own alone changes at the minimum. bias is the root mean square of
// the difference between the function at the model, without noise, and at the minimum.
//
// Along a coordinate with the share f, the steps went f times the way to the minimum, plus noise. The square of the way
// is estimated as its posterior mean. The prior is that all weights have the same variance, which follows from that of the
// margins: where f is small, what the steps covered says little.
func (c *covariance) arrived(factors []float64, own int, kept float64) (share, bias float64) {
	k := len(c.ways)
	d := len(c.ways[0].noise)
	var along, t mat.Dense
	along.Mul(c.mix.T(), mat.NewDense(k, d, factors))
	t.CloneFrom(&along)
	all := 0.
	for n, w := range c.ways {
		var at mat.VecDense
		at.MulVec(w.back.T(), mat.NewVecDense(d, along.RawRowView(n)))
		t.SetRow(n, at.RawVector().Data)
		all += mat.Dot(&at, &at)
	}
	for n, w := range c.ways {
		for i, f := range w.shares {
			f *= kept
			at := t.At(n, i)
			share += at * f * w.half.At(own%d, i) * c.mix.At(own/d, n)
			if at*at < 1e-12*all { // rows do not differ along the coordinate, and the function does not depend on it
				continue
			}
			went, noise := kept*(w.ends[i]-w.began[i]), kept*kept*w.variance(i)
			prior := w.prior[i]
			seen := f*f*prior + noise
			left := at * max(math.Abs(1-f), 1-kept*w.least[i])
			bias += left * left * (math.Pow(f*prior*went/seen, 2) + prior*noise/seen)
		}
	}
	return share / factors[own], math.Sqrt(bias)
}

// mostBias is the largest bias of a coefficient, in standard deviations of its noise, with which the noise is stated.
// With it 91% of the values are within two deviations of the minimum.
const mostBias = .6

// arrive sets for each coefficient the share of the way that the steps covered, and removes the stated noise of those
// that have not arrived. It does so only if the noise is estimated.
func (e *explanation) arrive() {
	k := e.noise
	if e.how != estimated || k.lift.size > 0 {
		return
	}
	for i := range e.list {
		c := &e.list[i]
		factors := make([]float64, len(k.covariance.ways)*len(k.covariance.ways[0].noise))
		own := dataset.Part{}
		for _, p := range c.parts {
			factors[p.Feature] += p.Factor
			if math.Abs(p.Factor) > math.Abs(own.Factor)*(1+1e-9) {
				own = p
			}
		}
		share, bias := k.covariance.arrived(factors, own.Feature, k.kept)
		share = max(share, 0) // where steps moved the term by less than its noise, its share may come out below 0
		c.share = &share
		c.late = !(bias <= mostBias*c.effectSD)
		c.bias = bias
	}
}

// lateTerms returns the names of the coefficients that have not arrived.
func (e explanation) lateTerms() (list []string) {
	for _, c := range e.list {
		if c.late {
			list = append(list, c.label())
		}
	}
	return list
}

// arrivalReason says why the noise of a coefficient is not stated.
func (c coefficient) arrivalReason() string {
	return fmt.Sprintf("the steps covered about %.0f%% of its way: the value may be wrong by about %.2g, which is more than "+
		"its noise", 100**c.share, c.bias)
}
