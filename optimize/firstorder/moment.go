package firstorder

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// centring plans the release of the rows' second moment for rows that lie near each other. The moment
// is released about a released mean row m, of rows whose distance from m is shortened to R at most.
//
//	m   = mean x_i + noise                                          .15 of the share
//	rho = mean min(||x_i - m||^2, 1) + noise                        .02
//	R   = min(1.15 max(1, (N/200)^(1/4)) sqrt(max(rho + 2 sigma, .01)), 1), sigma being rho's noise
//	C   = mean z_i z_i' + noise,   z_i = x_i - m shortened to R     the rest
//	Gt  = C_+ + 3 m m'
//
// The noise in C is R^2 times the noise in mean x x', and so is the largest eigenvalue of the noise
// (its edge), which lambda must reach. The noise therefore hides fewer directions. It hides few of them
// for N above 1000, and for N below 50 m is noise: in both cases mean x x' is released as it is. The
// query for C costs d^2/2 operations a row, however many cells are zero. If that is too much for a fit
// (mostPairWork), mean x x' is released as well.
//
// # Why a step of 1/b is stable
//
// Let A = mean (x_i - m)(x_i - m)', d = mean x_i - m the noise in m, and G = mean x_i x_i'. Then G = A
// + m m' + d m' + m d'. Also A >= d d', since a second moment is at least the square of its mean. With
// d m' + m d' <= 3 m m' + d d'/3,
//
//	G <= (4/3) A + 4 m m' = (4/3) (A + 3 m m').
//
// If no row is farther than R from m, C is A plus noise, and C_+ + lambda I >= A if lambda is at least
// the edge of the noise. Then P G P <= (4/3) I for P = (Gt + lambda I)^(-1/2), whatever the table and
// the noise in m. Nesterov's momentum t/(t+3) is stable if the curvature times the step is below 4/3
// and a little more (2(1+beta)/(1+2beta) > 4/3). With m m' in place of 3 m m', P G P was up to 1.6 on
// real tables.
//
// If rows are shortened, A exceeds mean z z' by the lost part, a factor of ((1+||m||)/R)^2 at most.
// That P G P stays below 4/3 in this case is not proved but measured (results/outcome.md). For this
// measurement R grows with N and is not reduced by the noise in rho.
type centring struct {
	mean, spread float64 // charges
	reach        float64 // R over the root mean squared distance
}

// Constants of the rule for centring.
const (
	leastCentred, mostCentred = 50, 1000 // N
	meanShare, spreadShare    = .15, .02 // of the second moment's charge
	reachLeast, reachFrom     = 1.15, 200
	leastSpread               = .01
	spreadNoise               = 2       // deviations of the noise in rho that are added to it
	meanWeight                = 3       // of m m' in Gt
	usualSpread               = .35     // rho, as forecasts take it
	mostPairWork              = 1 << 34 // n d^2
	worthOver                 = .5
	leastWorth, mostWorth     = 1e-6, 10. // lambda: no row varies by more than 1
)

// centres reports whether the second moment is released about the mean. Losses whose Lipschitz constant
// is a clip, and smoothed losses, were worse with it. It was not measured for several margins.
func centres(p optimize.Problem) bool {
	d := float64(p.Shape.Features)
	return weighs(p) && p.Effective() >= leastCentred && p.Records*d*d <= mostPairWork
}

// weighs reports whether lambda is also set by what a direction is worth (see worth): for N below 1000,
// where lambda is large compared with the rows' variation. With falling radii this was better on some
// tables and worse on others.
func weighs(p optimize.Problem) bool {
	return p.Effective() < mostCentred && !p.Constants.Clipped && !p.Smoothing.On() && p.Shape.Margins == 1
}

// newCentring plans centring and subtracts its charges from the second moment's. It returns nil if the
// problem is not centred.
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

// passes returns the number of additional passes over the table.
func (c *centring) passes() float64 {
	if c == nil {
		return 0
	}
	return 2
}

// expectedEdge returns the edge of the second moment's noise that forecasts assume.
func (g *preconditionedPlan) expectedEdge(p optimize.Problem) float64 {
	edge := edgeOf(p, math.Sqrt(p.Neighbours())/p.Records/math.Sqrt(g.moment))
	if g.centre != nil {
		r := g.centre.radius(usualSpread, p.Neighbours()/2/p.Records/math.Sqrt(g.centre.spread))
		edge *= r * r
	}
	return edge
}

