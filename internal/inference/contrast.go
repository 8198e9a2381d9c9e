package inference

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/stillpoint-dp/stillpoint/model/contrast"
)

// Types of package contrast, in which users read the estimates.
type (
	State    = contrast.State
	Interval = contrast.Interval
	Joint    = contrast.Joint
)

// States of an interval (package contrast).
const (
	Reported     = contrast.Reported
	Unidentified = contrast.Unidentified
	Withheld     = contrast.Withheld
	Absent       = contrast.Absent
	Dependent    = contrast.Dependent
)

// Contrast returns the estimate and the interval of the linear combination constant + sum_j
// weights[j] w[j], where w are the model's weights. A combination with a weight for a dropped feature is
// Absent. The reference level of a category is not dropped: its coefficient is 0 by definition.
func (f *Fit) Contrast(weights []float64, constant float64) Interval {
	return f.Contrasts()(weights, constant)
}

// Contrasts returns a function that computes the same as Contrast. It is faster for many contrasts of one
// fit, such as the scores of rows. Only one goroutine at a time may call the function.
func (f *Fit) Contrasts() func(weights []float64, constant float64) Interval {
	k := len(f.Columns)
	var covariance, sampling *mat.SymDense
	if f.Method != NotIdentified {
		covariance, sampling = full(f.Covariance, k), full(f.Sampling, k)
	}
	metric := full(f.Metric, k)
	return func(weights []float64, constant float64) Interval {
		c, present := f.reduce(weights)
		out := Interval{State: Reported, Estimate: constant}
		for j := range k {
			out.Estimate += c.AtVec(j) * f.Beta[j]
		}
		switch {
		case !present:
			out.State = Absent
			return out
		case f.Method == NotIdentified:
			out.State = Unidentified
			return out
		}
		variance := mat.Inner(c, covariance, c)
		if !(variance > 0) {
			out.State = Unidentified
			return out
		}
		out.Error = math.Sqrt(variance)
		half := Quantile(f.Level) * out.Error
		out.Low, out.High = out.Estimate-half, out.Estimate+half
		out.Privacy = 1 - math.Sqrt(max(mat.Inner(c, sampling, c), 0)/variance)
		out.Privacy = min(max(out.Privacy, 0), 1)
		switch remainder := f.remainder(c, metric) / half; {
		case remainder > WithheldAt:
			out = Interval{State: Withheld, Estimate: out.Estimate, Remainder: remainder}
		case remainder > WidenedAt:
			wide := 1 + remainder
			out.Remainder, out.Error, out.Privacy = remainder, wide*out.Error, 1-(1-out.Privacy)/wide
			out.Low, out.High = out.Estimate-wide*half, out.Estimate+wide*half
		}
		return out
	}
}

// remainder returns the allowance of the contrast c of the columns' coefficients, with the metric P: the length of the vector of
// the allowance of all rows times |P c| and of those of the columns. The signs of its parts are not known. Of several classes
// each has a part for all rows. The metric has the entry 2 for a class and itself ([Shape.Classes]).
func (f *Fit) remainder(c *mat.VecDense, metric *mat.SymDense) (of float64) {
	k := c.Len()
	length := func(part []float64) float64 { return floats.Norm(times(metric, part), 2) }
	if len(f.Allowances) == 0 {
		of = f.Allowance * length(c.RawVector().Data)
	}
	for i, v := range f.Allowances {
		part, each := make([]float64, k), k/len(f.Allowances)
		copy(part[i*each:(i+1)*each], c.RawVector().Data[i*each:])
		if mat.Norm(mat.NewVecDense(k, part), 1) == 0 { // of another class
			continue
		}
		of = math.Hypot(of, v*length(part)/math.Sqrt2)
	}
	for j, v := range f.Remainders {
		of = math.Hypot(of, c.AtVec(j)*v)
	}
	return of
}

