package firstorder

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// centring plans the release of the rows' second moment about a released mean row m, for tables whose rows
// lie near each other. About m, rows are shorter than about 0, so the release needs less noise. Row
// differences from m that are longer than R are shortened to the length R. The setting MomentShare gives
// the second moment a share of the budget. Three releases get these parts of the share:
//
//	m   = mean x_i + noise                                          .15 of the share
//	rho = mean min(||x_i - m||^2, 1) + noise                        .02
//	R   = min(1.15 max(1, (N/200)^(1/4)) sqrt(max(rho + 2 sigma, .01)), 1), sigma being rho's noise
//	C   = mean z_i z_i' + noise,   z_i = x_i - m shortened to R     the rest
//	Gt  = C_+ + 3 m m'
//
// The noise in C is R^2 times the noise in mean x x', the second moment about 0. The largest eigenvalue (edge) of the
// noise is therefore R^2 times as large too. This edge is the smallest possible ridge lambda of the preconditioner, and
// a smaller lambda hides fewer directions of the rows. For an effective size N of 1000 or more, the noise in mean x x'
// hides few directions. For N below 50, m is mostly noise. For curves, errors were smaller about 0 from N = 200 on
// (lab/results/accuracy.md). In these cases mean x x' is released in place of m, rho and C. The query for C costs d^2/2
// operations a row, however many cells are zero. If n d^2, for n records, is above mostPairWork, mean x x' is also
// released in place of m, rho and C.
//
// # Why a step of 1/b is stable
//
// b is the bound on the second derivative of the loss in the margin. Let A = mean (x_i - m)(x_i -
// m)', let d = mean x_i - m be the noise in m (with opposite sign), and let G = mean x_i x_i'. Then G
// = A + m m' + d m' + m d'. Also A >= d d', since a second moment is at least the square of its mean.
// With d m' + m d' <= 3 m m' + d d'/3,
//
//	G <= (4/3) A + 4 m m' = (4/3) (A + 3 m m').
//
// If no row is farther than R from m, C is A plus noise, and C_+ + lambda I >= A if lambda is at least the edge of the
// noise. Then P G P <= (4/3) I for the preconditioner P = (Gt + lambda I)^(-1/2), whatever the table and the noise in
// m. With the momentum factor beta = t/(t+3), Nesterov's method is stable if the curvature times the step is below
// 2(1+beta)/(1+2beta), which is above 4/3. With m m' in place of 3 m m', P G P was up to 1.6 on real tables.
//
// If rows are shortened, A exceeds mean z z', by a factor of at most ((1+||m||)/R)^2. For this case the
// bound 4/3 on P G P is measured and not proved (lab/results/outcome.md). The measurement is the reason why R
// grows with N, and why noise in rho is allowed for by adding 2 sigma.
type centring struct {
	mean, spread float64 // charges
	reach        float64 // R over the root mean squared distance of rows from m, while R is below 1
}

// Constants of the rule by which the second moment is released about the mean row (see centring), and
// of the rule by which steps along hidden directions are shortened (see worth).
const (
	leastCentred, mostCentred = 50, 1000 // centring is used for N in [50, 1000)
	mostCurved                = 200      // for curves, in [50, 200)
	meanShare, spreadShare    = .15, .02 // shares of the second moment's charge
	reachLeast, reachFrom     = 1.15, 200
	leastSpread               = .01
	spreadNoise               = 2       // number of standard deviations of rho's noise that are added to rho
	meanWeight                = 3       // weight of m m' in Gt
	usualSpread               = .35     // the value of rho that forecasts assume
	mostPairWork              = 1 << 34 // largest n d^2 for which the centred moment is released
	worthOver, worthAtBase    = .5, .35
	leastWorth, mostWorth     = 1e-6, 10. // limits of lambda; no second moment of rows exceeds 1
)

