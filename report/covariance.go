package report

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/runrecord"
)

type (
	// law is the public description of a run's steps and noise, from which the covariance of its
	// weights can be computed.
	law runrecord.Realised
	// moment is the released second moment of the rows.
	moment runrecord.Moment
)

// mostCovariance is the largest number of weights for which a covariance is computed.
const mostCovariance = 1500

// leastMoment and mostMoment limit the numbers in a released second moment. A forged file may contain any
// numbers; within these limits eigenvectors can be computed. Without noise all entries are below 1.
const leastMoment, mostMoment = 1e-12, 1e6

// covariance is the covariance of the privacy noise in the weights of a run of a loss with k
// margins (linear scores) of d features each. It is the sum of two parts: the effect of the noise
// of the steps, and the effect of the noise in the metric (the preconditioner).
type covariance struct {
	// A way is a linear combination of the k margins that the loss does not couple with the other
	// combinations, so each way can be treated on its own. The weights of the margins are the
	// matrix mix times the weights of the ways.
	mix  *mat.Dense
	ways []way
}

// way describes the noise in the weights of one combination of margins. The weights are back times a vector
// of coordinates, and each coordinate follows a recursion of its own.
type way struct {
	back      *mat.Dense
	noise     []float64  // standard deviation of each coordinate due to the noise of the steps
	displaced *mat.Dense // row n is the change of the coordinates due to draw n of the metric's noise
}

func (m *moment) matrix() ([]float64, error) { return (*runrecord.Moment)(m).Matrix() }

// symmetric returns the released second moment as a symmetric matrix.
func (m *moment) symmetric() (*mat.SymDense, error) {
	entries, err := m.matrix()
	if err != nil {
		return nil, err
	}
	switch {
	case !(m.Step > 0 && m.Sigma > leastMoment && m.Sigma < mostMoment && m.Ridge > leastMoment && m.Ridge < mostMoment):
		return nil, errors.New("the second moment's noise is out of all proportion")
	case slices.ContainsFunc(entries, func(v float64) bool { return !(math.Abs(v) < mostMoment) }):
		return nil, errors.New("the second moment is out of all proportion")
	}
	return mat.NewSymDense(m.Features, entries), nil
}

// covariance computes the noise that the releases of a preconditioned run left in its weights. It
// uses public facts only: the law (the description of the run's steps and noise), the released
// second moment of the rows, and the model.
//
// To first order in the noise, an iterate's error u, in the coordinates of the metric P, follows in
// a step of size eta, with the noise n of the estimate,
//
//	u <- u - eta (A u + n),   A = P (b S + s I) P
//
// with the law's momentum and averages. Here b is an eigenvalue of the mean second derivative of
// the loss in the margins (model.Bend), S is the rows' second moment and s is the regularizer's
// curvature. Along each eigenvector of A this is a recursion in one number. S is estimated from G,
// the released second moment. The estimate has smaller eigenvalues than G, because noise spreads
// G's eigenvalues (seen), and it satisfies the equations that the schema implies for its rows
// (structure).
//
// The noise of G itself changes the metric. This matters along directions in which rows hardly
// vary: there the metric determines the weights from the other weights. Let M = G_+ + ridge I, K =
// M^-1 (b S + s I) and w = f(K) w*, where f(a) is the share of the way to the minimum w* that the
// steps cover along an eigenvalue a. Let E be the noise in G. In the basis of K's eigenvectors, the
// change of f(K) has the entries f[a_i, a_j] (change of K)_ij. In the basis of G's eigenvectors,
// the change of M^-1 has the entries h[g_i, g_j] E_ij for h(x) = 1/(max(x, 0) + ridge) (Daletskii
// and Krein 1965). E is drawn several times from its public distribution. The draws replace a sum
// over pairs of pairs of features.
//
// shared is the value of the last feature if all rows have the same value there, and 0 otherwise.
// value is the model's mean loss, 0 if it is unknown. known, if not nil, is the structure of the
// rows. What it says of hats is more than the spread of eigenvalues does: with hats, S is estimated
// from the structure alone.
func (l *law) covariance(m *model.Model, weights []float64, shared, value float64, known *structure) (*covariance,
	error) {
	moment := (*moment)(l.Moment)
	about, err := moment.symmetric()
	if err != nil {
		return nil, err
	}
	g, shape := about, about // g is the second moment of the rows, shape the matrix of the metric
	if n := len(moment.Mean); n > 0 {
		if n != about.SymmetricDim() || !(moment.MeanWeight >= 1 && moment.MeanWeight < mostMoment) {
			return nil, fmt.Errorf("the mean row has %d features and the weight %v", n, moment.MeanWeight)
		}
		for j, v := range moment.Mean {
			if !(math.Abs(v) <= 1) {
				return nil, fmt.Errorf("feature %d of the mean row is %v: no row is longer than 1", j+1, v)
			}
		}
		if g, shape, err = moment.about(about); err != nil {
			return nil, err
		}
	}
	if err := l.linear(); err != nil {
		return nil, err
	}
	d := g.SymmetricDim()
	k := len(weights) / d
	if k*d != len(weights) || k*d > mostCovariance {
		return nil, fmt.Errorf("of %d weights no covariance is worked out: at most of %d", len(weights), mostCovariance)
	}
	reg := m.Regularizer().Convexity()
	if reg != m.Regularizer().Smoothness() {
		return nil, errors.New("the regularizer's curvature is not the same everywhere")
	}
	bend, ok := bendAt(m, g, weights, shared, value, moment)
	if !ok {
		return nil, errors.New("how curved this loss is for these rows is not known from what was released")
	}
	var e, b mat.EigenSym
	if !e.Factorize(shape, true) || !b.Factorize(bend, true) {
		return nil, errNoEigenvalues
	}
	metric := newReleased(e, moment)
	rows := metric.rows()
	if len(moment.Mean) > 0 {
		if !e.Factorize(about, true) {
			return nil, errNoEigenvalues
		}
		mean := mat.NewVecDense(d, moment.Mean)
		rows = newReleased(e, moment).rows()
		rows.SymRankOne(rows, 1, mean)
	}
	if known != nil {
		if len(known.hats) > 0 {
			rows.CopySym(g)
			for j, v := range moment.Mean {
				rows.SetSym(j, d-1, v*known.shared)
			}
		}
		known.impose(rows, moment.Sigma)
	}
	c := &covariance{mix: new(mat.Dense)}
	b.VectorsTo(c.mix)
	var along mat.Dense // the directions' weights
	along.Mul(c.mix.T(), mat.NewDense(k, d, weights))
	draws := metric.draws()
	for n, bend := range b.Values(nil) {
		w, err := l.way(metric, rows, max(bend, 0), reg, along.RawRowView(n), draws)
		if err != nil {
			return nil, err
		}
		c.ways = append(c.ways, w)
	}
	return c, nil
}

