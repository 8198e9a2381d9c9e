package optimize

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/convex"
)

// Round is a part of a run that minimises the problem's objective plus a public function. Its result is
// a weighted average of the points that its steps reach. The run computes the average, so that the
// run's law records the weights that were used.
type Round struct {
	// Start is the first point of the round.
	Start []float64
	// More adds the gradient at w of the public function to g; nil for no function.
	More func(g, w []float64)
	// Set is the set onto which iterates are projected.
	Set convex.Set
	// Eta returns the step size for the gradient estimate g of the whole objective and the standard
	// deviation of the noise in a coordinate of g.
	Eta func(g []float64, noise float64) float64
	// Fade is the share by which the weights of earlier points shrink when a point is added to the
	// average.
	Fade float64
}

// rounds is a run's state of its rounds.
type rounds struct {
	now     Round
	average []float64
	// sum is the sum of the weights of the round's points so far, in units of the latest weight. fresh
	// holds, for each point, its share of the sum at the time it was added.
	sum   float64
	fresh []float64
	// weights and ends are the weights and last steps of all rounds before the current one.
	weights []float64
	ends    []int
	// smallest is the point, of any round, with the smallest estimate norm so far.
	smallest []float64
	least    float64
}

// Round begins a round and ends the round before.
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

// descend makes a step of Run.Descend. length is the norm of the gradient estimate of the problem's own
// objective, without the round's public function.
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

// add adds a point to the round's average.
func (s *rounds) add(w []float64, weight float64) {
	s.sum = weight + (1-s.now.Fade)*s.sum
	for j := range s.average {
		s.average[j] += (w[j] - s.average[j]) * weight / s.sum
	}
	s.fresh = append(s.fresh, weight/s.sum)
}

// Average returns the average of the round's points so far. Before the first step it returns the
// round's start.
func (r *Run) Average() []float64 { return slices.Clone(r.rounds.average) }

// Land makes the point in an answer the iterate, and the result of the round until the next step. The
// run counts it as a step of size eta along a gradient as long as the move divided by eta.
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

// RoundsResult returns the last round's average. If smallest is set, it returns the point of any round
// at which the norm of the gradient estimate was smallest.
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

// lastAlone gives the whole weight of the last round to the point that the round reached. No point of
// any round has more noise than this point.
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

// parts returns the weights of points in an average. Point k was added with weight fresh[k], and the
// points before it were then multiplied by 1 - fresh[k].
func parts(fresh []float64) []float64 {
	weights, rest := make([]float64, len(fresh)), 1.
	for k := len(fresh) - 1; k >= 0; k-- {
		weights[k] = rest * fresh[k]
		rest *= 1 - fresh[k]
	}
	return weights
}
