package inference

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
)

// Fit is the released estimate of the coefficients of a regression formula with its covariance. It
// is public and part of the model's file.
type Fit struct {
	Level  float64 `json:"level"`
	Method Method  `json:"method"`
	// Weighted describes the weights of rows in the estimating equation in words. Rows x whose
	// length |P x| in the metric P is large have a weight below 1.
	Weighted string `json:"estimand"`
	// Columns are the columns of the formula to which the intervals belong. Dropped are the features of
	// columns that were asked for and are not in this formula.
	Columns []Column `json:"columns"`
	Dropped []int    `json:"dropped,omitempty"`
	// Beta are the coefficients of the columns. Covariance is their covariance matrix, and Sampling the
	// part of it that is due to sampling alone. Of each symmetric matrix only the entries on and above the
	// diagonal are stored, row after row.
	Beta       []float64 `json:"beta"`
	Covariance []float64 `json:"covariance,omitempty"`
	Sampling   []float64 `json:"sampling_covariance,omitempty"`
	// Allowance bounds the remainder of the Newton step on the scale of the margin
	// (Estimate.Allowance). Metric is the matrix P of the package documentation, stored like
	// Covariance. The method Contrast withholds an interval that is short compared with the
	// allowance.
	Allowance float64   `json:"allowance"`
	Metric    []float64 `json:"metric"`
	Records   float64   `json:"records"`
	// Reach is the length |P x|, with P the metric, above which a row x has a weight below 1.
	// Effective is the number of effective columns (see Shape).
	Reach     float64 `json:"reach"`
	Effective float64 `json:"effective_columns"`
	// LeastCurvature is the smallest eigenvalue of the released curvature divided by the largest
	// eigenvalue to expect of its noise (the function Edge).
	LeastCurvature float64 `json:"least_curvature_in_edges"`
}

// NewFit converts the estimate e, which is in the coordinates of the preconditioner (metric) of the
// shape s, to the coefficients of the columns of s, and adds the released quantities r. dropped are
// the features that the formula leaves out.
func NewFit(s *Shape, dropped []int, e *Estimate, r Released, allowance float64) (*Fit, error) {
	h, err := decompose(r.Curvature)
	if err != nil {
		return nil, err
	}
	k := len(s.Columns)
	f := &Fit{
		Level: e.Level, Method: e.Method, Columns: s.Columns, Dropped: dropped, Records: r.Records,
		Allowance: allowance, Reach: s.Reach, Effective: s.Effective, Metric: upper(s.Metric),
		Weighted:       "rows are weighted by min(1, reach^2/||P x||^2), which depends on the row's features alone",
		LeastCurvature: h.values[0] / max(Edge(r.CurvatureSigma, k), 1e-300),
	}
	beta := mat.NewVecDense(k, nil)
	beta.MulVec(s.Metric, mat.NewVecDense(k, e.B))
	f.Beta = append([]float64(nil), beta.RawVector().Data...)
	if e.Method != NotIdentified {
		f.Covariance, f.Sampling = upper(between(s.Metric, e.Covariance)), upper(between(s.Metric, e.Sampling))
	}
	return f, nil
}

// upper returns the entries of a symmetric matrix on and above the diagonal, row after row.
func upper(m *mat.SymDense) []float64 {
	k := m.SymmetricDim()
	out := make([]float64, 0, k*(k+1)/2)
	for i := range k {
		for j := i; j < k; j++ {
			out = append(out, m.At(i, j))
		}
	}
	return out
}

// full returns the symmetric k x k matrix whose entries on and above the diagonal are v.
func full(v []float64, k int) *mat.SymDense {
	m := mat.NewSymDense(k, nil)
	at := 0
	for i := range k {
		for j := i; j < k; j++ {
			m.SetSym(i, j, v[at])
			at++
		}
	}
	return m
}

