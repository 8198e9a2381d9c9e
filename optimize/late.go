package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/runrecord"
)

// late sums the estimates of the first quarter and of the last quarter of the steps.
type late struct {
	first, last quarter
	// gradient and noise are the norm of the mean estimate of the first k steps and the norm of its
	// noise, for the k at which their ratio was largest.
	gradient, noise float64
}

// quarter is the sum of the estimates of some steps.
type quarter struct {
	sum      []float64
	steps    int
	variance float64 // of a coordinate of the sum
}

// visit adds the estimate of the step just made. g includes the regularizer's gradient, keep is the
// share of the previous estimate in it, and variance is the variance of a coordinate's noise.
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
	// An estimate that keeps part of the one before shares its noise. Standard deviations are then
	// added, which is an upper bound.
	if keep == 0 {
		q.variance += variance
	} else {
		q.variance = math.Pow(math.Sqrt(q.variance)+math.Sqrt(variance), 2)
	}
}

// mean returns the norm of the mean estimate and the norm of the noise in it (root mean square).
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