// about computes two matrices from c, the released second moment C about the mean row m. g is the second
// moment about zero, C + m m'. shape is the matrix of the metric, C_+ + MeanWeight m m', where C_+ is C
// with negative eigenvalues set to 0.
func (m *moment) about(c *mat.SymDense) (g, shape *mat.SymDense, err error) {
	var e mat.EigenSym
	if !e.Factorize(c, true) {
		return nil, nil, errNoEigenvalues
	}
	r := newReleased(e, m)
	mean := mat.NewVecDense(len(m.Mean), m.Mean)
	g, shape = mat.NewSymDense(len(m.Mean), nil), symmetrised(r.with(func(i int) float64 { return max(r.values[i], 0) }))
	g.SymRankOne(c, 1, mean)
	shape.SymRankOne(shape, m.MeanWeight, mean)
	return g, shape, nil
}

var errNoEigenvalues = errors.New("the second moment has no eigenvalues")

// released is the eigendecomposition of a released second moment G = vectors diag(values) vectors'.
type released struct {
	*moment
	values  []float64
	vectors *mat.Dense
}

func newReleased(e mat.EigenSym, m *moment) *released {
	r := &released{moment: m, values: e.Values(nil), vectors: new(mat.Dense)}
	e.VectorsTo(r.vectors)
	return r
}

// power returns (G_+ + ridge I)^p, where G is the released second moment and G_+ is G with negative
// eigenvalues set to 0.
func (r *released) power(p float64) *mat.Dense {
	return r.with(func(i int) float64 { return math.Pow(max(r.values[i], 0)+r.Ridge, p) })
}

// with returns the matrix with the eigenvectors of the released second moment and the eigenvalues
// value(i).
func (r *released) with(value func(i int) float64) *mat.Dense {
	var scaled, out mat.Dense
	scaled.Apply(func(_, i int, v float64) float64 { return v * value(i) }, r.vectors)
	out.Mul(&scaled, r.vectors.T())
	return &out
}

// rows returns an estimate of the second moment of the rows: the released second moment with its
// eigenvalues corrected for the noise in it (by the function seen).
func (r *released) rows() *mat.SymDense {
	values := seen(r.values, r.Sigma)
	return symmetrised(r.with(func(i int) float64 { return values[i] }))
}

// symmetrised returns a as a symmetric matrix, the mean of a and its transpose up to the rounding
// errors that made them differ.
func symmetrised(a *mat.Dense) *mat.SymDense {
	d, _ := a.Dims()
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			out.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return out
}