// The allowance is a bound on the part of the error that the first-order formula leaves out. For a contrast c'beta it is
// the method remainder. An interval whose allowance exceeds WidenedAt, as a share of its half-width, is wider by the
// allowance, and so is its standard error; one whose allowance exceeds WithheldAt is withheld. WidenedAt was chosen on a
// tuning design with a rare outcome, where intervals without the allowance covered too seldom with 1/2
// (lab/results/inference.md, "Coverage").
const WidenedAt, WithheldAt = .25, 1

// reduce converts a contrast, a linear combination of the model's weights, to a linear combination of the columns'
// coefficients. present is false if no column has a nonzero factor, or if a dropped or merged feature has one.
func (f *Fit) reduce(weights []float64) (c *mat.VecDense, present bool) {
	c = mat.NewVecDense(len(f.Columns), nil)
	for i, column := range f.Columns {
		if column.Feature >= len(weights) { // a gap between thresholds
			continue
		}
		if v := weights[column.Feature]; v != 0 {
			c.SetVec(i, v)
			present = true
		}
	}
	for _, j := range slices.Concat(f.Dropped, f.Merged) {
		present = present && weights[j] == 0
	}
	return c, present
}

// Covariances returns the covariance of the estimates of several contrasts, each given by its factors of the model's
// weights. Each must have an interval.
func (f *Fit) Covariances(contrasts [][]float64) [][]float64 {
	k := len(f.Columns)
	var list [][]float64
	if len(contrasts) == 0 {
		return nil
	}
	c := mat.NewDense(len(contrasts), k, nil)
	for i, weights := range contrasts {
		row, _ := f.reduce(weights)
		if at := f.Contrast(weights, 0); at.State == Reported {
			row.ScaleVec(1+at.Remainder, row)
		}
		c.SetRow(i, row.RawVector().Data)
	}
	var left, whole mat.Dense
	left.Mul(c, full(f.Covariance, k))
	whole.Mul(&left, c.T())
	v := Symmetric(&whole)
	for i := range contrasts {
		list = append(list, mat.Row(nil, i, v))
	}
	return list
}

// Joint returns the joint confidence region of several contrasts at the level of the fit. Contrast i is
// constants[i] plus the sum of contrasts[i][j] times weight j. The region is stated only for the method
// Wald, and only if every contrast has an interval and none depends on the others. If no region is stated,
// State gives the reason. Joint returns an error if there is no contrast or not one constant for each.
func (f *Fit) Joint(contrasts [][]float64, constants []float64) (Joint, error) {
	q, k := len(contrasts), len(f.Columns)
	if q == 0 || len(constants) != q {
		return Joint{}, errors.New("inference: joint region: must have at least one contrast, with one constant each")
	}
	out := Joint{State: Reported, Estimate: make([]float64, q), Limit: 2 * mathext.GammaIncRegInv(float64(q)/2, f.Level)}
	for i, weights := range contrasts {
		row, _ := f.reduce(weights)
		out.Estimate[i] = constants[i]
		for j := range k {
			out.Estimate[i] += row.AtVec(j) * f.Beta[j]
		}
		at := f.Contrast(weights, constants[i])
		if at.State != Reported {
			return Joint{State: at.State}, nil
		}
		if at.Remainder > 0 && q > 1 { // a sum of such contrasts may have a larger allowance than each
			return Joint{State: Withheld}, nil
		}
	}
	if f.Method != Wald {
		return Joint{State: Unidentified}, nil
	}
	out.Covariance = f.Covariances(contrasts)
	v := mat.NewSymDense(q, slices.Concat(out.Covariance...))
	var chol mat.Cholesky
	at := mat.NewVecDense(q, append([]float64(nil), out.Estimate...))
	solved := mat.NewVecDense(q, nil)
	if !chol.Factorize(v) || chol.SolveVecTo(solved, at) != nil {
		return Joint{State: Dependent}, nil
	}
	zero := mat.Dot(at, solved) <= out.Limit
	out.Zero = &zero
	return out, nil
}
