package optimize

import (
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Round is a part of a run that minimises the problem's objective plus a public function. The result of a
// round is a weighted average of the points to which the round's steps lead. The run computes the average,
// so that the run's trace records the weights that were actually used.
type Round struct {
	// Start is the first point of the round.
	Start []float64
	// More adds to g the gradient at w of the public function; nil for no function.
	More func(g, w []float64)
	// Set is the set onto which iterates are projected.
	Set convex.Set
	// Eta returns the step size for the gradient estimate g of the round's whole objective. noise is
	// the standard deviation of the noise in a coordinate of g.
	Eta func(g []float64, noise float64) float64
	// Fade is the share by which the weights of the earlier points shrink each time a point is added
	// to the round's average.
	Fade float64
}

// rounds is the state of a run that has rounds.
type rounds struct {
	now     Round
	average []float64
	// sum is the sum of the weights of the current round's points so far, with the weights of earlier points shrunk by
	// Fade. fresh has, for each point, the share of its weight in this sum at the time when the point was added.
	sum   float64
	fresh []float64
	// weights has the weights of the points of all earlier rounds. ends has the number of the last
	// step of each of these rounds.
	weights []float64
	ends    []int
	// smallest is the point, of any round, at which the norm of the gradient estimate was smallest so far.
	// least is this norm.
	smallest []float64
	least    float64
}

// Round ends the current round of the run, if there is one, and begins the round now.
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

// descend makes one step of the current round, along the gradient estimate plus the gradient of the round's public
// function. It returns the step's size and the norm of the gradient estimate of the problem's own objective.
func (s *rounds) descend(r *Run, estimate []float64, weight float64, u Use, noise float64) (eta, length float64) {
	g := r.regularized(estimate, r.at, weight)
	if length = Norm(g) / scale(weight); length < s.least {
		s.least, s.smallest = length, slices.Clone(r.at)
	}
	if s.now.More != nil && weight == 1 {
		s.now.More(g, r.at)
	} else if s.now.More != nil {
		more := make([]float64, len(g))
		s.now.More(more, r.at)
		Descend(g, more, -weight)
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

// Land sets the iterate to the point that an answer released, projected onto the round's set. The point
// alone is the round's average until the next step. The run's trace records the move as a step of size eta
// along a gradient whose norm is the length of the move divided by eta.
func (r *Run) Land(a Answer, eta float64) {
	s := r.rounds
	r.trace.reuse(a.own.used)
	a.own.used = true
	next := slices.Clone(a.own.mean)
	s.now.Set.Project(next)
	far := Apart(next, r.at)
	copy(r.at, next)
	copy(r.W, next)
	s.average, s.sum = slices.Clone(next), 1
	clear(s.fresh)
	s.fresh = append(s.fresh, 1)
	r.trace.step(0, 1, a.own.sigma/eta, eta)
	r.out.seen++
	r.show(r.out.seen, far/eta)
}

// RoundsResult returns the average of the last round's points or, if smallest is set, the point of
// any round at which the norm of the gradient estimate was smallest.
func (r *Run) RoundsResult(complete, smallest bool) Result {
	if r.rounds == nil { // an error ended the run before its first round
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

// lastAlone gives the whole weight of the last round to the last point of this round, in place. The stated noise is
// then an upper bound, since no point of any round has more noise. ends has the number of each round's last step.
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

// parts returns the final weights of the points in an average to which points were added one by one. Adding point k
// gave it the weight fresh[k] and multiplied the weights of all earlier points by 1 - fresh[k].
func parts(fresh []float64) []float64 {
	weights, rest := make([]float64, len(fresh)), 1.
	for k := len(fresh) - 1; k >= 0; k-- {
		weights[k] = rest * fresh[k]
		rest *= 1 - fresh[k]
	}
	return weights
}

// Pace shortens steps that overshoot. If a step goes far past the minimum along the steepest directions, the next
// gradient estimate g points the opposite way of the last one. If the angle between the two estimates exceeds 120
// degrees, and noise does not explain the angle, Pace divides the size of this step and of all later steps by
//
//	1 - <g, last>/||last||^2.
//
// This number is the step size eta times the secant estimate of the curvature along the last step. With the
// divided size the last step would have ended at a point of slope zero. The step size never falls below the
// field least. Pace uses released vectors only.
type Pace struct {
	eta, least float64
	last       []float64
}

// NewPace returns a Pace whose first step size is eta and whose step size never falls below least. Noise
// may reverse the direction of estimates, most often in few dimensions. least should then be 1/L1, where L1
// is the smoothness, since no curvature up to L1 requires a shorter step.
func NewPace(eta, least float64) *Pace { return &Pace{eta: eta, least: least} }

// unexplained is a number of standard deviations of the noise in the inner product of two successive
// gradient estimates. A step counts as having overshot only if the inner product is more than this number
// of standard deviations below 0.
const unexplained = 8

// Next returns the size of the step along the gradient estimate g, and keeps g to compare it with the
// next estimate. noise is the standard deviation of the noise in a coordinate of g; 0 if unknown.
func (p *Pace) Next(g []float64, noise float64) float64 {
	product := vector.Dot(p.last, g)
	length := Norm(p.last)
	if product < -length*Norm(g)/2 && product < -unexplained*noise*noise*math.Sqrt(float64(len(g))) {
		p.eta = max(p.eta/(1-product/(length*length)), p.least)
	}
	p.last = g
	return p.eta
}

// Chain runs plans one after another and returns the last result, with the steps and the traces of all. It calls next
// for the plan of each run k = 0, 1, ..., with the result of the run before, until next returns nil. observe is told
// the steps and charges of the whole, which has the given number of steps. An error ends the chain with the latest
// result that is complete, or else with the incomplete one.
func Chain(ctx context.Context, o Oracle, observe func(Step), steps int,
	next func(k int, from Result) (Plan, error)) (all Result, err error) {
	var charged, latest float64
	for k := 0; ; k++ {
		plan, err := next(k, all)
		if plan == nil || err != nil {
			return all, err
		}
		result, err := plan.Run(ctx, o, func(s Step) {
			s.Number, s.Of, s.Charged = s.Number+all.Steps, steps, s.Charged+charged
			if latest = s.Charged; observe != nil {
				observe(s)
			}
		})
		if k > 0 {
			result.Trace = all.Trace.Then(result.Trace)
		}
		result.Steps += all.Steps
		if all, charged = result, latest; err != nil {
			return all, err
		}
	}
}
