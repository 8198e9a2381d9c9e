package report

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model"
)

type (
	// trace is the public description of a run's steps and noise. The covariance of the noise in the run's
	// weights can be computed from it.
	trace runrecord.Trace
	// moment is the released second moment of the rows, with noise.
	moment runrecord.Moment
)

// mostCovariance is the largest number of weights of a run for which a covariance is computed.
const mostCovariance = 1500

// The noise and the ridge of a released second moment must lie between leastMoment and mostMoment, and the
// absolute values of its entries below mostMoment. A forged file may contain any numbers. Within these
// limits eigenvectors can be computed. Without noise no entry is larger than 1.
const leastMoment, mostMoment = 1e-12, 1e6

// covariance is the covariance of the privacy noise in the weights of a run. The loss has k margins (linear
// scores) of d features each. The covariance is the sum of two parts: the effect of the noise of the steps,
// and the effect of the noise in the metric (the preconditioner).
type covariance struct {
	// ways are k linear combinations of the k margins. To second order the loss does not couple them, so each way can
	// be treated on its own. The weights of the margins are the matrix mix times the weights of the ways.
	mix  *mat.Dense
	ways []way
}

// way describes the noise in the d weights of one linear combination of margins. These weights are the
// matrix back times a vector of d coordinates. From step to step each coordinate follows its own recursion.
type way struct {
	back      *mat.Dense
	noise     []float64  // standard deviation of each coordinate due to the noise of the steps
	seen      []arrival  // how far the steps went, for each second moment that the rows may have
	displaced *mat.Dense // row n: the change of the coordinates due to random draw n of the metric's noise
}

func (m *moment) matrix() ([]float64, error) { return (*runrecord.Moment)(m).Matrix() }

// symmetric returns the released second moment as a symmetric matrix. It returns an error if a number in it
// is outside the limits leastMoment and mostMoment.
func (m *moment) symmetric() (*mat.SymDense, error) {
	entries, err := m.matrix()
	if err != nil {
		return nil, err
	}
	switch {
	case !(m.Step > 0 && m.Sigma > leastMoment && m.Sigma < mostMoment && m.Ridge > leastMoment && m.Ridge < mostMoment):
		return nil, errors.New("the noise of the second moment is too large or too small to compute with")
	case slices.ContainsFunc(entries, func(v float64) bool { return !(math.Abs(v) < mostMoment) }):
		return nil, errors.New("the second moment is too large to compute with")
	}
	return mat.NewSymDense(m.Features, entries), nil
}