// draws returns random changes of (G_+ + ridge I)^-1, to first order, where G is the released
// second moment. The changes are due to noise with the distribution of the noise in G.
func (r *released) draws() []*mat.Dense {
	d := len(r.values)
	coins := rand.New(rand.NewPCG(3, 4)) // fixed seed: the draws only approximate an expectation
	list := make([]*mat.Dense, min(max(workDraws/(d*d*d), leastDraws), mostDraws))
	for n := range list {
		change := mat.NewDense(d, d, nil)
		for i := range d {
			for j := i; j < d; j++ {
				noise := r.Sigma * coins.NormFloat64()
				if j > i {
					noise /= math.Sqrt2
				}
				v := noise * inverted(r.values[i], r.values[j], r.Ridge)
				change.Set(i, j, v)
				change.Set(j, i, v)
			}
		}
		list[n] = change
	}
	return list
}

// workDraws limits the work for all random draws of the noise in the metric to a fraction of a
// second. With leastDraws draws the relative error of a standard deviation is below a tenth, with
// mostDraws below a thirtieth.
const workDraws, leastDraws, mostDraws = 100_000_000, 60, 500

// way computes the noise in the weights of one combination of margins. bend is the curvature of the
// loss in this combination. Along each eigenvector of the preconditioned Hessian (A in the method
// covariance), way follows the recursion of the steps; then it adds the effect of the noise in the
// metric.
func (l *law) way(r *released, rows *mat.SymDense, bend, reg float64, weights []float64, draws []*mat.Dense) (way,
	error) {
	d := len(weights)
	inverse, root := r.power(-.5), r.power(.5)
	var curved, half, inside mat.Dense
	curved.Scale(bend, rows)
	for j := range d {
		curved.Set(j, j, curved.At(j, j)+reg)
	}
	half.Mul(inverse, &curved)
	inside.Mul(&half, inverse)
	var e mat.EigenSym
	if !e.Factorize(symmetrised(&inside), true) {
		return way{}, errNoEigenvalues
	}
	var vectors, turn mat.Dense
	e.VectorsTo(&vectors)
	w := way{back: new(mat.Dense), noise: make([]float64, d), displaced: mat.NewDense(len(draws), d, nil)}
	w.back.Mul(inverse, &vectors)
	half.Mul(root, &vectors)
	turn.Mul(r.vectors.T(), &half) // from coordinates to G's eigenvectors, out of the metric
	var at mat.VecDense
	at.MulVec(half.T(), mat.NewVecDense(d, weights))
	paths := make([]path, d)
	for i, a := range e.Values(nil) {
		p := path{curvature: max(a, 0)}
		w.noise[i], p.share = l.respond(p.curvature)
		p.slope = l.slope(p.curvature)
		paths[i] = p
	}
	// The weight along an eigenvector has two causes: the pull of the data, and noise from other directions that
	// the metric's noise turned into this direction. The second cause matters in directions in which rows hardly
	// vary. Round one ignores the pull of the data in these directions (curvature below .3 of the largest) and
	// computes the displacement by noise. Round two counts this displacement as noise and estimates the pull in
	// all directions.
	most := 0.
	for _, p := range paths {
		most = max(most, p.curvature)
	}
	for _, least := range []float64{.3 * most, 0} {
		for i := range paths {
			p := &paths[i]
			noise := w.noise[i] * w.noise[i]
			for n := range draws {
				noise += math.Pow(w.displaced.At(n, i), 2) / float64(len(draws))
			}
			p.pull = 0
			if v := at.AtVec(i); p.share > 0 && p.curvature >= least && v*v > 4*noise {
				p.pull = p.curvature * v / p.share * math.Sqrt(1-noise/(v*v))
			}
		}
		w.displace(paths, &turn, draws)
	}
	return w, nil
}

// displace computes, for each random draw of the noise in the metric, how that noise changes each
// coordinate of the weights. Column i of turn is the direction of coordinate i in the basis of the
// released second moment's eigenvectors, multiplied by the inverse of the metric.
func (w *way) displace(paths []path, turn *mat.Dense, draws []*mat.Dense) {
	for n, change := range draws {
		var left, moved mat.Dense
		left.Mul(change, turn)
		moved.Mul(turn.T(), &left)
		for i := range paths {
			sum := 0.
			for j, q := range paths {
				if q.pull != 0 {
					sum += divided(paths[i], q) * moved.At(i, j) * q.pull
				}
			}
			w.displaced.Set(n, i, sum)
		}
	}
}

