package optimize

import "math"

// Law is how the releases of a plan become steps and a result, said once: loops
// choose their gains by it, forecasts follow it, and a run writes it down as it
// was realised (Realised), which certificates keep and reports read.
//
// Step t, counted from 0, uses the estimate
//
//	g_t = (1-K_t) g_{t-Back(t)} + release t,   w_{t+1} = Proj(y_t - eta g_t)
//	y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1}))
//
// at y_t, which is w_t where there is no momentum, and the result is a weighted
// average of y_0, ..., y_{T-1}, w_T.
type Law struct {
	// StepSize is eta.
	StepSize float64
	// StepSizes, if not nil, are those of the steps, in place of one eta.
	StepSizes []float64
	// OnePass says that each release has fresh records, so that what it
	// estimates is the gradient of their distribution; that the tail average is
	// of the points that steps reach; and that steps which overshoot are
	// shortened.
	OnePass bool
	// Guarded says that steps which overshoot are shortened, down to 1/L1 (see Pace).
	// Rules whose steps are longer than that, which alone is stable on every table,
	// say so; estimates then correct the last one only.
	Guarded bool
	// Importance is what iterates weigh in an average, one a step: the charges,
	// mostly.
	Importance []float64
	// Slope is the radius of the ball that differences of points at distance 1
	// are clipped to, and no ball is larger than MostRadius. Both are 0 where no
	// differences are asked for.
	Slope, MostRadius float64
	// Back is how many steps ago the estimate was used that step t corrects; nil
	// means 1. A difference over Back(t) steps has a ball of so many steps'
	// length.
	Back func(t int) int
	// Momentum is how much of the last move step t makes again before it asks, 0 at
	// t = 0, before which there is none; nil means no momentum.
	Momentum func(t int) float64
	// Metric says, of an eigenvector of the data's Hessian, the square of the length
	// that the metric gives it in which answers are released and steps are taken; nil
	// where there is none. The metric is taken to have the Hessian's eigenvectors.
	Metric func(eigenvalue float64) float64
	// Answer says of step t, with differences clipped to the given radius, and
	// with last the error's variance in the estimate that is corrected, what the
	// gain K is and how much fresh variance a coordinate of the estimate gets.
	Answer func(t int, radius, last float64) (K float64, fresh Variance)

	weights []float64
}

// Variance is that of an answer about its exact value, a coordinate: of the
// noise, and, at most, of which records were drawn.
type Variance struct{ Noise, Sampling float64 }

// Total is the sum.
func (v Variance) Total() float64 { return v.Noise + v.Sampling }

// Weights returns the weight in the result of y_0, ..., y_{T-1}, w_T. Smallest has no
// weights beforehand; it is taken for Last.
func (l Law) Weights() []float64 { return l.weights }

// Eta returns the size of step t.
func (l Law) Eta(t int) float64 {
	if l.StepSizes != nil {
		return l.StepSizes[t]
	}
	return l.StepSize
}

// Radius returns that of the ball for points at a distance.
func (l Law) Radius(distance float64) float64 { return min(l.Slope*distance, l.MostRadius) }

// Gain returns the K that minimises (1-K)^2 P + (K s_a + (1-K) s_d)^2/m: the
// variance of the next estimate given that of the last, P, what a gradient and a
// difference can move, and the step's charge. It is that of a scalar Kalman
// filter.
func Gain(P, sa, sd, m float64) float64 {
	k := (P - sd*(sa-sd)/m) / (P + (sa-sd)*(sa-sd)/m)
	if math.IsNaN(k) { // P = 0 and s_a = s_d: any gain serves
		return 0
	}
	return min(max(k, 0), 1)
}
