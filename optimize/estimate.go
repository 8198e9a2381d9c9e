package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Answer is a noisy answer as a run returns it to an algorithm. The algorithm may read and change Mean. The
// run computes gradient estimates from a copy of Mean that it keeps for itself.
type Answer struct {
	query.Release
	own *given
}

// given is the run's own copy of a noisy answer. gradients is the sum of the weights of the gradient terms
// in the answer's query (see gradientsOf). used means that an estimate already contains the answer.
type given struct {
	mean      []float64
	sigma     float64
	gradients float64
	used      bool
}

func newAnswer(a query.Release, gradients float64) Answer {
	return Answer{Release: a, own: &given{mean: append([]float64(nil), a.Mean...), sigma: a.Sigma, gradients: gradients}}
}

// gradientsOf returns how many gradients a query with these terms adds up: the sum of the weights of its gradient
// terms. A difference of gradients counts as 0, since adding it turns the gradient at one point into the gradient at
// another. If a term is neither a gradient nor a difference, the number is not known and gradientsOf returns NaN.
func gradientsOf(terms []query.Term) float64 {
	sum := 0.
	for _, t := range terms {
		switch t.Kind() {
		case query.Gradient, query.MetricGradient:
			sum += t.Weight()
		case query.Difference:
		default:
			return math.NaN()
		}
	}
	return sum
}

// Estimate is an estimate of the gradient. Only a run can make one, as a weighted sum of noisy
// answers and earlier estimates. The run therefore knows the noise of each estimate, and can record
// in the run's trace how each step's estimate was made.
type Estimate struct {
	g []float64
	// The estimate is keep times the estimate that the step with the number from used, plus noisy answers.
	// noise is the standard deviation of a coordinate of the noise in these answers. Steps are counted from
	// 1. from is 0 if no estimate that a step used is part of this one.
	noise, keep float64
	from        int
	// gradients is the number of gradients that the estimate adds up: 1 for an average, and nearly
	// 1/(1-beta) after many steps of heavy-ball momentum beta. It is NaN if it is not known.
	gradients float64
	// used is the number of the last step that used the estimate, or 0 if no step has used it. kept means
	// that another estimate was made from this one before any step used it.
	used int
	kept bool
}

// Vector returns a copy of the estimate's coordinates.
func (e *Estimate) Vector() []float64 { return append([]float64(nil), e.g...) }

// Estimate returns the gradient estimate that is the answer a itself.
func (r *Run) Estimate(a Answer) *Estimate { return r.Mix(nil, 0, a, 1) }

// Along returns the estimate (share*a + shift)*u, for an answer a that is one number, a public number shift, and a public
// vector u that is drawn anew for each answer. shift is the regularizer's part of the estimate, so that a step along the
// estimate adds no other. The mean square of the noise in a coordinate is that of u times the number's.
func (r *Run) Along(a Answer, share, shift float64, u []float64) *Estimate {
	r.trace.reuse(a.own.used)
	a.own.used = true
	next := &Estimate{g: make([]float64, len(u)),
		noise: math.Abs(share) * a.own.sigma * Norm(u) / math.Sqrt(float64(len(u)))}
	for j, v := range u {
		next.g[j] = (share*a.own.mean[0] + shift) * v
	}
	return next
}

// Mix returns the estimate keep*e + share*a. A nil e and the zero Answer add nothing. keep and share need not add up to
// 1: the run counts the gradients that an estimate adds up, and multiplies the regularizer's gradient by this number.
// Heavy-ball momentum, which is Mix(m, beta, a, 1), therefore converges to the minimum of the regularized objective.
//
// An answer may be used in one estimate only. An estimate that no step has used may be used in one other
// estimate only. If either is used twice, two estimates share noise. The run's trace cannot express this
// correlation, so the run then states no noise for its result.
func (r *Run) Mix(e *Estimate, keep float64, a Answer, share float64) *Estimate {
	next := &Estimate{g: make([]float64, len(r.at))}
	if a.own != nil {
		r.trace.reuse(a.own.used)
		a.own.used = true
		for j := range next.g {
			next.g[j] = float64(share * a.own.mean[j])
		}
		next.noise = math.Abs(share) * a.own.sigma
		next.gradients = share * a.own.gradients
	}
	if e == nil {
		return next
	}
	vector.Add(next.g, keep, e.g)
	next.gradients += keep * e.gradients
	if next.keep, next.from = keep, e.used; e.used == 0 {
		r.trace.reuse(e.kept)
		e.kept = true
		next.keep, next.from = keep*e.keep, e.from
		next.noise = math.Hypot(next.noise, keep*e.noise)
	}
	return next
}

// mixed describes how the estimate e of the next step was made, in the form that [Trace] records. The
// estimate is keep times the estimate of the step that came back steps earlier, plus an answer. noise is
// the standard deviation of a coordinate of the answer's noise.
func (r *Run) mixed(e *Estimate) (keep float64, back int, noise float64) {
	step := r.out.seen + 1
	if e.used > 0 { // a second step on the same estimate
		return 1, step - e.used, 0
	}
	if back = 1; e.from > 0 {
		back = step - e.from
	}
	return e.keep, back, e.noise
}

// weight returns the factor by which the regularizer's gradient is multiplied before it is added to the estimate. The
// factor is the number of gradients that the estimate adds up, or 1 if this number is not known or is 1 up to rounding.
func (e *Estimate) weight() float64 {
	if math.IsNaN(e.gradients) || math.Abs(e.gradients-1) < 1e-9 {
		return 1
	}
	return e.gradients
}

// shaken returns the estimate's coordinates plus the public random numbers in u.Coins, each multiplied by
// u.Deviation. It also returns the standard deviation of a coordinate's noise, these numbers included. The
// argument noise is the standard deviation without these numbers.
func (e *Estimate) shaken(u Use, noise float64) ([]float64, float64) {
	if u.Coins == nil {
		return e.g, noise
	}
	g := e.Vector()
	vector.Add(g, u.Deviation, u.Coins)
	return g, math.Hypot(noise, u.Deviation)
}

// quarters sums the gradient estimates of the first quarter and of the last quarter of a run's steps. The
// two sums show whether the gradients at the end of the run still differ from noise.
type quarters struct {
	first, last quarter
	// gradient is the norm of the mean estimate of the first k steps. noise is the root mean square norm of the noise
	// in this mean. Of all powers of 2 within the first quarter, k is the one with the largest gradient/noise.
	gradient, noise float64
}

// quarter is the sum of the gradient estimates of some steps, with the variance of the noise in the sum.
type quarter struct {
	vector.Mean
	steps    int
	variance float64 // noise variance of a coordinate of the sum
}

// visit adds the gradient estimate g of the run's last step. g includes the regularizer's gradient, keep is the share
// of the previous step's estimate in g, and variance is the noise variance of a coordinate of g.
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
	q.steps++
	q.Add(1, g)
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
	return runrecord.Short(Norm(q.Sum) / k), runrecord.Short(math.Sqrt(q.variance*float64(len(q.Sum))) / k)
}

func (l *quarters) result() Late {
	if l.last.steps == 0 {
		return Late{}
	}
	result := Late{Steps: l.last.steps, FirstGradient: l.gradient, FirstNoise: l.noise, Coordinates: len(l.last.Sum)}
	result.Gradient, result.Noise = l.last.mean()
	return result
}
