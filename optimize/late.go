package optimize

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

// late adds up the first and the last quarter of the steps.
type late struct {
	first, last quarter
	// gradient and noise are of the first steps, when the former was longest beside
	// the latter.
	gradient, noise float64
}

// quarter is the sum of some steps' estimates.
type quarter struct {
	sum      []float64
	steps    int
	variance float64 // of a coordinate of the sum
}

// visit sees the estimate of the step just taken, the regularizer's gradient included,
// how much it keeps of the one before, and the variance of a coordinate's noise in it.
func (l *late) visit(r *Run, g []float64, keep, variance float64) {
	if 4*(r.out.seen-1) < r.plan.summary.Steps {
		l.first.add(g, variance, keep)
		if k := l.first.steps; k&(k-1) == 0 {
			if gradient, noise := l.first.mean(); gradient*l.noise >= l.gradient*noise {
				l.gradient, l.noise = gradient, noise
			}
		}
	}
	if 4*r.out.seen > 3*r.plan.summary.Steps {
		l.last.add(g, variance, keep)
	}
}

func (q *quarter) add(g []float64, variance, keep float64) {
	if q.sum == nil {
		q.sum = make([]float64, len(g))
	}
	q.steps++
	for j, v := range g {
		q.sum[j] += v
	}
	// An estimate that keeps some of the one before shares its noise: then deviations
	// are added, which is the most they can come to.
	if keep == 0 {
		q.variance += variance
	} else {
		q.variance = math.Pow(math.Sqrt(q.variance)+math.Sqrt(variance), 2)
	}
}

// mean is the length of the mean estimate and of the noise in it.
func (q *quarter) mean() (gradient, noise float64) {
	if q.steps == 0 {
		return 0, 0
	}
	k := float64(q.steps)
	return short(Norm(q.sum) / k), short(math.Sqrt(q.variance*float64(len(q.sum))) / k)
}

func (l *late) result() Late {
	if l.last.steps == 0 {
		return Late{}
	}
	result := Late{Steps: l.last.steps, FirstGradient: l.gradient, FirstNoise: l.noise, Coordinates: len(l.last.sum)}
	result.Gradient, result.Noise = l.last.mean()
	return result
}