// centres reports whether the second moment of the rows is released about the released mean row. If it
// returns false, the second moment is released about 0. It returns false if the loss clips its own slope
// (Constants.Clipped) or is smoothed, because centring made the measured errors of such fits larger. It
// returns false for losses of several margins, for which nothing was measured. It also returns false for a
// diagonal preconditioner, for an effective size outside [50, 1000), and for n d^2 above mostPairWork.
func centres(p optimize.Problem) bool {
	d := float64(p.Shape.Features)
	return weighs(p) && p.Beside == 0 && p.Effective() < mostCentred && !Diagonal(p) && p.Effective() >= leastCentred && p.Records*d*d <= mostPairWork
}

// weighs reports whether the ridge lambda of the preconditioner is raised at least to the value that the
// function worth returns. It returns true only for an effective size N below 1000, where lambda is large
// compared with the rows' second moment, and for curves only below 200, since rows vary little along their
// shapes. It returns false for losses whose Lipschitz constant is a clip, for losses of several margins and for
// smoothed losses. For such losses a larger lambda made errors smaller on some tables and larger on others.
func weighs(p optimize.Problem) bool {
	most := float64(mostCentred)
	if p.Curved {
		most = mostCurved
	}
	return p.Signal() < most && !p.Constants.Clipped && !p.Smoothing.On() && p.Shape.Margins == 1
}

// newCentring plans the releases about the mean row (see centring). It subtracts the charges of the
// mean row and of the squared distance from *moment, the charge of the second moment. It returns nil
// if the second moment of p is to be released about 0.
func newCentring(p optimize.Problem, moment *float64) *centring {
	if !centres(p) {
		return nil
	}
	c := &centring{
		mean: meanShare * *moment, spread: spreadShare * *moment,
		reach: reachLeast * math.Max(1, math.Pow(p.Effective()/reachFrom, .25)),
	}
	*moment *= 1 - meanShare - spreadShare
	return c
}

// passes returns the number of passes over the table that the releases of the mean row and of the squared
// distance add: 2, or 0 if c is nil.
func (c *centring) passes() float64 {
	if c == nil {
		return 0
	}
	return 2
}

// workload returns the workload of the release from which the metric is computed, and of the rows' lengths in it. If
// radii fall, its smoothing has the geometric mean of the widest radius and the problem's.
func (g *preconditionedPlan) workload(p optimize.Problem) optimize.Workload {
	w := optimize.Workload{Metrics: 1, Smoothing: p.Smoothing}
	if g.narrow != nil {
		w.Smoothing.Radius = math.Sqrt(widest(p) * p.Smoothing.Radius)
	}
	switch {
	case Diagonal(p):
		whole, _, _ := blockOf(p)
		w.Block = len(whole)
		return w.Count(query.SquaredFeatures, 1, 1)
	case counted(p):
		return w.Count(query.Curvature, 1, 1)
	case g.centre == nil:
		return w.Count(query.SecondMoment, 1, 1)
	}
	return w.Count(query.RowMean, 1, 1).Count(query.SquaredDistance, 1, 1).Count(query.CentredMoment, 1, 1)
}

// expectedEdge returns the largest eigenvalue (edge) of the second moment's noise that forecasts assume before the run.
// For a diagonal preconditioner it returns the ridge that takes the place of the edge (see diagonalEdge).
func (g *preconditionedPlan) expectedEdge(p optimize.Problem) float64 {
	sigma := math.Sqrt(p.Neighbours()) / p.Records / math.Sqrt(g.moment)
	if counted(p) {
		sigma *= steepest(p) / p.Base.Curvature
	}
	if Diagonal(p) {
		return diagonalEdge(p, sigma)
	}
	edge := edgeOf(p, sigma)
	if g.centre != nil {
		r := g.centre.radius(usualSpread, p.Neighbours()/2/p.Records/math.Sqrt(g.centre.spread))
		edge *= r * r
	}
	return edge
}