// covariance computes the covariance of the noise that the releases of a preconditioned run left in its
// weights. It uses public facts only: the trace (the description of the run's steps and noise), the released
// second moment of the rows, and the model.
//
// Let P = (G_+ + ridge I)^(-1/2) be the metric, where G is the released second moment and G_+ is G with
// negative eigenvalues set to 0. Let u be the error of an iterate in the coordinates of P, and n the noise
// of the gradient estimate. To first order in the noise, a step of size eta changes u to
//
//	u <- u - eta (A u + n),   A = P (b S + s I) P
//
// Momentum and averages of iterates are included as the trace states them. Here b is an eigenvalue of the mean second
// derivative of the loss in the margins (model.Curvature), S is the rows' second moment and s is the regularizer's
// curvature. Along each eigenvector of A this is a recursion in one number. S is estimated from G. Noise spreads the
// eigenvalues of G, so the estimate's eigenvalues are closer together (the function denoised). The estimate also satisfies
// the equations that the schema implies for its rows (the type structure).
//
// The noise E in G also changes the metric. This matters along directions in which rows hardly vary: there the metric's
// noise mixes in the weights of other directions. Let M = G_+ + ridge I, K = M^-1 (b S + s I) and w = f(K) w*. Here
// f(a) is the share of the way to the minimum w* that the steps cover along an eigenvector of K with eigenvalue a.
// Square brackets denote a divided difference. In the basis of K's eigenvectors, the change of f(K) has the entries
// f[a_i, a_j] (change of K)_ij. In the basis of G's eigenvectors, the change of M^-1 has the entries h[g_i, g_j] E_ij
// for h(x) = 1/(max(x, 0) + ridge) (Daletskii and Krein 1965). E is drawn several times from its public distribution,
// because an exact sum would have a term for every two pairs of features.
//
// shared is the value of the last feature if it is the same in all rows, and 0 otherwise. value is the
// model's mean loss, or 0 if it is unknown. known is the structure of the rows, or nil if it is unknown. If
// the structure has hats (basis functions of curves), the eigenvalues of G are not corrected by denoised: the
// structure's equations alone make S from G.
func (l *trace) covariance(m *model.Model, weights, start []float64, shared, value float64,
	known *structure) (*covariance, error) {
	moment, level, err := l.rowMoment(shared)
	if err != nil {
		return nil, err
	}
	about, g, shape, err := moment.matrices()
	if err == nil {
		err = l.suits(m, len(weights), g.SymmetricDim())
	}
	if err != nil {
		return nil, err
	}
	d := g.SymmetricDim()
	k := len(weights) / d
	share := 1. // of the rows that are read
	if known != nil && shared > 0 {
		share = readShare(g.At(d-1, d-1)/(shared*shared), moment.Sigma/(shared*shared))
	}
	of, err := l.margins(m, g, weights, shared, share, value, level, moment)
	if err != nil {
		return nil, err
	}
	metric, err := decomposed(shape, moment)
	if err != nil {
		return nil, err
	}
	combined, err := decomposed(of.at, moment)
	if err != nil {
		return nil, err
	}
	metric.plain = l.Moment == nil
	rows, err := metric.rowsWith(known, about, g, share)
	if err != nil {
		return nil, err
	}
	c := &covariance{mix: &combined.Vectors}
	var along, went mat.Dense // row n: the weights of way n, and those less the weights at the start
	along.Mul(c.mix.T(), mat.NewDense(k, d, weights))
	went.Mul(c.mix.T(), mat.NewDense(k, d, start))
	went.Sub(&along, &went)
	draws := metric.draws()
	numbers, wide := known.manyNumbers(rows, moment.Ridge, moment.Sigma, l.thorough()), rows
	moments, err := possible(g, rows, known, numbers, moment.Sigma)
	if err != nil {
		return nil, err
	}
	if l.Moment != nil {
		if level, _, err = l.seenCurvature(metric, rows); err != nil {
			return nil, err
		}
	}
	curved := func(of *margins, n int, rows *mat.SymDense, at []float64) *mat.SymDense {
		mix, out := mat.Col(nil, n, c.mix), mat.NewSymDense(d, nil)
		way := mat.NewVecDense(k, mix)
		if out.ScaleSym(max(mat.Inner(way, of.at, way), 0), rows); l.Moment != nil && l.Curvature != nil {
			if level, apart, err := l.seenCurvature(metric, rows); err == nil {
				out.ScaleSym(level, rows)
				out.AddSym(out, apart)
			}
		} else if shared > 0 {
			of.tilt(out, rows, at, mix, share*shared, share, known)
		}
		for j := range d {
			out.SetSym(j, j, out.At(j, j)+m.Regularizer().Convexity())
		}
		return out
	}
	if numbers != nil && l.thorough() {
		if wide, err = known.varied(g, rows, numbers, moment.Sigma); err != nil {
			return nil, err
		}
	}
	for n := range k {
		w, err := l.way(metric, curved(of, n, wide, along.RawRowView(n)), along.RawRowView(n), draws)
		if err != nil {
			return nil, err
		}
		if numbers != nil {
			floats.Scale(guessed, w.noise)
		}
		c.ways = append(c.ways, w)
	}
	for _, likely := range moments {
		at, list, here := mat.DenseCopyOf(&along), make([]arrival, k), of
		for round := 0; ; round++ {
			var weights mat.Dense
			weights.Mul(c.mix, at)
			next, err := l.margins(m, likely, weights.RawMatrix().Data, shared, share, value, level, moment)
			if err != nil { // as for the estimated moment
				next = of
			}
			if !again(round, d, here.at, next.at) {
				break
			}
			here = next
			for n := range k {
				w, mix := mat.NewVecDense(d, along.RawRowView(n)), mat.Col(nil, n, c.mix)
				varied := max(here.variance(mix), of.variance(mix), 0) + 2*moment.Sigma*mat.Dot(w, w)
				vary := priors(rows, known, varied, shared, share, moment.Sigma)
				list[n], err = l.seeing(metric, &c.ways[n], curved(here, n, likely, at.RawRowView(n)), went.RawRowView(n), vary)
				if err != nil {
					return nil, err
				}
			}
			for n, a := range list {
				way := a.average()
				for j := range d {
					at.Set(n, j, along.At(n, j)-went.At(n, j)+way.AtVec(j))
				}
			}
		}
		for n, a := range list {
			c.ways[n].seen = append(c.ways[n].seen, a.scaled()...)
		}
	}
	return c, nil
}

