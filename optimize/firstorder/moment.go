package firstorder

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// centring is how the second moment of rows is released where they lie near each other:
// about a released mean row m, of rows shortened to a length R around it.
//
//	m   = mean x_i + noise                                          .15 of the share
//	rho = mean min(||x_i - m||^2, 1) + noise                        .02
//	R   = min(1.15 max(1, (N/200)^(1/4)) sqrt(max(rho + 2 sigma, .01)), 1), sigma being rho's noise
//	C   = mean z_i z_i' + noise,   z_i = x_i - m shortened to R     the rest
//	Gt  = C_+ + 3 m m'
//
// The noise in C is R^2 times that of mean x x', and so is the edge of its spectrum, which
// lambda has to be: where noise hides directions, fewer are hidden. From an N of 1000 on it
// hides few, and below 50 m is noise: there mean x x' is released as it is. What is asked
// takes d^2/2 operations a row whatever is zero in it; where that is too much for a fit,
// mean x x' is released, too.
//
// # Why a step of 1/b is stable
//
// Let A = mean (x_i - m)(x_i - m)', d = mean x_i - m the noise in m, and G = mean x_i x_i'.
// Then G = A + m m' + d m' + m d', and A >= d d', since a second moment is at least the
// square of its mean. With d m' + m d' <= 3 m m' + d d'/3,
//
//	G <= (4/3) A + 4 m m' = (4/3) (A + 3 m m').
//
// Where no row is longer than R around m, C is A and noise, and C_+ + lambda I >= A if
// lambda is at least the edge of that noise: P G P <= (4/3) I for P = (Gt + lambda I)^(-1/2),
// whatever the table and the noise in m. Nesterov's momentum t/(t+3) is stable where the
// curvature times the step is below 4/3 and a little more (2(1+beta)/(1+2beta) > 4/3).
// With m m' in place of 3 m m' P G P was up to 1.6 on real tables.
//
// Where rows are shortened, A exceeds mean z z' by what they lose: by a factor of
// ((1+||m||)/R)^2 at the very most. That P G P stays below 4/3 there is measured only
// (results/outcome.md); it is for that measurement's sake that R grows with N, and is not
// shortened by the noise in rho.
type centring struct {
	mean, spread float64 // charges
	reach        float64 // R over the root mean squared distance
}

// Figures of the rule for centring.
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

// centres reports whether the second moment is released about the mean. Losses whose
// Lipschitz constant is a clip, and losses that are smoothed, were worse with it; of several
// margins it was not measured.
func centres(p optimize.Problem) bool {
	d := float64(p.Shape.Features)
	return weighs(p) && p.Effective() >= leastCentred && p.Records*d*d <= mostPairWork
}

// weighs reports whether lambda is weighed against what directions are worth: where lambda
// is large beside what rows vary by. With falling radii it was better on some tables and
// worse on others.
func weighs(p optimize.Problem) bool {
	return p.Effective() < mostCentred && !p.Constants.Clipped && !p.Smoothing.On() && p.Shape.Margins == 1
}

// newCentring plans centring, nil where there is none, and takes its charges from the second
// moment's.
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

// passes is how many passes more it takes.
func (c *centring) passes() float64 {
	if c == nil {
		return 0
	}
	return 2
}

// expectedEdge is what forecasts take the edge of the second moment's noise for.
func (g *preconditionedPlan) expectedEdge(p optimize.Problem) float64 {
	edge := edgeOf(p, math.Sqrt(p.Neighbours())/p.Records/math.Sqrt(g.moment))
	if g.centre != nil {
		r := g.centre.radius(usualSpread, p.Neighbours()/2/p.Records/math.Sqrt(g.centre.spread))
		edge *= r * r
	}
	return edge
}

// least is the lambda that steps take but for a regularizer: the edge of the noise and, with
// few records, no less than what a direction is worth. effective is d_eff by lambda, excess
// what the noise of a law leaves.
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

// radius is R for a released mean squared distance of noise sigma.
func (c *centring) radius(spread, sigma float64) float64 {
	return min(c.reach*math.Sqrt(max(spread+spreadNoise*sigma, leastSpread)), 1)
}

// released is a second moment as a run knows it.
type released struct {
	*spectrum
	edge float64   // of the spectrum of the noise
	seen []float64 // eigenvalues with the noise in them, negative ones included
	// What was released: the second moment about the mean row, with noise of deviation sigma in
	// an entry of its diagonal, and the mean row; about 0 and nil without centring.
	about     []float64
	sigma     float64
	mean      []float64
	meanSigma float64
}

// record is the release as certificates keep it, with the ridge of the metric.
func (r released) record(ridge float64) *optimize.Moment {
	m := optimize.NewMoment(r.about, len(r.values), r.sigma, ridge)
	if m.Rows != nil && r.mean != nil {
		m.Mean, m.MeanSigma, m.MeanWeight = r.mean, r.meanSigma, meanWeight
	}
	return m
}

// release asks for the second moment: in one question, or in the three of centring.
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

// within is a mean row, shortened to length 1: no row is longer.
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

// plus returns the matrix whose spectrum this is, with values below least raised to it, plus
// weight m m'.
func (s *spectrum) plus(m []float64, weight, least float64) []float64 {
	dim := len(s.values)
	var scaled, sum mat.Dense
	scaled.Apply(func(_, k int, v float64) float64 { return v * max(s.values[k], least) }, &s.vectors)
	sum.Mul(&scaled, s.vectors.T())
	v := mat.NewVecDense(dim, append([]float64(nil), m...))
	sum.RankOne(&sum, weight, v, v)
	return sum.RawMatrix().Data
}

// worth is the lambda below which directions cost more in noise than they can gain: half of
// sqrt(2 E/F0), E being the excess risk that the noise of the steps leaves where rows vary
// as released, by the forecast, with a clip of kappa times the usual root mean square. Momentum
// adds up noise along directions that vary by less than lambda, and a larger lambda makes
// steps along them shorter. The equation is solved by halving the interval of its logarithm.
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
