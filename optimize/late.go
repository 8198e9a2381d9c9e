package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/runrecord"
)

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
	return runrecord.Short(Norm(q.sum) / k), runrecord.Short(math.Sqrt(q.variance*float64(len(q.sum))) / k)
}

func (l *late) result() Late {
	if l.last.steps == 0 {
		return Late{}
	}
	result := Late{Steps: l.last.steps, FirstGradient: l.gradient, FirstNoise: l.noise, Coordinates: len(l.last.sum)}
	result.Gradient, result.Noise = l.last.mean()
	return result
}
