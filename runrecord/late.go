package runrecord

import (
	"fmt"
	"math"
)

// Late is what the last quarter of a run's steps found: the length of the mean of their
// released gradients, and the root mean square of the length that noise alone would give
// it. In a metric both are measured there.
type Late struct {
	Steps    int     `json:"steps"`
	Gradient float64 `json:"gradient_norm"`
	Noise    float64 `json:"noise"`
	// FirstGradient and FirstNoise are the same of the first steps, as many of the first
	// quarter (a power of two) as make the gradient longest beside its noise; Coordinates
	// is how many these vectors have. They are zero in certificates of earlier versions.
	FirstGradient float64 `json:"first_gradient_norm,omitempty"`
	FirstNoise    float64 `json:"first_noise,omitempty"`
	Coordinates   int     `json:"coordinates,omitempty"`
}

// begins reports whether the first gradients are longer than noise explains: its length
// varies by a share of 1/sqrt(2 Coordinates), and seldom by more than three of them.
func (l Late) begins() bool {
	return l.Coordinates == 0 || l.FirstGradient > l.FirstNoise*(1+3/math.Sqrt(2*float64(l.Coordinates)))
}

// Arrival is what late gradients say of a run.
type Arrival int

const (
	// Untold: noise is not known, or the run is too small or too short to tell.
	Untold Arrival = iota
	// NoiseOnly: noise explains the gradients from the first steps on.
	NoiseOnly
	// Arrived: noise explains the late gradients, and did not explain the first ones.
	Arrived
	// NotArrived: the late gradients are longer than noise explains.
	NotArrived
)

const (
	// explained is how many times as long as noise alone a late gradient may be that
	// noise explains.
	explained = 1.5
	// fewSteps are too few to tell, and so is an effective size below SmallSize.
	fewSteps = 8
)

// SmallSize is the effective size N below which a table is too small, or a budget, for a
// useful model.
const SmallSize = 30

// Arrival says whether a run of so many steps at that effective size got to where more
// steps would only add noise.
func (l Late) Arrival(steps int, effective float64) Arrival {
	switch {
	case l.Steps == 0 || !(l.Noise > 0) || steps < fewSteps || !(effective >= SmallSize):
		return Untold
	case l.Gradient > explained*l.Noise:
		return NotArrived
	case !l.begins():
		return NoiseOnly
	}
	return Arrived
}

// Text says so in plain words; it is empty where no noise is known.
func (l Late) Text(steps int, effective float64) string {
	late := fmt.Sprintf("the gradients of the last %d steps are %.2g on average, of which noise makes %.2g", l.Steps, l.Gradient, l.Noise)
	switch l.Arrival(steps, effective) {
	case NoiseOnly:
		return fmt.Sprintf("noise only: the gradients are no longer than their noise from the first steps on (%.2g, of which noise makes %.2g)", l.FirstGradient, l.FirstNoise)
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
