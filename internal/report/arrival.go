package report

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// arrival says how far the steps of a run went from its start to the minimum along each coordinate of a way, for one
// possible second moment of the rows.
type arrival struct {
	back, half *mat.Dense // from coordinates to weights, and transposed from weights to coordinates
	shares     []float64  // share of the way that the steps cover
	went       []float64  // what the steps covered, with noise
	noise      []float64  // variance of the noise in it
	prior      []float64  // variance of the way before anything is seen of it
}

// seeing says how far the steps went if the second derivative in the weights were curved. weights are those at the end
// of the steps less those at the start, and vary are the variances of weights before anything is seen of them.
func (l *trace) seeing(r *eigenMoment, w *way, curved *mat.SymDense, weights, vary []float64) (arrival, error) {
	d := len(weights)
	curvatures, back, half, err := r.axes(curved)
	if err != nil {
		return arrival{}, err
	}
	a := arrival{back: back, half: half, prior: make([]float64, d)}
	var turn, moved mat.Dense // coordinates of w in those of a
	turn.Mul(w.back.T(), a.half)
	moved.Mul(w.displaced, &turn)
	var went mat.VecDense
	went.MulVec(a.half.T(), mat.NewVecDense(d, weights))
	a.went = went.RawVector().Data
	draws, _ := moved.Dims()
	for i, curvature := range curvatures {
		_, share := l.respond(max(curvature, 0))
		noise := 0.
		for j, v := range w.noise {
			noise += math.Pow(v*turn.At(j, i), 2)
			a.prior[i] += vary[j] * math.Pow(a.half.At(j, i), 2)
		}
		for n := range draws {
			noise += math.Pow(moved.At(n, i), 2) / float64(draws)
		}
		a.shares, a.noise = append(a.shares, share), append(a.noise, noise)
	}
	return a, nil
}

// possible returns second moments that the rows may have: rows is an estimate, to which as much noise is added as its
// release g had. The eigenvalues of every other moment are corrected for this noise, unless the rows have curves. Corrected
// moments alone would hide directions along which rows of correlated columns hardly vary. With few columns the noise is
// widened: the share of the way of correlated columns with opposite effects was estimated too large. Of many numbers the
// moments are those of factors, if the ridge is small.
func possible(g, rows *mat.SymDense, known *structure, numbers []int, sigma float64) (list []*mat.SymDense, err error) {
	d := rows.SymmetricDim()
	if numbers != nil {
		return known.factored(g, rows, numbers, sigma)
	}
	coins := rand.New(rand.NewPCG(5, 6)) // fixed seed: the draws only approximate an expectation
	spread := sigma
	if d <= manyColumns {
		spread *= widened
	}
	for n := range momentsOf(d) {
		of := noisy(rows, spread, coins)
		if n%2 == 0 && (known == nil || len(known.hats) == 0) {
			r, err := decomposed(of, &moment{Sigma: sigma})
			if err != nil {
				return nil, err
			}
			of = r.rows()
		}
		if known != nil {
			known.impose(of, sigma)
		}
		list = append(list, of)
	}
	return list, nil
}

// momentsOf is the number of second moments of d features over which the rest of a way is a mean.
func momentsOf(d int) int { return min(max(workDraws/(d*d*d), leastMoments), mostMoments) }

// noisy returns a symmetric matrix with the noise of a release, which has the deviation sigma in a diagonal entry.
func noisy(of *mat.SymDense, sigma float64, coins *rand.Rand) *mat.SymDense {
	out := mat.NewSymDense(of.SymmetricDim(), nil)
	for i := range of.SymmetricDim() {
		for j := i; j < of.SymmetricDim(); j++ {
			noise := sigma * coins.NormFloat64()
			if j > i {
				noise /= math.Sqrt2
			}
			out.SetSym(i, j, of.At(i, j)+noise)
		}
	}
	return out
}

// widened is the noise in the moments that the rows of few columns may have, over that of the release, and tempered the
// power of their likelihood: among few moments a likelihood prefers one alone.
const widened, tempered = 1.3, .5

