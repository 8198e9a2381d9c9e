package optimize

import "math"

// Law states how the releases of a plan become steps and a result. Loops choose their gains by it, and
// forecasts follow it. A run records its law as it was run (Realised); certificates store that record
// and reports read it.
//
// Step t, counted from 0, uses the estimate
//
//	g_t = (1-K_t) g_{t-Back(t)} + release t,   w_{t+1} = Proj(y_t - eta g_t)
//	y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1}))
//
// at y_t. Without momentum y_t is w_t. The result is a weighted average of y_0, ..., y_{T-1}, w_T.
type Law struct {
	// StepSize is eta.
	StepSize float64
	// StepSizes, if not nil, gives each step its own size in place of StepSize.
	StepSizes []float64
	// OnePass means three things: each release uses fresh records, so that it estimates the gradient of
	// their distribution; the tail average is over the points that steps reach; and steps that
	// overshoot are shortened.
	OnePass bool
	// Guarded says that steps which overshoot are shortened, down to 1/L1 (see Pace). A rule whose
	// steps are longer than 1/L1, the longest step that is stable on every table, must set it.
	// Estimates then correct the previous estimate only.
	Guarded bool
	// Importance is the weight of each iterate in an average, one number a step; usually the charges.
	Importance []float64
	// Slope is the radius of the ball to which differences of points at distance 1 are clipped.
	// MostRadius is the largest radius of a ball. Both are 0 if no differences are released.
	Slope, MostRadius float64
	// Back returns how many steps ago the estimate was used that step t corrects; nil means 1. The ball
	// of a difference over Back(t) steps has a radius for the length of that many steps.
	Back func(t int) int
	// Momentum returns the factor by which step t repeats the last move before the release. It is 0 at
	// t = 0, which no move precedes. nil means no momentum.
	Momentum func(t int) float64
	// Metric is the preconditioner in which answers are released and steps are made; nil for none. For
	// an eigenvector of the data's Hessian it returns the squared length of the vector in that metric.
	// The metric is assumed to have the eigenvectors of the Hessian.
	Metric func(eigenvalue float64) float64
	// Answer returns the gain K of step t and the fresh variance in a coordinate of the estimate.
	// Differences are clipped to the given radius, and last is the variance of the error in the
	// estimate that step t corrects.
	Answer func(t int, radius, last float64) (K float64, fresh Variance)

	weights []float64
}

// Variance is the variance of a coordinate of an answer around the exact value. Noise is the variance
// of the privacy noise; Sampling is an upper bound on the variance due to which records were drawn.
type Variance struct{ Noise, Sampling float64 }

// Total returns the sum of both.
func (v Variance) Total() float64 { return v.Noise + v.Sampling }

// Weights returns the weights of y_0, ..., y_{T-1}, w_T in the result. The weights of the rule Smallest
// are not known beforehand; Weights returns the weights of Last for it.
func (l Law) Weights() []float64 { return l.weights }

// Eta returns the size of step t.
func (l Law) Eta(t int) float64 {
	if l.StepSizes != nil {
		return l.StepSizes[t]
	}
	return l.StepSize
}

// Radius returns the radius of the ball for points at the given distance.
func (l Law) Radius(distance float64) float64 { return min(l.Slope*distance, l.MostRadius) }

// Gain returns the K that minimises (1-K)^2 P + (K s_a + (1-K) s_d)^2/m, the variance of the next
// estimate. P is the variance of the last estimate, s_a the sensitivity of a gradient, s_d the
// sensitivity of a difference, and m the charge of the step. K is the gain of a scalar Kalman filter.
func Gain(P, sa, sd, m float64) float64 {
	k := (P - sd*(sa-sd)/m) / (P + (sa-sd)*(sa-sd)/m)
	if math.IsNaN(k) { // P = 0 and s_a = s_d: any gain serves
		return 0
	}
	return min(max(k, 0), 1)
}