// least returns the lambda that steps use, without the regularizer's part: the edge of the noise and,
// with few records, at least the lambda that directions are worth (see worth). effective returns d_eff
// for a lambda. excess returns the excess risk that the noise of a law leaves.
func (g *preconditionedPlan) least(edge float64, effective func(lambda float64) float64, excess func(optimize.Problem, optimize.Law) float64) float64 {
	p, law := g.Problem(), g.Law()
	if !weighs(p) {
		return edge
	}
	return max(edge, worth(p.Constants.InitialGap, func(lambda float64) float64 {
		g.foresee(&law, p, lambda, max(effective(lambda), leastCount))
		return excess(p, law)
	}))
}

// radius returns R for a released mean squared distance and the standard deviation sigma of its noise.
func (c *centring) radius(spread, sigma float64) float64 {
	return min(c.reach*math.Sqrt(max(spread+spreadNoise*sigma, leastSpread)), 1)
}

// released is a second moment as a run released it.
type released struct {
	*spectrum
	edge float64   // of the spectrum of the noise
	seen []float64 // eigenvalues with the noise in them, negative ones included
	// about is the released second moment about the mean row, sigma the standard deviation of the noise
	// in an entry of its diagonal, and mean the released mean row. Without centring the moment is about
	// 0 and mean is nil.
	about     []float64
	sigma     float64
	mean      []float64
	meanSigma float64
}

// record returns the release in the form that certificates store, with the ridge of the metric.
func (r released) record(ridge float64) *optimize.Moment {
	m := optimize.NewMoment(r.about, len(r.values), r.sigma, ridge)
	if m.Rows != nil && r.mean != nil {
		m.Mean, m.MeanSigma, m.MeanWeight = r.mean, r.meanSigma, meanWeight
	}
	return m
}

// release releases the second moment, with one query, or with three if it is centred.
func (g *preconditionedPlan) release(run *optimize.Run) (released, error) {
	p := g.Problem()
	if g.centre == nil {
		answer, err := run.Ask(g.moment, query.SecondMomentOf(run.All(), p.Shape.Features))
		if err != nil {
			return released{}, err
		}
		s, err := spectrumOf(answer.Mean)
		if err != nil {
			return released{}, err
		}
		return released{s, edgeOf(p, answer.Sigma), s.values, s.matrix, answer.Sigma, nil, 0}, nil
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

// within returns a copy of a mean row, shortened to length 1: no row is longer than 1.
func within(m []float64) []float64 {
	out := append([]float64(nil), m...)
	if n := optimize.Norm(m); n > 1 {
		for j := range out {
			out[j] /= n
		}
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

// plus returns the matrix with the eigenvalues below least raised to least, plus weight m m'.
func (s *spectrum) plus(m []float64, weight, least float64) []float64 {
	dim := len(s.values)
	var scaled, sum mat.Dense
	scaled.Apply(func(_, k int, v float64) float64 { return v * max(s.values[k], least) }, &s.vectors)
	sum.Mul(&scaled, s.vectors.T())
	v := mat.NewVecDense(dim, append([]float64(nil), m...))
	sum.RankOne(&sum, weight, v, v)
	return sum.RawMatrix().Data
}

// worth returns the lambda below which directions cost more in noise than they can gain: half of sqrt(2
// E/F0). E is the forecast excess risk that the noise of the steps leaves, for rows that vary as
// released and a clip of kappa times the usual root mean square. Momentum sums noise along directions
// that vary by less than lambda, and a larger lambda shortens steps along them. Bisection of the
// logarithm of lambda solves the equation.
func worth(gap float64, excess func(lambda float64) float64) float64 {
	lo, hi := math.Log(leastWorth), math.Log(mostWorth)
	for range 20 {
		middle := (lo + hi) / 2
		if lambda := math.Exp(middle); worthOver*math.Sqrt(2*excess(lambda)/gap) > lambda {
			lo = middle
		} else {
			hi = middle
		}
	}
	return math.Exp(hi)
}
