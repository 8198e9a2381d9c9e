package optimize

import "math"

// UpdateRule states how the releases (noisy answers) of a plan become steps and a result. The loops of algorithms
// compute the weights K below from the law, and forecasts simulate the law. A run records the law that it
// actually followed as [Trace]. Certificates store this record and reports read it. UpdateRule is not the limit
// on a run's releases that a store of budgets keeps under the JSON key law: that limit is budget.Limit.
//
// Step t, counted from 0, uses the estimate
//
//	g_t = (1-K_t) g_{t-Back(t)} + release t,   w_{t+1} = Proj(y_t - eta g_t)
//	y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1}))
//
// of the gradient at y_t, where release t is made. Without momentum y_t is w_t. The result is a
// weighted average of y_0, ..., y_{T-1} and w_T, where T is the number of steps.
type UpdateRule struct {
	// StepSize is the size eta of all steps.
	StepSize float64
	// StepSizes, if not nil, gives each step its own size in place of StepSize.
	StepSizes []float64
	// OnePass means that each release uses records that no earlier release used. A release then estimates
	// the gradient of the expected loss over the records' distribution. An average of iterates is over the
	// points to which steps lead, not over the points at which answers are released. Forecasts assume that
	// steps that overshoot are shortened (see [Pace]).
	OnePass bool
	// Guarded means that steps that overshoot are shortened, down to size 1/L1 (see [Pace]). 1/L1 is the
	// longest step that is stable on every table. A default rule that chooses longer steps must set
	// Guarded. If Guarded is set, the only earlier estimate that an estimate may contain is the previous
	// step's.
	Guarded bool
	// Importance is the weight of each step's iterate if the result is an average of iterates. The weight
	// is usually the step's charge.
	Importance []float64
	// A difference of gradients at two points is clipped to a ball. Slope is the radius of this ball
	// if the points have distance 1, and MostRadius is the largest radius at any distance. Both are 0
	// if no differences are released.
	Slope, MostRadius float64
	// Back returns the number of steps from step t back to the step whose estimate step t corrects. nil
	// means that Back is 1 for all steps. A difference of gradients is then between two points that are
	// Back(t) steps apart, and the radius of its ball is Slope times the distance of these points, at most
	// MostRadius.
	Back func(t int) int
	// Momentum returns the factor by which step t repeats the last move w_t - w_{t-1} before its release.
	// It is 0 at t = 0, since there is no earlier move. nil means no momentum.
	Momentum func(t int) float64
	// Metric describes the preconditioner of the run; nil means none. Metric maps an eigenvalue of the
	// data's Hessian to the squared length of the preconditioner times a unit eigenvector with this
	// eigenvalue. The preconditioner is assumed to have the same eigenvectors as the Hessian.
	Metric func(eigenvalue float64) float64
	// Answer describes the release of step t. It returns the weight K of the new gradient in the step's
	// estimate, and fresh, the variance of the release per coordinate. radius is the radius of the ball to
	// which differences are clipped, and last is the error variance of the estimate that step t continues.
	Answer func(t int, radius, last float64) (K float64, fresh Variance)

	weights []float64
}

// Variance is the variance of a noisy answer about the exact value, per coordinate. Noise is the
// variance of the privacy noise. Sampling is an upper bound on the variance that comes from the
// random choice of records.
type Variance struct{ Noise, Sampling float64 }

// Total returns Noise + Sampling.
func (v Variance) Total() float64 { return v.Noise + v.Sampling }

// Weights returns the weights in the result of y_0, ..., y_{T-1}, w_T: the points at which the T
// answers are released, and the last iterate. The output rule Smallest determines its weights only in
// the run, so for it Weights returns the weights of the rule Last.
func (l UpdateRule) Weights() []float64 { return l.weights }

// Eta returns the size of step t.
func (l UpdateRule) Eta(t int) float64 {
	if l.StepSizes != nil {
		return l.StepSizes[t]
	}
	return l.StepSize
}

// Radius returns the radius of the ball to which a difference of gradients is clipped, for two points
// at the given distance.
func (l UpdateRule) Radius(distance float64) float64 { return min(l.Slope*distance, l.MostRadius) }

// Gain returns the weight K in [0, 1] of a new gradient that minimises the variance of the next
// estimate,
//
//	(1-K)^2 P + (K s_a + (1-K) s_d)^2/m.
//
// P is the variance of the last estimate, s_a the sensitivity of a gradient, s_d the sensitivity of a
// difference of gradients, and m the charge of the step. K is the gain of a scalar Kalman filter.
func Gain(P, sa, sd, m float64) float64 {
	k := (P - sd*(sa-sd)/m) / (P + (sa-sd)*(sa-sd)/m)
	if math.IsNaN(k) { // P = 0 and s_a = s_d: every gain has the same variance
		return 0
	}
	return min(max(k, 0), 1)
}