// Belongs reports whether a model's weights are this estimate: the coefficients, up to rounding
// errors, and 0 where the formula has no column.
func (f *Fit) Belongs(weights []float64) bool {
	left := append([]float64(nil), weights...)
	var most float64
	for _, b := range f.Beta {
		most = max(most, math.Abs(b))
	}
	for i, c := range f.Columns {
		if c.Feature >= len(left) {
			return false
		}
		left[c.Feature] -= f.Beta[i]
	}
	for _, v := range left {
		if !(math.Abs(v) <= 1e-6*max(most, 1e-6)) {
			return false
		}
	}
	return true
}

// Check returns an error unless the numbers of a Fit that was read from a file are finite and have
// consistent sizes. features is the number of the model's features.
func (f *Fit) Check(features int) error {
	k := len(f.Columns)
	pairs := k * (k + 1) / 2
	switch {
	case f.Method != Wald && f.Method != Region && f.Method != NotIdentified:
		return fmt.Errorf("inference: method = %q: must be %q, %q or %q", f.Method, Wald, Region, NotIdentified)
	case k < 1 || k > features || len(f.Beta) != k || len(f.Metric) != pairs:
		return errors.New("inference: coefficients and metric must be of the columns of the formula")
	case f.Method != NotIdentified && (len(f.Covariance) != pairs || len(f.Sampling) != pairs):
		return errors.New("inference: the covariance must have an entry for each pair of columns")
	case !(f.Allowance >= 0) || !(f.Records > 0) || !(f.Reach > 0):
		return errors.New("inference: allowance, records and reach must be numbers >= 0")
	}
	used := make([]bool, features)
	places := append([]int(nil), f.Dropped...)
	for _, c := range f.Columns {
		places = append(places, c.Feature)
	}
	for _, j := range places {
		if j < 0 || j >= features || used[j] {
			return errors.New("inference: the columns of the formula, and what was dropped, must hold each feature once at most")
		}
		used[j] = true
	}
	for _, list := range [][]float64{f.Beta, f.Covariance, f.Sampling, f.Metric} {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return errors.New("inference: numbers must be finite")
			}
		}
	}
	return CheckLevel(f.Level)
}

// State says whether an interval is stated for a contrast, and if not, why.
type State string

const (
	// Reported: an interval is stated.
	Reported State = "reported"
	// Unidentified: the noise of the curvature hides the coefficients.
	Unidentified State = "not identified"
	// Withheld: the remainder of the Newton step may be large compared with the interval.
	Withheld State = "withheld"
	// Absent: no feature of the contrast is in the formula. The formula gives such features the
	// weight 0, so the contrast equals its constant.
	Absent State = "not in the formula"
)

// Interval is the estimate and the interval of a linear combination of the model's weights (a contrast).
type Interval struct {
	State    State   `json:"state"`
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low,omitempty"`
	High     float64 `json:"high,omitempty"`
	// Error is the standard error of Estimate, due to sampling and privacy noise.
	Error float64 `json:"standard_error,omitempty"`
	// Privacy is the share of the interval's width that is due to privacy noise: 1 - w/W, where W
	// is the interval's width and w the width due to sampling alone.
	Privacy float64 `json:"privacy_share,omitempty"`
}

// Contains reports whether an interval is stated and contains v.
func (i Interval) Contains(v float64) bool { return i.State == Reported && i.Low <= v && v <= i.High }

// Contrast returns the estimate and the interval of the linear combination constant + sum_j
// weights[j] w[j], where w are the model's weights.
func (f *Fit) Contrast(weights []float64, constant float64) Interval {
	return f.Contrasts()(weights, constant)
}

