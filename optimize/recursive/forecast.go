package recursive

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// forecast computes the effect of Recursive on the quadratic that forecasts assume. Along an
// eigenvector of eigenvalue e every round is a linear map. With v the minimiser of the round's
// objective and keep the share of its start that the round's output retains,
//
//	wbar_t = (1 - keep) v + keep wbar_{t-1} + noise,
//	v - w* = sum_{s<t} lambda_s (wbar_s - w*)/(e + sum_{s<t} lambda_s),
//
// so that wbar_t - w* is a known combination of w_0 - w* and of the rounds' noises. If rounds have
// their own records, the sampling error of the gradients counts as noise, too: its variance is L0^2
// divided by the number of records, spread like the curvature. Projections are left out.
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

// along returns the expected square of the output's distance from w* along a group of directions.
func (r *plan) along(e forecast.Direction, trace float64) float64 {
	p := r.Problem()
	l0 := p.Constants.Lipschitz
	scatter := l0 * l0 * e.Eigenvalue / trace // variance of a record's gradient along a direction
	// last holds the coefficients of wbar_{t-1} - w*: first of w_0 - w* along the group, then of
	// the noise of rounds 1, 2, ...; pull holds the coefficients of the sum of lambda_s wbar_s.
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

// response returns, for a direction of the given curvature, the share of the start that the average
// retains, and the variance of the average if the answers' noise has variance 1/charge.
func (s noisyGD) response(curvature float64) (keep, variance float64) {
	q := math.Abs(1 - min(s.eta*curvature, 2))
	var weights float64 // sum of the weights of points k to K, relative to the weight of point K
	weight := 1.
	// pull is the sum over k >= j of weight_k q^(k-j), for j = K, ..., 1. It is the coefficient of
	// step j's noise in the sum of weighted points.
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

// response returns the same for phased SGD. Each step sees one record's gradient, whose variance is
// gradient. The release of phase i has sensitivity eta_i times reach.
func (s phasedSGD) response(curvature, reach, gradient float64) (keep, variance float64) {
	keep = 1
	for i, size := range s.sizes {
		eta, n := s.step(i), float64(size)
		a := min(eta*curvature, 1)
		// mean is the mean of (1-a)^k, k = 0..n-1, and square the mean of its square. They give the
		// coefficients (1 - (1-a)^(n-k))/(n a) of the gradients k.
		mean := -math.Expm1(n*math.Log1p(-a)) / (n * a)
		square := -math.Expm1(2*n*math.Log1p(-a)) / (n * a * (2 - a))
		entering := max(1-2*mean+square, 0) / (n * curvature * curvature)
		keep *= mean
		variance = mean*mean*variance + entering*gradient + math.Pow(eta*reach, 2)/s.charge
	}
	return keep, variance
}