// matrices returns the released second moment about the mean row, or about zero if no mean row is released, the one about
// zero, and the matrix from which the metric is computed.
func (m *moment) matrices() (about, g, shape *mat.SymDense, err error) {
	if about, err = m.symmetric(); err != nil || len(m.Mean) == 0 {
		return about, about, about, err
	}
	if len(m.Mean) != about.SymmetricDim() || !(m.MeanWeight >= 1 && m.MeanWeight < mostMoment) {
		return nil, nil, nil, fmt.Errorf("the mean row has %d features and the weight %v", len(m.Mean), m.MeanWeight)
	}
	for j, v := range m.Mean {
		if !(math.Abs(v) <= 1) {
			return nil, nil, nil, fmt.Errorf("feature %d of the mean row is %v: no row is longer than 1", j+1, v)
		}
	}
	g, shape, err = m.about(about)
	return about, g, shape, err
}

// suits returns an error if the covariance is not worked out for such a run, with a number of weights and of features.
func (l *trace) suits(m *model.Model, weights, features int) error {
	if err := l.linear(); err != nil {
		return err
	}
	switch {
	case weights%features != 0:
		return errors.New("no covariance is computed for models with thresholds")
	case weights > mostCovariance:
		return fmt.Errorf("the model has %d weights, and the covariance is computed for at most %d", weights, mostCovariance)
	case m.Regularizer().Convexity() != m.Regularizer().Smoothness():
		return errors.New("the regularizer's curvature is not the same everywhere")
	}
	kinked, ok := m.Loss().(interface{ Slopes(dst, z, y []float64) })
	if ok && slopeJumps(m) && m.Schema().Target().Kind == dataset.Number && l.LevelSigma == 0 {
		s := []float64{0, 0}
		if kinked.Slopes(s, []float64{-9, 9}, []float64{0, 0}); min(-s[0], s[1]) < leastTail*(s[1]-s[0]) {
			return errors.New("the density of targets at a quantile below .2 or above .8 is not released")
		}
	}
	return nil
}

// slopeJumps reports whether the slope of the model's loss jumps.
func slopeJumps(m *model.Model) bool { return math.IsInf(m.Loss().Constants().Curvature.Hi, 0) }

// margins returns the second derivative of the loss in the margins. level is the one that a curvature released by a run
// in no metric tells. share is the share of the rows that are read; the other parameters are those of covariance.
func (l *trace) margins(m *model.Model, g *mat.SymDense, weights []float64, shared, share, value, level float64,
	moment *moment) (*margins, error) {
	if l.LevelSigma > 0 && shared > 0 {
		if level = l.Level / (shared * shared * share); !(l.Level > 2*l.LevelSigma && level < mostMoment) {
			return nil, errors.New("the noise hides the released curvature")
		}
	}
	of, ok := marginsOf(m, g, weights, shared, share, value, level, moment)
	if !ok && l.Moment != nil && l.Curvature != nil { // seenCurvature tells the second derivative
		of, ok = marginsOf(m, g, weights, shared, share, value, 1, moment)
	}
	if !ok {
		return nil, errors.New("the curvature of the loss on these rows does not follow from the releases" +
			uncurved(m.Schema().Target(), slopeJumps(m), value))
	}
	return of, nil
}

// rowMoment returns the released second moment of the rows. A run in no metric has released the curvature at its result
// instead: the second moment of rows weighted by their second derivative, times its mean, level, which the intercept tells.
func (l *trace) rowMoment(shared float64) (m *moment, level float64, err error) {
	if l.Moment != nil {
		return (*moment)(l.Moment), 0, nil
	}
	of := moment(*l.Curvature)
	of.Ridge = 1
	h, err := of.symmetric()
	if err != nil {
		return nil, 0, err
	}
	last := h.SymmetricDim() - 1
	if level = h.At(last, last) / (shared * shared); !(h.At(last, last) > 2*of.Sigma) {
		return nil, 0, errors.New("the noise hides the released curvature")
	}
	of.Sigma, of.Step = of.Sigma/level, of.Step/level
	return &of, level, nil
}

// uncurved gives the reason why the mean curvature of a loss is not known, with a colon before it; "" if it has none.
// jumps says that its slope jumps, and value is the released mean loss, or 0 if that is not known.
func uncurved(of dataset.Target, jumps bool, value float64) string {
	switch {
	case of.Weight != "":
		return ": the mean weight of the rows is not released"
	case of.Exposure.Column != "" || of.Event != "":
		return ": the mean exposure of the rows is not released"
	case jumps && value == 0:
		return ": it follows from the mean loss, which is not released, or is below four deviations of its noise"
	}
	return ""
}

