package optimize

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

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