// linear returns an error unless the run's result is a linear function of its releases and each release is
// used in one step only.
func (l *law) linear() error {
	switch {
	case len(l.Back) > 0 || len(l.Keep) > 0 || l.Move > 0 || len(l.Rounds) > 1:
		return errors.New("how its steps in a metric were mixed is not followed")
	case l.Chosen > 1:
		return errors.New("the result was chosen by looking at noisy numbers")
	case len(l.Noise) == 0 || len(l.Noise) > mostFollowed:
		return errors.New("the certificate does not hold the noise of each step")
	}
	T := len(l.Noise)
	for _, column := range [][]float64{l.StepSizes, l.Momentum} {
		if len(column) > 1 && len(column) != T {
			return errors.New("the certificate's columns are of different lengths")
		}
	}
	if len(l.StepSizes) == 0 || l.Weights != nil && len(l.Weights) != T+1 {
		return errors.New("the certificate's columns are of different lengths")
	}
	return nil
}

// mostFollowed is the largest number of steps for which the recursion is computed.
const mostFollowed = 20_000

// seen returns estimates of the eigenvalues of the rows' second moment, given the eigenvalues of
// the released second moment. Noise spreads eigenvalues, so the estimates are closer together.
// Among all estimators that keep the eigenvectors this one has the smallest squared error (Bun,
// Allez, Bouchaud and Potters 2016, for additive noise): an eigenvalue g becomes g - sigma^2 sum_j
// 1/(g - g_j) with the sum over the other eigenvalues g_j, where sigma^2 is the variance of a
// diagonal entry. The sum is smoothed over about the distance between neighbouring eigenvalues of
// the noise.
func seen(values []float64, sigma float64) []float64 {
	square, width := sigma*sigma, sigma*math.Sqrt2
	edge := width * math.Sqrt(float64(len(values)))
	out := make([]float64, len(values))
	for i, g := range values {
		sum := 0.
		for j, v := range values {
			if j != i {
				sum += (g - v) / ((g-v)*(g-v) + width*width)
			}
		}
		out[i] = min(max(g-square*sum, 0), max(g, 0)+edge)
	}
	return out
}

// bendAt returns the mean second derivative of the loss in the margins, at the model's margins on
// the rows. The distribution of the margins is computed from g, the second moment of the rows. ok
// is false if the loss's second derivative is not known for such margins.
func bendAt(m *model.Model, g *mat.SymDense, weights []float64, shared, value float64, released *moment) (*mat.SymDense,
	bool) {
	d := g.SymmetricDim()
	if v := g.At(d-1, d-1); shared > 0 &&
		v > 4*released.Sigma { // rows longer than 1 are rescaled, so the last feature may be smaller than shared
		shared = math.Sqrt(v)
	}
	k := len(weights) / d
	mean, spread := make([]float64, k), make([][]float64, k)
	products := make([]*mat.VecDense, k)
	for n := range k {
		products[n] = mat.NewVecDense(d, nil)
		products[n].MulVec(g, mat.NewVecDense(d, weights[n*d:(n+1)*d]))
		if shared > 0 {
			mean[n] = products[n].AtVec(d-1) / shared
		}
	}
	for n := range k {
		spread[n] = make([]float64, k)
		for j := range k {
			spread[n][j] = mat.Dot(products[n], mat.NewVecDense(d, weights[j*d:(j+1)*d])) - mean[n]*mean[j]
		}
	}
	bend, ok := m.Bend(mean, spread, released.Slope, value)
	if !ok {
		return nil, false
	}
	out := mat.NewSymDense(k, nil)
	for i := range bend {
		for j := i; j < k; j++ {
			out.SetSym(i, j, (bend[i][j]+bend[j][i])/2)
		}
	}
	return out, true
}

// of returns the covariance of the noise in linear functions of the weights. Each entry of rows
// holds the factors of one function.
func (c *covariance) of(rows [][]float64) *mat.SymDense {
	k := len(c.ways)
	d := len(c.ways[0].noise)
	draws, _ := c.ways[0].displaced.Dims()
	steps := mat.NewDense(len(rows), k*d, nil) // effect of one standard deviation of each coordinate on each function
	moved := mat.NewDense(len(rows), draws, nil)
	for i, row := range rows {
		var along mat.Dense
		along.Mul(c.mix.T(), mat.NewDense(k, d, row))
		for n, w := range c.ways {
			var at, by mat.VecDense
			at.MulVec(w.back.T(), mat.NewVecDense(d, along.RawRowView(n)))
			by.MulVec(w.displaced, &at)
			for j, v := range w.noise {
				steps.Set(i, n*d+j, v*at.AtVec(j))
			}
			for j := range draws {
				moved.Set(i, j, moved.At(i, j)+by.AtVec(j)/math.Sqrt(float64(draws)))
			}
		}
	}
	var out, more mat.Dense
	out.Mul(steps, steps.T())
	more.Mul(moved, moved.T())
	out.Add(&out, &more)
	return symmetrised(&out)
}
