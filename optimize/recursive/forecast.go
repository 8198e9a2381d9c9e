package recursive

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// forecast computes the gradient norm and excess risk of Recursive's result on the quadratic that forecasts
// assume, with minimiser w*. Along an eigenvector of eigenvalue e every round is a linear map. Let wbar_t
// be the output of round t and v the minimiser of the round's objective. Let lambda_s be the weight of the
// quadratic around wbar_s in the objectives of later rounds. Let keep be the factor by which a round
// without noise reduces the distance from its start to v. Then
//
//	wbar_t = (1 - keep) v + keep wbar_{t-1} + noise,
//	v - w* = sum_{s<t} lambda_s (wbar_s - w*)/(e + sum_{s<t} lambda_s),
//
// so wbar_t - w* is a known linear combination of w_0 - w* and of the noises of the rounds. If each round
// has its own records, the sampling error of the gradients also counts as noise. Its variance is L0^2
// divided by the round's number of records, distributed over the directions in proportion to their
// curvature. Projections are ignored.
func (r *plan) forecast() optimize.Forecast {
	p := r.Problem()
	directions := forecast.Assumed(p)
	var trace float64 // trace of the Hessian
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

// along returns the expected squared distance between the result and the minimiser along the group e
// of directions. trace is the trace of the Hessian.
func (r *plan) along(e forecast.Direction, trace float64) float64 {
	p := r.Problem()
	l0 := p.Constants.Lipschitz
	scatter := l0 * l0 * e.Eigenvalue / trace // variance of a record's gradient along one direction
	// last has the coefficients of wbar_{t-1} - w*: last[0] for w_0 - w* along the group, and last[t]
	// for the noise of round t. pull has the coefficients of the sum of lambda_s (wbar_s - w*).
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

// response computes how the average of a round depends on the round's start and on noise, along a direction
// of the given curvature. keep is the ratio of the distance from the average to the round's minimiser,
// without noise, to the distance from the start to the minimiser. variance is the variance of the average
// if an answer's noise has variance 1/charge.
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

// response computes how the last phase's release depends on the round's start and on noise, along a
// direction of the given curvature. keep is the ratio of the distance from the release to the round's
// minimiser, without noise, to the distance from the start to the minimiser. variance is the variance of
// the release. Each step uses the gradient of one record. The argument gradient is the variance of such a
// gradient along the direction. The noise of phase i's release has the standard deviation eta_i
// reach/sqrt(charge).
func (s phasedSGD) response(curvature, reach, gradient float64) (keep, variance float64) {
	keep = 1
	for i, size := range s.sizes {
		eta, n := s.step(i), float64(size)
		a := min(eta*curvature, 1)
		// mean is the mean of (1-a)^k over k = 0..n-1, and square is the mean of (1-a)^(2k). The
		// gradient of record k enters the average with the coefficient (1 - (1-a)^(n-k))/(n a); the sum
		// of the squares of these coefficients follows from mean and square.
		mean := -math.Expm1(n*math.Log1p(-a)) / (n * a)
		square := -math.Expm1(2*n*math.Log1p(-a)) / (n * a * (2 - a))
		entering := max(1-2*mean+square, 0) / (n * curvature * curvature)
		keep *= mean
		variance = mean*mean*variance + entering*gradient + math.Pow(eta*reach, 2)/s.charge
	}
	return keep, variance
}