// least returns the smallest ridge lambda of the preconditioner, without the regularizer's part: the
// largest eigenvalue (edge) of the second moment's noise, but at least the value of the function
// worth if weighs allows it. effective returns the effective dimension d_eff for a lambda. excess
// returns the forecast excess risk that noise leaves in a run with the given law.
func (g *preconditionedPlan) least(edge float64, effective func(lambda float64) float64,
	excess func(optimize.Problem, optimize.UpdateRule) float64) float64 {
	p, law := g.Problem(), g.UpdateRule()
	if !weighs(p) {
		return edge
	}
	over := worthOver
	if begun(p) {
		if over = worthAtBase; p.Curved {
			over *= p.Signal() / p.Effective()
		}
	}
	return max(edge, worth(over, p.Constants.InitialGap, func(lambda float64) float64 {
		g.foresee(&law, p, lambda, max(effective(lambda), leastCount))
		return excess(p, law)
	}))
}

// radius returns the radius R to which row differences from the mean row are shortened, for a released mean squared
// distance (spread) of the rows from it. sigma is the standard deviation of the noise in spread.
func (c *centring) radius(spread, sigma float64) float64 {
	return min(c.reach*math.Sqrt(max(spread+spreadNoise*sigma, leastSpread)), 1)
}

// released is the second moment of the rows that a run released, with facts about the noise in it.
type released struct {
	*spectrum
	edge float64   // largest eigenvalue of the noise in the released matrix
	seen []float64 // eigenvalues of the released matrix with its noise, negative ones included
	// about is the released second moment of the rows about the released mean row, mean. sigma is the
	// standard deviation of the noise in a diagonal entry of about. If the second moment was released
	// about 0, about is that second moment and mean is nil.
	about     []float64
	sigma     float64
	mean      []float64
	meanSigma float64
}

// record returns the released second moment in the form that certificates store. ridge is the number
// added to its eigenvalues in the preconditioner.
func (r released) record(ridge float64) *optimize.Moment {
	dim := len(r.values)
	if !r.diagonal {
		dim = int(math.Sqrt(float64(len(r.about)))) // of the features alone
	}
	m := optimize.NewMoment(r.about, dim, r.sigma, ridge)
	if m.Rows != nil && r.mean != nil {
		m.Mean, m.MeanSigma, m.MeanWeight = r.mean, r.meanSigma, meanWeight
	}
	m.Diagonal, m.Block = r.diagonal, len(r.whole)
	return m
}

// release makes the query for the second moment of the rows. If the moment is released about the mean row, release
// makes three queries: for the mean row, for the mean squared distance from it, and for the second moment about it.
func (g *preconditionedPlan) release(run *optimize.Run) (released, error) {
	p := g.Problem()
	if Diagonal(p) {
		return g.squaresOf(run)
	}
	if counted(p) {
		answer, err := run.Ask(g.moment, query.CurvatureAt(run.All(), run.W, steepest(p)))
		if err != nil {
			return released{}, err
		}
		vector.Divide(answer.Mean, p.Base.Curvature)
		sigma := answer.Sigma / p.Base.Curvature
		s, err := spectrumOf(answer.Mean)
		if err != nil {
			return released{}, err
		}
		return released{s, edgeOf(p, sigma), s.values, s.matrix, sigma, nil, 0}, nil
	}
	if g.centre == nil {
		answer, err := run.Ask(g.moment, query.SecondMomentOf(run.All(), p.Shape.Features-p.Beside))
		if err != nil {
			return released{}, err
		}
		about, dim, err := query.Symmetric(answer.Mean)
		if err != nil {
			return released{}, err
		}
		s, err := newSpectrum(bordered(p, about, dim), dim+p.Beside)
		if err != nil {
			return released{}, err
		}
		return released{s, edgeOf(p, answer.Sigma), s.values, about, answer.Sigma, nil, 0}, nil
	}
	mean, err := run.Ask(g.centre.mean, query.RowMeanOf(run.All(), p.Shape.Features))
	if err != nil {
		return released{}, err
	}
	m := within(mean.Mean)
	spread, err := run.Ask(g.centre.spread, query.SquaredDistanceFrom(run.All(), m, 1))
	if err != nil {
		return released{}, err
	}
	answer, err := run.Ask(g.moment, query.CentredMomentOf(run.All(), m, g.centre.radius(spread.Mean[0], spread.Sigma)))
	if err != nil {
		return released{}, err
	}
	s, err := spectrumOf(answer.Mean)
	if err != nil {
		return released{}, err
	}
	seen, err := newSpectrum(s.plus(m, 1, math.Inf(-1)), len(m))
	if err != nil {
		return released{}, err
	}
	about := s.matrix
	s, err = newSpectrum(s.plus(m, meanWeight, 0), len(m))
	return released{s, edgeOf(p, answer.Sigma), seen.values, about, answer.Sigma, m, mean.Sigma}, err
}