// leastMoments and mostMoments bound the number of second moments over which the rest of a way is a mean.
const leastMoments, mostMoments = 4, 16

// averages is how often the curvature of the loss is worked out for each moment, first at the end of the steps; once for more
// than mostAveraged features. It is not worked out again if it changes by less than alike.
const averages, mostAveraged, alike = 3, 250, .01

// again reports whether a way of so many features is worked out with the curvature next, after as many rounds and with
// the curvature before.
func again(rounds, features int, before, next *mat.SymDense) bool {
	return rounds == 0 || rounds < averages && features <= mostAveraged &&
		!mat.EqualApprox(next, before, alike*mat.Norm(before, 2))
}

// average returns the weights, less those at the start, at which the curvature of the loss is about its mean along the steps:
// the middle between the mean of the steps and the minimum, by the posterior mean of the way. Steps that leave 1-f of the way
// were at 1 + f/log(1-f) of it on average. Where the way is long, margins are larger at the minimum than at the end of the
// steps, and a logistic loss is less curved.
func (a arrival) average() *mat.VecDense {
	at := mat.NewVecDense(len(a.shares), nil)
	for i, f := range a.shares {
		middle := .5
		if f = min(f, .99); f > .01 {
			middle = 1 + f/(2*math.Log(1-f))
		}
		at.SetVec(i, middle*f*a.prior[i]*a.went[i]/(f*f*a.prior[i]+a.noise[i]))
	}
	at.MulVec(a.back, at)
	return at
}

// priors returns a variance of each weight of a way before the fit, if its margin has the given variance over the rows
// that are read: a column may have the effect of that whole deviation over its own deviation if it is a number, and over
// its range if it is a level, a knot or the intercept. Columns that vary together may have larger effects than
// the margin shows, since these cancel. rows is the second moment of all rows, with noise of deviation sigma.
func priors(rows *mat.SymDense, known *structure, variance, shared, share, sigma float64) []float64 {
	d := rows.SymmetricDim()
	part := make([]bool, d)
	if known != nil {
		part = known.parts()
	}
	part[d-1] = true
	out := make([]float64, d)
	for j := range out {
		mean := 0.
		if shared > 0 {
			mean = rows.At(j, d-1) / (share * shared)
		}
		v := max(rows.At(j, j)/share-mean*mean, sigma)
		if part[j] {
			v = max(v, shared*shared)
		}
		out[j] = variance / v
	}
	return out
}

// scaled returns a with each scale that the variances of its prior may have: 1, 1/4 and so on, and the least. The prior of
// a column allows it the deviation of the whole margin. Of many columns few can have such an effect, unless the effects
// cancel, so that the least scale falls with the number of columns.
func (a arrival) scaled() (list []arrival) {
	least := min(1, manyColumns/float64(len(a.prior)))
	for scale := 1.; ; scale = max(scale/4, least) {
		prior := make([]float64, len(a.prior))
		floats.ScaleTo(prior, scale, a.prior)
		list = append(list, arrival{a.back, a.half, a.shares, a.went, a.noise, prior})
		if scale == least {
			return list
		}
	}
}

// manyColumns is the number of features above which the least scale is below 1, and up to which columns are few.
const manyColumns = 20

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
// is estimated as its posterior mean, since what the steps covered says little where f is small (priors). Ways along
// different coordinates have independent signs. The result is the mean over the second moments that the rows may have.
func (c *covariance) rest(rows [][]float64, kept float64) *mat.SymDense {
	out := mat.NewSymDense(len(rows), nil)
	likely := c.likely()
	for m := range c.ways[0].seen {
		left := mat.NewDense(len(rows), len(c.ways)*len(c.ways[0].noise), nil)
		for r, row := range rows {
			for n, along := range c.along(row) {
				a := c.ways[n].seen[m]
				var at mat.VecDense
				at.MulVec(a.back.T(), along)
				all := mat.Dot(&at, &at)
				for i, f := range a.shares {
					v := at.AtVec(i)
					if v*v < 1e-12*all { // rows do not differ along the coordinate, and the function does not depend on it
						continue
					}
					f *= kept
					went, noise, prior := kept*a.went[i], kept*kept*a.noise[i], a.prior[i]
					seen := f*f*prior + noise
					square := math.Pow(f*prior*went/seen, 2) + prior*noise/seen
					left.Set(r, n*len(a.shares)+i, v*math.Abs(1-f)*math.Sqrt(square*likely[m]))
				}
			}
		}
		out.SymRankK(out, 1, left)
	}
	return out
}

