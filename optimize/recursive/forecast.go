package recursive

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// forecast follows what Recursive does to the quadratic that predictions assume.
// Along an eigenvector of eigenvalue e every round is a linear map: with v the
// minimiser of its objective and keep what its output retains of the start,
//
//	wbar_t = (1 - keep) v + keep wbar_{t-1} + noise,
//	v - w* = sum_{s<t} lambda_s (wbar_s - w*)/(e + sum_{s<t} lambda_s),
//
// so that wbar_t - w* is a known combination of w_0 - w* and of the rounds'
// noises. Where rounds have records of their own the sampling error of their
// gradients counts as noise, too: L0^2 over their number, spread like the
// curvature. Projections are left out.
func (r *plan) forecast() optimize.Forecast {
	p := r.Problem()
	directions := forecast.Assumed(p)
	var trace float64 // of the Hessian
	for _, e := range directions {
		trace += e.Share * float64(p.Dim()) * e.Eigenvalue
	}
	var f optimize.Forecast
	for _, e := range directions {
		square := r.along(e, trace)
		f.Gradient += e.Eigenvalue * e.Eigenvalue * square
		f.Excess += e.Eigenvalue / 2 * square
	}
	l0 := p.Constants.Lipschitz
	f.Population = math.Sqrt(f.Gradient + l0*l0/p.Records)
	f.Gradient = math.Sqrt(f.Gradient)
	return f
}

// along returns the square of the distance to expect of the output from w* along
// a group of directions.
func (r *plan) along(e forecast.Direction, trace float64) float64 {
	p := r.Problem()
	l0 := p.Constants.Lipschitz
	scatter := l0 * l0 * e.Eigenvalue / trace // variance of a record's gradient
	// last says what wbar_{t-1} - w* is made of: first w_0 - w* along the group,
	// then the noise of round 1, 2, ...; pull is the sum of lambda_s wbar_s.
	last, pull := make([]float64, len(r.rounds)+1), make([]float64, len(r.rounds)+1)
	last[0] = e.Gradient / e.Eigenvalue
	var strength float64
	for t, round := range r.rounds {
		strength += round.centre
		curvature := e.Eigenvalue + strength
		var keep, variance float64
		if round.phased != nil {
			keep, variance = round.phased.response(curvature, p.Neighbours()*l0, scatter)
		} else {
			keep, variance = round.gd.response(curvature)
			variance *= math.Pow(p.Neighbours()*l0/round.size, 2)
			if r.disjoint {
				variance += math.Pow((1-keep)/curvature, 2) * scatter / round.size
			}
		}
		for i := range last {
			pull[i] += round.centre * last[i]
			last[i] = (1-keep)*pull[i]/curvature + keep*last[i]
		}
		last[t+1] = math.Sqrt(variance)
	}
	square := last[0] * last[0]
	for _, v := range last[1:] {
		square += v * v * e.Share * float64(p.Dim())
	}
	return square
}

// response returns, along a direction of the given curvature, what the average
// retains of the start, and its variance for answers with noise of variance
// 1/charge.
func (s noisyGD) response(curvature float64) (keep, variance float64) {
	q := math.Abs(1 - min(s.eta*curvature, 2))
	var weights float64 // of the points from k on, in units of that of point K
	weight := 1.
	// pull is the sum over k >= j of weight_k q^(k-j), by which the noise of step j
	// enters the sum of weighted points, for j = K, ..., 1.
	var pull, squares float64
	for range s.steps {
		pull = weight + q*pull
		squares += pull * pull
		weights += weight
		weight *= 1 - s.decay
	}
	keep = q * pull / weights
	return keep, s.eta * s.eta * squares / (weights * weights * s.charge)
}

// response is the same for phases. Each of their steps sees one record's gradient,
// of the given variance; the release of phase i has sensitivity eta_i times reach.
func (s phasedSGD) response(curvature, reach, gradient float64) (keep, variance float64) {
	keep = 1
	for i, size := range s.sizes {
		eta, n := s.step(i), float64(size)
		a := min(eta*curvature, 1)
		// The mean of (1-a)^k, k = 0..n-1, and of the squares of the coefficients
		// (1 - (1-a)^(n-k))/(n a) by which gradient k enters.
		mean := -math.Expm1(n*math.Log1p(-a)) / (n * a)
		square := -math.Expm1(2*n*math.Log1p(-a)) / (n * a * (2 - a))
		entering := max(1-2*mean+square, 0) / (n * curvature * curvature)
		keep *= mean
		variance = mean*mean*variance + entering*gradient + math.Pow(eta*reach, 2)/s.charge
	}
	return keep, variance
}
