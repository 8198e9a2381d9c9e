package optimize

import (
	"fmt"
	"math"
)

// Late is what the last quarter of a run's steps found: the length of the mean of
// their released gradients, and the length that noise alone would give it, root mean
// square. In a metric both are measured there.
type Late struct {
	Steps    int     `json:"steps"`
	Gradient float64 `json:"gradient_norm"`
	Noise    float64 `json:"noise"`
}

// Converged reports whether noise explains the late gradients: their mean is at most
// half as long again as noise alone would be.
func (l Late) Converged() bool { return l.Gradient <= 1.5*l.Noise }

// String says so in plain words; it is empty where no noise is known.
func (l Late) String() string {
	switch {
	case l.Steps == 0 || !(l.Noise > 0):
		return ""
	case l.Converged():
		return fmt.Sprintf("yes: the gradients of the last %d steps are noise on average (%.2g, of which noise makes %.2g): more steps would find nothing at this budget", l.Steps, l.Gradient, l.Noise)
	}
	return fmt.Sprintf("not yet: the gradients of the last %d steps are %.2g on average, of which noise makes %.2g: more steps may help", l.Steps, l.Gradient, l.Noise)
}

// late adds up the last quarter of the steps.
type late struct {
	sum      []float64
	steps    int
	variance float64 // of a coordinate of the sum
}

// visit sees the estimate of the step just taken, the regularizer's gradient included,
// how much it keeps of the one before, and the variance of a coordinate's noise in it.
func (l *late) visit(r *Run, g []float64, keep, variance float64) {
	if 4*r.out.seen <= 3*r.plan.summary.Steps {
		return
	}
	if l.sum == nil {
		l.sum = make([]float64, len(g))
	}
	l.steps++
	for j, v := range g {
		l.sum[j] += v
	}
	// What an estimate keeps of the one before makes their noises alike: then
	// deviations are added, which is the most they can come to.
	if keep == 0 {
		l.variance += variance
	} else {
		l.variance = math.Pow(math.Sqrt(l.variance)+math.Sqrt(variance), 2)
	}
}

func (l *late) result() Late {
	if l.steps == 0 {
		return Late{}
	}
	k := float64(l.steps)
	return Late{Steps: l.steps, Gradient: short(Norm(l.sum) / k), Noise: short(math.Sqrt(l.variance*float64(len(l.sum))) / k)}
}