// likely returns the posterior probabilities of the second moments that the rows may have, each with each of the scales
// of the priors, by the distances that the steps covered. Of few columns the likelihood is tempered.
func (c *covariance) likely() []float64 {
	out := make([]float64, len(c.ways[0].seen))
	for _, w := range c.ways {
		for m, a := range w.seen {
			for i, f := range a.shares {
				seen := f*f*a.prior[i] + a.noise[i]
				out[m] -= (a.went[i]*a.went[i]/seen + math.Log(seen)) / 2
			}
		}
	}
	if len(c.ways[0].noise) <= manyColumns {
		floats.Scale(tempered, out)
	}
	most, sum := slices.Max(out), 0.
	for m, v := range out {
		out[m] = math.Exp(v - most)
		sum += out[m]
	}
	for m := range out {
		out[m] /= sum
	}
	return out
}

// along returns the factors of a linear function of the weights for the weights of each way.
func (c *covariance) along(factors []float64) []*mat.VecDense {
	k, d := len(c.ways), len(c.ways[0].noise)
	var along mat.Dense
	along.Mul(c.mix.T(), mat.NewDense(k, d, factors))
	return vector.Make(k, func(n int) *mat.VecDense { return mat.NewVecDense(d, along.RawRowView(n)) })
}

// share returns the share of a change of the minimum that reaches a linear function of the model, if the weight number
// own alone changes at the minimum: its mean over the second moments that the rows may have.
func (c *covariance) share(factors []float64, own int, kept float64) (share float64) {
	d := len(c.ways[0].noise)
	likely := c.likely()
	for n, along := range c.along(factors) {
		for m, a := range c.ways[n].seen {
			var at mat.VecDense
			at.MulVec(a.back.T(), along)
			for i, f := range a.shares {
				share += likely[m] * at.AtVec(i) * kept * f * a.half.At(own%d, i) * c.mix.At(own/d, n)
			}
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
	rest := k.rest(partsIn(e.list))
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
const arrivalReason = "the noise hides how many rows have this feature or its reference level: the value is noise"

// rest returns the mean square of the rests of the ways of linear functions of the model's weights, and of their moves by
// the clip.
func (k carried) rest(list [][]dataset.Part) *mat.SymDense {
	out := k.covariance.rest(k.rows(list), k.kept)
	if k.moves != nil {
		moved := vector.Map(list, func(p []dataset.Part) float64 { return partsOf(p, k.moves) })
		out.SymRankOne(out, unsure, mat.NewVecDense(len(list), moved))
	}
	return out
}

// errors returns the standard deviations and the covariance of linear functions of the model's weights, as of does,
// with the expected rest of their ways.
func (k carried) errors(list [][]dataset.Part) (sd []float64, covariance *mat.SymDense) {
	sd, covariance, _ = k.of(list)
	if covariance == nil || k.lift.size > 0 {
		return sd, covariance
	}
	covariance.AddSym(covariance, k.rest(list))
	for i := range sd {
		sd[i] = math.Sqrt(covariance.At(i, i))
	}
	return sd, covariance
}

// part reports whether the rest of the coefficient's way counts beside its noise.
func (c coefficient) part() bool { return c.bias > partBias*c.noiseSD }

// path describes how the error of one coordinate of the weights changes from step to step. The coordinate belongs to an
// eigenvector of A, the preconditioned Hessian (see the method covariance).
type path struct {
	curvature float64 // eigenvalue of A, the curvature in the metric
	share     float64 // f: the share of the way to the minimum that the result has covered
	slope     float64 // derivative of f at the curvature
	pull      float64 // curvature times the coordinate of the minimum
}

// adjoint returns, for each step t, the change of the run's result if the iterate w_{t+1} changes by 1. Iterates and
// result are coordinates along an eigenvector in which the preconditioned loss has the curvature a.
func (l *trace) adjoint(a float64) []float64 {
	T := len(l.Noise)
	moves := make([]float64, T)
	// y_t = w_t + beta_t (w_t - w_{t-1}) and w_{t+1} = (1 - eta a) y_t. next is the change of the result for a change
	// of w_{t+1} by 1. later is the change of the result for a change of y_{t+1} by 1, times the momentum of y_{t+1}.
	next, later := 1., 0.
	if l.Weights != nil {
		next = l.Weights[T]
	}
	for t := T - 1; t >= 0; t-- {
		moves[t] = next
		at := (1 - l.stepped(t, a)) * next
		if l.Weights != nil {
			at += l.Weights[t]
		}
		beta := entry(l.Momentum, t)
		next, later = (1+beta)*at-later, beta*at
	}
	return moves
}

// stepped returns the share of the remaining way to the minimum that step t covers along an eigenvector of
// curvature a: the step size times a, at most 1. The product exceeds 1 for a run that smooths the loss, and
// smooths it less from step to step. The first steps of such a run are longer than the final curvature a
// allows. They did not go past the minimum, because the smoothed loss had less curvature.
func (l *trace) stepped(t int, a float64) float64 { return min(entry(l.StepSizes, t)*a, 1) }

// entry returns the value for step t of a column of the trace (the description of a run, with a column for each property
// of its steps). A column with one entry has this value for all steps, and an empty column the value 0.
func entry(column []float64, t int) float64 {
	switch {
	case len(column) == 0:
		return 0
	case len(column) == 1:
		return column[0]
	case t == len(column):
		return 0
	}
	return column[t]
}

// respond returns two numbers about the result of a preconditioned run along an eigenvector of the preconditioned
// loss with curvature a: the standard deviation of the noise, and the share of the way from the start to the
// minimum that the run covered (0 is the start, 1 the minimum).
func (l *trace) respond(a float64) (noise, share float64) {
	moves, kept := l.adjoint(a), 0. // kept: the change of the result for a change of the estimate of step t by 1
	for t := len(moves) - 1; t >= 0; t-- {
		kept = entry(l.StepSizes, t)*moves[t] + entry(l.Keep, t+1)*kept
		noise += math.Pow(kept*l.Noise[t], 2)
		share += moves[t] * l.stepped(t, a)
	}
	return math.Sqrt(noise), share
}

// slope returns the derivative at the curvature a of f, the share of the way to the minimum that a run covers, by a
// difference quotient. f is a polynomial with moderate coefficients if the steps are stable.
func (l *trace) slope(a float64) float64 {
	const h = 1e-5
	_, above := l.respond(a + h)
	_, below := l.respond(max(a-h, 0))
	return (above - below) / (a + h - max(a-h, 0))
}

// divided returns the divided difference f[p, q] = (f(p) - f(q))/(p - q), where f is the share of
// the way to the minimum that a run covers, at the curvatures of the paths p and q.
func divided(p, q path) float64 {
	a, b := p.curvature, q.curvature
	if math.Abs(a-b) <= 1e-6*(1+max(a, b)) {
		return (p.slope + q.slope) / 2
	}
	return (p.share - q.share) / (a - b)
}

// inverted returns the divided difference at x and y of the function 1/(max(x, 0) + ridge). This function
// converts an eigenvalue of the second moment to an eigenvalue of the squared preconditioner.
func inverted(x, y, ridge float64) float64 {
	at := func(x float64) float64 { return 1 / (max(x, 0) + ridge) }
	if math.Abs(x-y) <= 1e-9*(ridge+max(math.Abs(x), math.Abs(y))) {
		if x < 0 {
			return 0
		}
		return -at(x) * at(y)
	}
	return (at(x) - at(y)) / (x - y)
}
