package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// quarters sums the gradient estimates of the first quarter and of the last quarter of a run's steps. The
// two sums show whether the gradients at the end of the run still differ from noise.
type quarters struct {
	first, last quarter
	// gradient is the norm of the mean estimate of the first k steps. noise is the root mean square norm of
	// the noise in this mean. Of all powers of 2 within the first quarter, k is the one with the largest
	// gradient/noise.
	gradient, noise float64
}

// quarter is the sum of the gradient estimates of some steps, with the variance of the noise in the sum.
type quarter struct {
	sum      []float64
	steps    int
	variance float64 // noise variance of a coordinate of sum
}

// visit adds the gradient estimate g of the run's last step. g includes the regularizer's gradient,
// keep is the share of the previous step's estimate in g, and variance is the noise variance of a
// coordinate of g.
func (l *quarters) visit(r *Run, g []float64, keep, variance float64) {
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
	// An estimate that contains the previous estimate shares its noise. The standard deviations are
	// then added, which is an upper bound.
	if keep == 0 {
		q.variance += variance
	} else {
		q.variance = math.Pow(math.Sqrt(q.variance)+math.Sqrt(variance), 2)
	}
}

// mean returns the norm of the mean of the quarter's estimates and the root mean square norm of the
// noise in this mean.
func (q *quarter) mean() (gradient, noise float64) {
	if q.steps == 0 {
		return 0, 0
	}
	k := float64(q.steps)
	return runrecord.Short(Norm(q.sum) / k), runrecord.Short(math.Sqrt(q.variance*float64(len(q.sum))) / k)
}

func (l *quarters) result() Late {
	if l.last.steps == 0 {
		return Late{}
	}
	result := Late{Steps: l.last.steps, FirstGradient: l.gradient, FirstNoise: l.noise, Coordinates: len(l.last.sum)}
	result.Gradient, result.Noise = l.last.mean()
	return result
}
