package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Answer is a release as a run returns it to an algorithm. An algorithm may read and change Mean;
// estimates are made from the run's own copy.
type Answer struct {
	query.Release
	own *given
}

// given is the run's own copy of an answer.
type given struct {
	mean  []float64
	sigma float64
	used  bool
}

func newAnswer(a query.Release) Answer {
	return Answer{Release: a, own: &given{mean: append([]float64(nil), a.Mean...), sigma: a.Sigma}}
}

// Estimate is an estimate of the gradient. Only a run can make one, from answers and earlier estimates,
// so the run knows the noise of each. Every mixture of answers is therefore in the law that the run
// records.
type Estimate struct {
	g []float64
	// The estimate is keep times the estimate of step from (counted from 1), plus answers whose noise
	// has standard deviation noise in each coordinate. from is 0 if no earlier estimate is part of it.
	noise, keep float64
	from        int
	// used is the last step that used the estimate, 0 for none. kept reports that another estimate was
	// made of this one before any step used it.
	used int
	kept bool
}

// Vector returns a copy of the estimate's coordinates.
func (e *Estimate) Vector() []float64 { return append([]float64(nil), e.g...) }

// Estimate returns the estimate that consists of one answer.
func (r *Run) Estimate(a Answer) *Estimate { return r.Mix(nil, 0, a, 1) }

// Mix returns the estimate keep*e + share*answer. The zero Answer adds nothing.
//
// An answer may enter one estimate only. An estimate that no step has used may enter one other estimate
// only. If either enters two, the noises of the two are correlated; the law cannot express that, and
// the run then states no noise.
func (r *Run) Mix(e *Estimate, keep float64, a Answer, share float64) *Estimate {
	next := &Estimate{g: make([]float64, len(r.at))}
	if a.own != nil {
		r.unstated = r.unstated || a.own.used
		a.own.used = true
		for j := range next.g {
			next.g[j] = float64(share * a.own.mean[j])
		}
		next.noise = math.Abs(share) * a.own.sigma
	}
	if e == nil {
		return next
	}
	for j, v := range e.g {
		next.g[j] += float64(keep * v)
	}
	if next.keep, next.from = keep, e.used; e.used == 0 {
		r.unstated = r.unstated || e.kept
		e.kept = true
		next.keep, next.from = keep*e.keep, e.from
		next.noise = math.Hypot(next.noise, keep*e.noise)
	}
	return next
}

// mixed returns how the estimate of the coming step was made, in the terms of the law's columns: keep
// times the estimate used back steps earlier, plus an answer whose noise has standard deviation noise
// in each coordinate.
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

// shaken returns the estimate's coordinates plus the public random numbers of its use, and the standard
// deviation of a coordinate's noise including these numbers.
func (e *Estimate) shaken(u Use, noise float64) ([]float64, float64) {
	if u.Coins == nil {
		return e.g, noise
	}
	g := e.Vector()
	for j, v := range u.Coins {
		g[j] += u.Deviation * v
	}
	return g, math.Hypot(noise, u.Deviation)
}