// Contrasts returns Contrast as a function, for many contrasts of one fit, such as the scores of rows. The
// function may not be called by several goroutines at once.
func (f *Fit) Contrasts() func(weights []float64, constant float64) Interval {
	k := len(f.Columns)
	var covariance, sampling *mat.SymDense
	if f.Method != NotIdentified {
		covariance, sampling = full(f.Covariance, k), full(f.Sampling, k)
	}
	metric := full(f.Metric, k)
	along := mat.NewVecDense(k, nil)
	return func(weights []float64, constant float64) Interval {
		c, any := f.reduce(weights)
		out := Interval{State: Reported, Estimate: constant}
		for j := range k {
			out.Estimate += c.AtVec(j) * f.Beta[j]
		}
		switch {
		case !any:
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
		along.MulVec(metric, c)
		if f.Allowance > withheldAt*half/mat.Norm(along, 2) {
			out = Interval{State: Withheld, Estimate: out.Estimate}
		}
		return out
	}
}

// withheldAt limits the allowance, a bound on what the first-order formula leaves out: an interval
// is withheld if the allowance exceeds withheldAt times the interval's half-width on the scale of
// the margin. The value was chosen on the tuning designs of results/inference.md: with 1/2 the
// intervals of a rare outcome cover the true value in .91 of all cases, with 1/4 in .94.
const withheldAt = .25

// reduce converts a contrast, a linear combination of the model's weights, to a linear combination
// of the columns' coefficients. any is false if no column has a nonzero factor.
func (f *Fit) reduce(weights []float64) (c *mat.VecDense, any bool) {
	c = mat.NewVecDense(len(f.Columns), nil)
	for i, column := range f.Columns {
		if v := weights[column.Feature]; v != 0 {
			c.SetVec(i, v)
			any = true
		}
	}
	return c, any
}

// Joint is a joint confidence region of several contrasts: the values v with (v - Estimate)' Covariance^-1
// (v - Estimate) <= Limit.
type Joint struct {
	State      State       `json:"state"`
	Estimate   []float64   `json:"estimate,omitempty"`
	Covariance [][]float64 `json:"covariance,omitempty"`
	Limit      float64     `json:"limit,omitempty"`
	// Zero reports whether the region contains the point at which all contrasts are 0. It is nil if
	// no region is stated.
	Zero *bool `json:"holds_zero,omitempty"`
}

// Joint returns the joint confidence region of several contrasts at the level of the fit. Contrast
// i is constants[i] plus the sum of contrasts[i][j] times weight j. The region is stated only for
// the method Wald and if every contrast has an interval; otherwise the state says why not.
func (f *Fit) Joint(contrasts [][]float64, constants []float64) (Joint, error) {
	q, k := len(contrasts), len(f.Columns)
	if q == 0 || len(constants) != q {
		return Joint{}, errors.New("inference: joint region: must have at least one contrast, with one constant each")
	}
	c := mat.NewDense(q, k, nil)
	out := Joint{State: Reported, Estimate: make([]float64, q), Limit: 2 * mathext.GammaIncRegInv(float64(q)/2, f.Level)}
	for i, weights := range contrasts {
		row, _ := f.reduce(weights)
		c.SetRow(i, row.RawVector().Data)
		out.Estimate[i] = constants[i]
		for j := range k {
			out.Estimate[i] += row.AtVec(j) * f.Beta[j]
		}
		if at := f.Contrast(weights, constants[i]); at.State != Reported {
			return Joint{State: at.State}, nil
		}
	}
	if f.Method != Wald {
		return Joint{State: Unidentified}, nil
	}
	var left, whole mat.Dense
	left.Mul(c, full(f.Covariance, k))
	whole.Mul(&left, c.T())
	v := symmetric(&whole)
	var chol mat.Cholesky
	if !chol.Factorize(v) {
		return Joint{}, errors.New("inference: joint region: the contrasts must be independent in the formula")
	}
	at := mat.NewVecDense(q, append([]float64(nil), out.Estimate...))
	solved := mat.NewVecDense(q, nil)
	if err := chol.SolveVecTo(solved, at); err != nil {
		return Joint{}, errors.New("inference: joint region: the contrasts must be independent in the formula")
	}
	zero := mat.Dot(at, solved) <= out.Limit
	out.Zero = &zero
	for i := range q {
		out.Covariance = append(out.Covariance, append([]float64(nil), mat.Row(nil, i, v)...))
	}
	return out, nil
}