// about computes two matrices from c, the released second moment C about the mean row m. g is the second
// moment about zero, C + m m'. shape is the matrix from which the metric is computed, C_+ + MeanWeight m
// m', where C_+ is C with negative eigenvalues set to 0.
func (m *moment) about(c *mat.SymDense) (g, shape *mat.SymDense, err error) {
	r, err := decomposed(c, m)
	if err != nil {
		return nil, nil, err
	}
	mean := mat.NewVecDense(len(m.Mean), m.Mean)
	g, shape = mat.NewSymDense(len(m.Mean), nil), r.With(func(v float64) float64 { return max(v, 0) })
	g.SymRankOne(c, 1, mean)
	shape.SymRankOne(shape, m.MeanWeight, mean)
	return g, shape, nil
}

var errNoEigenvalues = errors.New("the eigenvalues of the second moment could not be computed")

// eigenMoment is the eigendecomposition of a released second moment G.
type eigenMoment struct {
	*moment
	*inference.Spectrum
	plain bool // the metric is the identity: no metric was made of the moment
}

// decomposed returns the eigendecomposition of a matrix that was computed from the released second moment m.
func decomposed(of mat.Symmetric, m *moment) (*eigenMoment, error) {
	s, err := inference.Decompose(of)
	if err != nil {
		return nil, errNoEigenvalues
	}
	return &eigenMoment{moment: m, Spectrum: s}, nil
}

// power returns M^p, where the metric is M^(-1/2): M is the identity for a run in no metric, and otherwise G_+ + ridge I.
// Here G is the released second moment, and G_+ is G with negative eigenvalues set to 0.
func (r *eigenMoment) power(p float64) *mat.SymDense {
	if r.plain {
		p = 0
	}
	return r.With(func(v float64) float64 { return math.Pow(max(v, 0)+r.Ridge, p) })
}

// axes returns the coordinates of weights along each of which the preconditioned loss has a curvature of its own, if the
// second derivative in the weights is curved: the matrices back and half are those of arrival.
func (r *eigenMoment) axes(curved *mat.SymDense) (curvatures []float64, back, half *mat.Dense, err error) {
	inverse := r.power(-.5)
	e, err := decomposed(inference.Between(inverse, curved), r.moment)
	if err != nil {
		return nil, nil, nil, err
	}
	back, half = new(mat.Dense), new(mat.Dense)
	back.Mul(inverse, &e.Vectors)
	half.Mul(r.power(.5), &e.Vectors)
	return e.Values, back, half, nil
}

// rows returns an estimate of the second moment of the rows: the released second moment with its
// eigenvalues corrected for the noise in it (by the function denoised).
func (r *eigenMoment) rows() *mat.SymDense {
	return (&inference.Spectrum{Values: denoised(r.Values, r.Sigma), Vectors: r.Vectors}).With(func(v float64) float64 { return v })
}

// rowsWith returns an estimate of the second moment of the rows that has the structure known, or any if known is nil. about
// and g are the released matrices, and share is the share of the rows that are read.
func (r *eigenMoment) rowsWith(known *structure, about, g *mat.SymDense, share float64) (*mat.SymDense, error) {
	rows := r.rows()
	if len(r.Mean) > 0 {
		e, err := decomposed(about, r.moment)
		if err != nil {
			return nil, err
		}
		rows = e.rows()
		rows.SymRankOne(rows, 1, mat.NewVecDense(len(r.Mean), r.Mean))
	}
	if known == nil {
		return rows, nil
	}
	if len(known.hats) > 0 {
		rows.CopySym(g)
		for j, v := range r.Mean {
			rows.SetSym(j, g.SymmetricDim()-1, v*known.shared)
		}
	}
	known.shared, known.plain = known.shared*math.Sqrt(share), r.plain
	known.impose(rows, r.Sigma)
	return rows, nil
}

// draws returns random changes of (G_+ + ridge I)^-1, in the basis of the eigenvectors of G, where G is the released
// second moment. Each is the first-order effect of one random draw from the distribution of the noise in G.
func (r *eigenMoment) draws() []*mat.SymDense {
	d := len(r.Values)
	none := mat.NewSymDense(d, nil)
	if r.plain {
		return []*mat.SymDense{none}
	}
	coins := rand.New(rand.NewPCG(3, 4)) // fixed seed: the draws only approximate an expectation
	list := make([]*mat.SymDense, min(max(workDraws/(d*d*d), leastDraws), mostDraws))
	for n := range list {
		list[n] = noisy(none, r.Sigma, coins)
		for i := range d {
			for j := range i + 1 {
				list[n].SetSym(i, j, list[n].At(i, j)*inverted(r.Values[i], r.Values[j], r.Ridge))
			}
		}
	}
	return list
}

