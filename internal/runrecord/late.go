package runrecord

import (
	"fmt"
	"math"
)

// Late describes the last quarter of a run's steps. Steps is the number of these steps. Gradient is
// the length of the mean of their released gradients. Noise is the root mean square of the length
// that this mean would have if the released gradients were noise alone. If the run used a metric
// (preconditioner), both lengths are measured in the metric.
type Late struct {
	Steps    int     `json:"steps"`
	Gradient float64 `json:"gradient_norm"`
	Noise    float64 `json:"noise"`
	// FirstGradient and FirstNoise are the same lengths, of the mean gradient and of its noise, for the
	// first steps. The number of these steps is the power of two, within the first quarter, for which the
	// ratio of FirstGradient to FirstNoise is largest. Coordinates is the number of coordinates of a
	// gradient. The three fields are zero in certificates of earlier versions.
	FirstGradient float64 `json:"first_gradient_norm,omitempty"`
	FirstNoise    float64 `json:"first_noise,omitempty"`
	Coordinates   int     `json:"coordinates,omitempty"`
}

// begins reports whether the mean of the first gradients is longer than noise explains. It is true if Coordinates is 0,
// as in certificates of earlier versions. The length of noise alone has a relative standard deviation of 1/sqrt(2
// Coordinates). The limit is three of these standard deviations above FirstNoise.
func (l Late) begins() bool {
	return l.Coordinates == 0 || l.FirstGradient > l.FirstNoise*(1+3/math.Sqrt(2*float64(l.Coordinates)))
}

// Arrival says whether the steps of a run reached the point after which more steps would only add
// noise.
type Arrival int

const (
	// Untold means that nothing can be said: the noise is not known, or the run has fewer than 8
	// steps or a signal-to-noise size below [SmallSize].
	Untold Arrival = iota
	// NoiseOnly means that noise explains the late gradients and the first gradients.
	NoiseOnly
	// Arrived means that noise explains the late gradients, but not the first gradients.
	Arrived
	// NotArrived means that the late gradients are longer than noise explains.
	NotArrived
)

const (
	// explained is the largest ratio of the late gradient's length to its noise's length at which the
	// noise is taken to explain the gradient.
	explained = 1.5
	// fewSteps is the number of steps below which the Arrival is Untold. The Arrival is also Untold
	// if the signal-to-noise size (records times mu, over sqrt(coefficients)) is below SmallSize.
	fewSteps = 8
)

// SmallSize is a limit on the effective size of a fit, which is the signal-to-noise ratio records times mu over
// sqrt(coefficients). Below SmallSize the table or the budget is too small for a useful model.
const SmallSize = 30

// Arrival says whether a run reached the point after which more steps would only add noise. steps
// is the run's number of steps, and effective its signal-to-noise size, records times mu over
// sqrt(coefficients). better means that the run's result was released to be better than the constant at which it
// began, so that it moved, whatever the noise of single steps.
func (l Late) Arrival(steps int, effective float64, better bool) Arrival {
	switch {
	case l.Steps == 0 || !(l.Noise > 0) || steps < fewSteps || !(effective >= SmallSize):
		return Untold
	case l.Gradient > explained*l.Noise:
		return NotArrived
	case !l.begins() && !better:
		return NoiseOnly
	}
	return Arrived
}

// Text says Arrival(steps, effective, better) in a sentence and adds the lengths that decided it. It returns "" if
// l.Steps is 0 or l.Noise is not > 0.
func (l Late) Text(steps int, effective float64, better bool) string {
	late := fmt.Sprintf("the gradients of the last %d steps are %.2g on average, of which noise makes %.2g", l.Steps,
		l.Gradient, l.Noise)
	switch l.Arrival(steps, effective, better) {
	case NoiseOnly:
		return fmt.Sprintf("single steps show noise only, which says nothing of the model that they made together: the gradients of "+
			"the first steps are %.2g on average, of which noise makes %.2g", l.FirstGradient, l.FirstNoise)
	case Arrived:
		return "more steps would only add noise: " + late
	case NotArrived:
		return fmt.Sprintf("not arrived: %s: another %d steps may help at this budget", late, steps)
	}
	if l.Steps == 0 || !(l.Noise > 0) {
		return ""
	}
	return fmt.Sprintf("%d steps at effective size N = %.0f are too few to tell whether more would help", steps, effective)
}
