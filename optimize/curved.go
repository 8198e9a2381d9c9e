package optimize

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Candidate is a released point W. Along has the unit vectors along which the curvature of the objective at
// W is released. The vectors must be public, for example directions from one released point to another.
type Candidate struct {
	W     []float64
	Along [][]float64
}

// doubted is a number of standard deviations of the noise in a released curvature. A candidate is excluded
// only if its released curvature is more than doubted standard deviations below zero.
const doubted = 4

// ChooseCurved chooses, from several released points, one with a small gradient and no strongly negative
// curvature of the objective. It first releases the curvature along each candidate's directions. The least
// curvature of a candidate is the smallest of its released curvatures, or +Inf for a candidate without
// directions. Let sigma be the standard deviation of the noise in a released curvature. ChooseCurved
// excludes the candidates whose least curvature is below -max(gap/2, 4 sigma). The exponential mechanism
// draws one of the other candidates, with a preference for small gradient norms (see [Selected] for the
// accuracy of the draw). If only one candidate is not excluded, it is returned without a draw. If all are
// excluded, ChooseCurved returns the candidate whose least curvature is greatest.
//
// The records of the cohort held are charged at most mu^2: half for the curvatures and half for the draw.
// ChooseCurved returns the index of the chosen candidate and the least curvature of each candidate.
//
// A choice by gradient norm alone would choose a saddle at which the run started, since the gradient at a
// saddle is zero.
func ChooseCurved(ctx context.Context, o Oracle, p Problem, held query.Cohort, mu, gap float64,
	points []Candidate) (k int, known []Curved, err error) {
	asked := 0
	for _, c := range points {
		asked += len(c.Along)
	}
	known = make([]Curved, len(points))
	lo, hi := p.Curvature()
	for i, c := range points {
		known[i].Curvature = math.Inf(1)
		for _, v := range c.Along {
			a, err := ask(ctx, o, mu*mu*usable/2/float64(asked), query.CurvatureAlongAt(held, c.W, v, lo, hi))
			if err != nil {
				return 0, nil, err
			}
			known[i].Sigma = a.Sigma
			known[i].Directions++
			known[i].Curvature = min(known[i].Curvature, a.Mean[0]+p.regularizerAlong(c.W, v))
		}
	}
	var sound []int
	for i, c := range known {
		if c.Curvature >= -max(gap/2, doubted*c.Sigma) {
			sound = append(sound, i)
		}
	}
	switch len(sound) {
	case 0:
		for i, c := range known {
			if c.Curvature > known[k].Curvature {
				k = i
			}
		}
		return k, known, nil
	case 1:
		return sound[0], known, nil
	}
	terms := vector.Map(sound, func(i int) query.Term { return p.NormAt(held, points[i].W, p.Constants.Lipschitz) })
	epsilon, err := selectionEpsilon(mu / math.Sqrt2)
	if err != nil {
		return 0, nil, err
	}
	k, err = drawn(ctx, o, epsilon, terms)
	if err != nil {
		return 0, nil, err
	}
	return sound[k], known, nil
}

// regularizerAlong returns the regularizer's curvature v' H v at w along the vector v. It computes
// the product with the Hessian H by a central difference of the regularizer's gradients.
func (p Problem) regularizerAlong(w, v []float64) (along float64) {
	if p.Regularizer == nil {
		return 0
	}
	const h = 1e-4
	for _, sign := range []float64{1, -1} {
		at, g := make([]float64, len(w)), make([]float64, len(w))
		for j := range w {
			at[j] = w[j] + sign*h*v[j]
		}
		p.Regularizer.AddGradient(g, at)
		for j := range g {
			along += sign * g[j] * v[j] / (2 * h)
		}
	}
	return along
}

// TowardsEachOther adds a direction to each candidate: the unit vector from the candidate to the candidate with index
// hub, which may be the result of a run. The hub itself also gets a direction, the unit vector to the hub from the
// candidate farthest from it. Candidates at the same point as the hub get no direction. A run that left a saddle moved
// mostly along these directions, so negative curvature at the saddle is likely to be found along them.
func TowardsEachOther(points []Candidate, hub int) {
	centre, most := points[hub].W, 0.
	var farthest []float64
	for i := range points {
		v := Towards(points[i].W, centre)
		if v == nil || i == hub {
			continue
		}
		points[i].Along = append(points[i].Along[:len(points[i].Along):len(points[i].Along)], v)
		if d := Apart(points[i].W, centre); d > most {
			farthest, most = v, d
		}
	}
	if farthest != nil {
		points[hub].Along = append(points[hub].Along[:len(points[hub].Along):len(points[hub].Along)], farthest)
	}
}

// Apart returns the distance ||a - b||.
func Apart(a, b []float64) float64 {
	step := append([]float64(nil), a...)
	Descend(step, b, 1)
	return Norm(step)
}

// Towards returns the unit vector from one point to another, or nil if the points are equal.
func Towards(from, to []float64) []float64 {
	v := append([]float64(nil), to...)
	Descend(v, from, 1)
	size := Norm(v)
	if !Positive(size) {
		return nil
	}
	vector.Divide(v, size)
	return v
}

// curvatureShare is the share of the charges for the curvature at the result. leastSeen is the least number of deviations of
// the noise that a row of length 1 would have in it, mostSeen the largest number of features, and usualLong the length
// beyond which rows are shortened.
const curvatureShare, leastSeen, mostSeen, usualLong = .1, 75, 300, .75

// CurvatureCharge returns the charge of the mean second derivative of a record's loss in the weights at the result, from
// which their noise follows. It is for records of several rows, whose steps are in no metric, and 0 if it is not released.
func (p Problem) CurvatureCharge() float64 {
	charge, most := curvatureShare*p.Charge(), p.Constants.Curvature.Hi
	if !p.Explained || !p.Grouped || p.Jumps || p.Smoothing.On() || p.Set != nil || p.Constants.Curvature.Lo < 0 ||
		math.IsInf(most, 0) || p.Shape.Features > mostSeen {
		return 0
	}
	if query.WeightedCurvature.Facts().Moves(p.Relation)*leastSeen > p.Records*math.Sqrt(charge) {
		return 0
	}
	return charge
}

// seeing adds the release of the curvature at the result to the draft of a plan.
func (d *Draft) seeing() {
	if d.Curvature == 0 {
		return
	}
	d.Summary.Charges += fmt.Sprintf("; %.3g of the budget to the curvature at the result", curvatureShare)
	d.Summary.Passes, d.Summary.PairPasses = d.Summary.Passes+1, d.Summary.PairPasses+2
	d.Workload = d.Workload.Count(query.WeightedCurvature, 1, 1)
}

// see releases the curvature at the result of a run, and adds it to the trace.
func (r *Run) see(result *Result) error {
	p := r.plan.problem
	unit, err := query.Identity(p.Dim())
	if err != nil {
		return err
	}
	answer, err := r.Ask(r.plan.curvature, query.WeightedCurvatureAt(r.All(), result.W, p.Constants.Curvature.Hi, usualLong, unit))
	if err != nil {
		return err
	}
	matrix, dim, err := query.Symmetric(answer.Mean)
	if err == nil {
		result.Trace = result.Trace.WithCurvature(NewMoment(matrix, dim, answer.Sigma, 0))
	}
	return err
}