// The number of random draws of the noise in the metric is workDraws/d^3 for d features, but at least leastDraws and at
// most mostDraws. workDraws corresponds to a fraction of a second of work. With leastDraws draws the relative error of
// a standard deviation is below a tenth, with mostDraws below a thirtieth.
const workDraws, leastDraws, mostDraws = 100_000_000, 60, 500

// way computes the noise in weights, the weights of one linear combination of margins. curved is the second derivative
// of loss and regularizer in these weights. Along each eigenvector of the preconditioned Hessian (A in the method
// covariance), way computes the recursion of the steps. Then it adds the effect of the noise in the metric.
func (l *trace) way(r *eigenMoment, curved *mat.SymDense, weights []float64, draws []*mat.SymDense) (way, error) {
	d := len(weights)
	curvatures, back, half, err := r.axes(curved)
	if err != nil {
		return way{}, err
	}
	w := way{back: back, noise: make([]float64, d), displaced: mat.NewDense(len(draws), d, nil)}
	var turn mat.Dense
	turn.Mul(r.Vectors.T(), half) // column i: coordinate i without the metric, in the basis of G's eigenvectors
	var at mat.VecDense
	at.MulVec(half.T(), mat.NewVecDense(d, weights))
	start := make([]float64, d) // the noise of the intercept at the start
	start[d-1] = l.Start
	var began mat.VecDense
	began.MulVec(half.T(), mat.NewVecDense(d, start))
	paths := make([]path, d)
	for i, a := range curvatures {
		p := path{curvature: max(a, 0)}
		w.noise[i], p.share = l.respond(p.curvature)
		w.noise[i] = math.Hypot(w.noise[i], (1-p.share)*began.AtVec(i)) // the steps leave this share of it
		p.slope = l.slope(p.curvature)
		paths[i] = p
	}
	// The weight along an eigenvector has two causes: the pull of the data, and noise from other directions that the
	// metric's noise turned into this direction. The second cause matters in directions in which rows hardly vary.
	// Round one assumes no pull of the data in directions with a curvature below .3 of the largest, and computes their
	// displacement by noise. Round two counts this displacement as noise and estimates the pull in all directions.
	most := vector.Most(paths, func(p path) float64 { return p.curvature })
	for _, least := range []float64{.3 * most, 0} {
		for i := range paths {
			p := &paths[i]
			noise := w.variance(i)
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
func (w *way) displace(paths []path, turn *mat.Dense, draws []*mat.SymDense) {
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
// used in one step only. It also returns an error if the lengths of the trace's columns differ or if there
// are more than mostFollowed steps.
func (l *trace) linear() error {
	switch {
	case len(l.Back) > 0 || len(l.Keep) > 0 && len(l.Scales) > 0 || l.Move > 0 || len(l.Rounds) > 1:
		return errors.New("the noise is not followed through this way of mixing steps in a metric")
	case l.Chosen > 1:
		return errors.New("the result was chosen by looking at noisy numbers")
	case len(l.Noise) == 0 || len(l.Noise) > mostFollowed:
		return errors.New("the certificate does not hold the noise of each step")
	}
	T := len(l.Noise)
	for _, column := range [][]float64{l.StepSizes, l.Momentum, l.Keep} {
		if len(column) > 1 && len(column) != T {
			return errors.New("the certificate's columns are of different lengths")
		}
	}
	if len(l.StepSizes) == 0 || l.Weights != nil && len(l.Weights) != T+1 {
		return errors.New("the certificate's columns are of different lengths")
	}
	return nil
}

// mostFollowed is the most steps that the recursion follows, leastTail the least share of targets beyond a quantile.
const mostFollowed, leastTail = 20_000, .2

// denoised estimates the eigenvalues of the rows' second moment from values, the eigenvalues of the released second moment.
// Noise spreads eigenvalues, so the estimates are closer together than the values. Among all estimators that keep the
// eigenvectors this one has the smallest squared error (Bun, Allez, Bouchaud and Potters 2016, for additive noise): an
// eigenvalue g becomes g - sigma^2 sum_j 1/(g - g_j) with the sum over the other eigenvalues g_j, where sigma^2 is the
// variance of the noise in a diagonal entry. The function 1/x in the sum is smoothed over about the distance between
// neighbouring eigenvalues of the noise.
func denoised(values []float64, sigma float64) []float64 {
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

// of returns the covariance of the noise in linear functions of the weights. rows[i] holds the factor of
// each weight in function i.
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
	return inference.Symmetric(&out)
}
