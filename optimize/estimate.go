package optimize

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Answer is a release as a run hands it out. Its Mean may be read and changed; estimates
// are made of the run's own copy.
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

// Estimate is an estimate of the gradient. A run makes it, of answers and of earlier
// estimates, and so knows its noise: what an algorithm mixes is in the law that the run
// writes down, since there is no other way to mix it.
type Estimate struct {
	g []float64
	// The estimate is keep times that of step from, counted from 1, plus answers whose
	// noise has deviation noise a coordinate. from is 0 where there is none.
	noise, keep float64
	from        int
	// used is the last step that was taken on the estimate, 0 for none. kept says that
	// another estimate was made of it before any step was.
	used int
	kept bool
}

// Vector returns a copy of the estimate's coordinates.
func (e *Estimate) Vector() []float64 { return append([]float64(nil), e.g...) }

// Estimate makes an estimate of one answer alone.
func (r *Run) Estimate(a Answer) *Estimate { return r.Mix(nil, 0, a, 1) }

// Mix makes the estimate keep*e + share*answer. The zero Answer adds nothing.
//
// An answer goes into one estimate, and an estimate that no step was taken on into one
// other: where one goes into two, their noises are alike, which the law has no words for,
// and the run states no noise.
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

// mixed says how the estimate of the step about to be taken came about, as the law's
// columns have it: keep times that of back steps before, and an answer.
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

// shaken returns the estimate's coordinates with the coins of its use, and the deviation
// of a coordinate's noise with theirs.
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
