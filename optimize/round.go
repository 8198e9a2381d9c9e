package optimize

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/convex"
)

// Round is a part of a run that minimises the problem's objective and a public function
// more, from where it starts. Its result is a weighted average of the points that its
// steps reach, which the run keeps, so that the law has the weights that it had.
type Round struct {
	// Start is where it starts.
	Start []float64
	// More adds the gradient at w of the function more; nil for none.
	More func(g, w []float64)
	// Set is what iterates are kept in.
	Set convex.Set
	// Eta says how far a step goes along the gradient estimate of the whole objective,
	// by that and by the deviation of a coordinate's noise in it.
	Eta func(g []float64, noise float64) float64
	// Fade is how much of the weight of the points before is lost as a point is added
	// to the average.
	Fade float64
}

// rounds is what a run keeps of its rounds.
type rounds struct {
	now     Round
	average []float64
	// sum is of the weights of the round's points so far, in units of the latest's, and
	// fresh is what each was of the sum as it was added.
	sum   float64
	fresh []float64
	// weights and ends are those of all rounds but this one.
	weights []float64
	ends    []int
	// smallest is the point of the smallest estimate so far, of any round.
	smallest []float64
	least    float64
}

// Round begins a round, and ends the one before.
func (r *Run) Round(now Round) {
	if r.rounds == nil {
		r.rounds = &rounds{weights: []float64{0}, smallest: slices.Clone(r.at), least: math.Inf(1)}
	} else {
		r.rounds.end(r.out.seen)
	}
	s := r.rounds
	s.now, s.average, s.sum, s.fresh = now, slices.Clone(now.Start), 0, nil
	copy(r.at, now.Start)
	copy(r.W, now.Start)
}

func (s *rounds) end(taken int) {
	s.weights, s.ends = append(s.weights, parts(s.fresh)...), append(s.ends, taken)
}

// descend is a step of Run.Descend; length is the norm of the estimate of the problem's
// own gradient.
func (s *rounds) descend(r *Run, estimate []float64, u Use, noise float64) (eta, length float64) {
	g := r.regularized(estimate, r.at)
	if length = Norm(g); length < s.least {
		s.least, s.smallest = length, slices.Clone(r.at)
	}
	if s.now.More != nil {
		s.now.More(g, r.at)
	}
	eta = s.now.Eta(slices.Clone(g), noise)
	Descend(r.at, g, eta)
	s.now.Set.Project(r.at)
	s.add(r.at, u.Weight)
	copy(r.W, r.at)
	r.out.seen++
	return eta, length
}

// add adds a point to the average.
func (s *rounds) add(w []float64, weight float64) {
	s.sum = weight + (1-s.now.Fade)*s.sum
	for j := range s.average {
		s.average[j] += (w[j] - s.average[j]) * weight / s.sum
	}
	s.fresh = append(s.fresh, weight/s.sum)
}

// Average returns the average of the round's points so far, or its start.
func (r *Run) Average() []float64 { return slices.Clone(r.rounds.average) }

// Land takes an answer that is a point for the iterate, which is the round's result until
// the next. It counts as a step of size eta on a gradient of the length that the move has.
func (r *Run) Land(a Answer, eta float64) {
	s := r.rounds
	r.unstated = r.unstated || a.own.used
	a.own.used = true
	next := slices.Clone(a.own.mean)
	s.now.Set.Project(next)
	far := Apart(next, r.at)
	copy(r.at, next)
	copy(r.W, next)
	s.average, s.sum = slices.Clone(next), 1
	clear(s.fresh)
	s.fresh = append(s.fresh, 1)
	r.took(0, 1, a.own.sigma/eta, eta)
	r.out.seen++
	r.show(r.out.seen, far/eta)
}

// RoundsResult is the last round's average, or, if smallest, the point of any round at
// which the estimate of the gradient was smallest.
func (r *Run) RoundsResult(complete, smallest bool) Result {
	if r.rounds == nil { // it failed before the first
		r.Round(Round{Start: r.W})
	}
	s := r.rounds
	s.end(r.out.seen)
	res := Result{W: slices.Clone(s.average), Steps: r.out.seen, Output: r.plan.summary.Output, Complete: complete}
	chosen := 0
	if smallest {
		res.W, chosen = s.smallest, r.out.seen
		lastAlone(s.weights, s.ends)
	}
	return r.stated(res, s.weights, s.ends, chosen)
}

// lastAlone gives the last round's whole weight to the point it reached: no point of any
// round has more noise than that.
func lastAlone(weights []float64, ends []int) {
	start := 0
	for _, end := range ends {
		if end+1 < len(weights) {
			start = end
		}
	}
	clear(weights[start+1:])
	weights[len(weights)-1] = 1
}

// parts returns the weights of points in an average to which each in turn was
// added with weight fresh[k], and that of all before times 1 - fresh[k].
func parts(fresh []float64) []float64 {
	weights, rest := make([]float64, len(fresh)), 1.
	for k := len(fresh) - 1; k >= 0; k-- {
		weights[k] = rest * fresh[k]
		rest *= 1 - fresh[k]
	}
	return weights
}