// bordered returns the second moment of all parameters for that of the features. Without a base rate that of the
// thresholds' parameters is taken to be the identity: their curvature is below the bound of the loss.
func bordered(p optimize.Problem, matrix []float64, dim int) []float64 {
	switch {
	case p.Beside == 0:
		return matrix
	case p.Beyond != nil:
		return p.Beyond.Moment(matrix, dim, true)
	}
	all := dim + p.Beside
	out := make([]float64, all*all)
	for j := range all {
		if out[j*all+j] = 1; j < dim {
			copy(out[j*all:], matrix[j*dim:(j+1)*dim])
		}
	}
	return out
}

// intercept returns the value of the last feature, which is the same in all rows, as a release about 0 tells it.
func (r released) intercept() float64 { return math.Sqrt(max(r.about[len(r.about)-1], r.sigma)) }

// rows returns the released eigenvalues, eigenvectors and mean row in the form that [optimize.Result] has.
// It returns nil for a diagonal release.
func (r released) rows() *optimize.Rows {
	if r.diagonal {
		return nil // neither mean squares nor a block determine how all features vary together
	}
	out := &optimize.Rows{Values: r.values, Vectors: r.vectors.RawMatrix().Data, Edge: r.edge}
	if r.mean != nil {
		out.Mean, out.MeanWeight = r.mean, meanWeight
	}
	return out
}

// within returns a copy of the released mean row m. If noise made m longer than 1, the copy is
// shortened to length 1, since no row is longer than 1.
func within(m []float64) []float64 {
	out := append([]float64(nil), m...)
	if n := optimize.Norm(m); n > 1 {
		vector.Divide(out, n)
	}
	return out
}

func spectrumOf(svec []float64) (*spectrum, error) {
	matrix, dim, err := query.Symmetric(svec)
	if err != nil {
		return nil, err
	}
	return newSpectrum(matrix, dim)
}

// plus returns the matrix V diag(max(values, least)) V' + weight m m', row by row. V diag(values) V' is the
// decomposed matrix s.
func (s *spectrum) plus(m []float64, weight, least float64) []float64 {
	dim := len(s.values)
	sum := timesTurned(s.scaled(func(v float64) float64 { return max(v, least) }), pad(s.vectors.RawMatrix().Data, dim), dim)
	for i, v := range m {
		for j, u := range m {
			sum[i*dim+j] += float64(weight * float64(v*u))
		}
	}
	return sum
}

// worth returns the smallest useful ridge lambda of the preconditioner. It is the solution of
//
//	lambda = over sqrt(2 excess(lambda)/gap).
//
// over is .5, and .35 for a fit that begins at a released base rate, times the ratio of the curvature there to its bound if
// the rows have curves (lab/results/families.md). gap is an upper bound on the initial gap. excess(lambda) is the forecast
// of the excess risk that the noise of the steps leaves. Momentum accumulates noise along directions in which the rows'
// second moment is below lambda, and a larger lambda shortens the steps there. With a lambda below the solution, the noise
// would raise the loss by more than the steps lower it. worth finds the solution by bisection of log lambda between
// leastWorth and mostWorth. If it is outside these limits, worth returns the nearer limit.
func worth(over, gap float64, excess func(lambda float64) float64) float64 {
	return math.Exp(vector.Halve(math.Log(leastWorth), math.Log(mostWorth), 20, func(log float64) bool {
		lambda := math.Exp(log)
		return !(over*math.Sqrt(2*excess(lambda)/gap) > lambda)
	}))
}
