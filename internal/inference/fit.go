package inference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Fit is the released estimate of the coefficients of a regression formula with its covariance. It
// is public and part of the model's file.
type Fit struct {
	Level  float64 `json:"level"`
	Method Method  `json:"method"`
	// Weighted describes in words the weights of rows in the estimating equation. A row x has a weight
	// below 1 if its length |P x| in the metric P is above Reach.
	Weighted string `json:"estimand"`
	// Unweighted says that every row that the schema allows has the weight 1. Left is empty then. Otherwise it has, for each
	// column, the released share of the column's spread about the other columns that the weights leave, and the noise's
	// standard deviation in that share. It is empty in files of earlier versions and for ordered classes.
	Unweighted bool      `json:"unweighted,omitempty"`
	Left       []float64 `json:"spread_left,omitempty"`
	// Columns are the columns of the formula to which the intervals belong. Dropped are the indices of
	// features that were asked for and are not in this formula.
	Columns []Column `json:"columns"`
	Dropped []int    `json:"dropped,omitempty"`
	// Absorbed are the dropped features that a column of the formula also carries.
	Absorbed []Absorbed `json:"absorbed,omitempty"`
	// Gone are the dropped levels whose rows leave the estimate.
	Gone []Gone `json:"gone,omitempty"`
	// Merged are the features of reference levels with which dropped levels count. No combination with one has an interval.
	Merged []int `json:"merged,omitempty"`
	// Beta are the estimated coefficients of the columns. Covariance is the covariance matrix of their
	// errors, and Sampling the part of Covariance that is due to sampling alone. Only the entries on and
	// above the diagonal of a symmetric matrix are stored, row after row.
	Beta       []float64 `json:"beta"`
	Covariance []float64 `json:"covariance,omitempty"`
	Sampling   []float64 `json:"sampling_covariance,omitempty"`
	// Allowance is a bound on the remainder of the Newton step, on the scale of the margin (Estimate.Allowance). The
	// method Contrast withholds an interval that is short compared with the allowance. Metric is the matrix P of the
	// package documentation, stored like Covariance. Records is the number of records.
	Allowance float64   `json:"allowance"`
	Metric    []float64 `json:"metric"`
	Records   float64   `json:"records"`
	// Allowances are those of each class but the first, for the difference of its margin and that of the first. They are empty
	// for a fit of one margin.
	Allowances []float64 `json:"allowances,omitempty"`
	// Remainders bound the remainder of the Newton step in each column's coefficient ([Estimate.Allowances]). They are
	// empty in files of earlier versions.
	Remainders []float64 `json:"remainders,omitempty"`
	// Reach is the length |P x|, with P the metric, above which a row x has a weight below 1. Effective is
	// the number of effective columns ([Shape]).
	Reach     float64 `json:"reach"`
	Effective float64 `json:"effective_columns"`
	// LeastCurvature is the smallest eigenvalue of the released curvature divided by the largest
	// eigenvalue to expect of its noise (the function Edge).
	LeastCurvature float64 `json:"least_curvature_in_edges"`
	// LeastDirection is the change of the coefficients along which the released curvature is smallest. It has an entry
	// for each column, and its largest entry in absolute value is 1 or -1. It is empty in files of earlier versions.
	LeastDirection []float64 `json:"least_direction,omitempty"`
	// Halfway reports that the curvature was released halfway along the predicted last Newton step. If
	// Halfway is false, the curvature was released at the point where this step begins.
	Halfway bool `json:"curvature_halfway,omitempty"`
}

// NewFit converts the estimate e to a Fit. The point and the covariances of e are in the coordinates of the
// metric of the shape s; those of the Fit are coefficients of the columns of s. r are the released
// quantities from which e was computed. dropped are the features that the formula leaves out.
func NewFit(s *Shape, dropped []int, e *Estimate, r Released, allowance float64) (*Fit, error) {
	h, err := Decompose(r.Curvature)
	if err != nil {
		return nil, err
	}
	k := len(s.Columns)
	f := &Fit{
		Level: e.Level, Method: e.Method, Columns: s.Columns, Dropped: dropped, Records: r.Records,
		Allowance: allowance, Reach: s.Last, Unweighted: s.Whole, Effective: s.Effective, Metric: upper(s.Metric),
		Weighted:       "rows are weighted by min(1, reach^2/||P x||^2), which depends on the row's features alone",
		LeastCurvature: h.Values[0] / max(Edge(r.CurvatureSigma, k), 1e-300),
	}
	if s.Whole {
		f.Weighted = "every row that the schema allows has the weight 1"
	}
	if f.Gone, f.Merged = s.gone, s.merged; len(f.Gone) > 0 {
		f.Weighted += "; rows of dropped levels that are listed as gone have almost the weight 0"
	}
	f.LeastDirection = direction(s.Metric, h)
	f.Beta = times(s.Metric, e.B)
	if e.Method != NotIdentified {
		f.Covariance, f.Sampling = upper(Between(s.Metric, e.Covariance)), upper(Between(s.Metric, e.Sampling))
	}
	return f, nil
}

// direction converts the eigenvector of the smallest eigenvalue of h to a change of the coefficients: the
// metric times the eigenvector, scaled so that its largest entry in absolute value is 1 or -1. h is the
// eigendecomposition of the curvature in the coordinates of the metric.
func direction(metric *mat.SymDense, h *Spectrum) []float64 {
	out := times(metric, mat.Col(nil, 0, &h.Vectors))
	if most := floats.Norm(out, math.Inf(1)); most > 0 {
		floats.Scale(1/most, out)
	}
	return out
}

// times returns the product of a matrix and a vector.
func times(m mat.Matrix, v []float64) []float64 {
	out := mat.NewVecDense(len(v), nil)
	out.MulVec(m, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
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

// full returns the symmetric k x k matrix whose entries on and above the diagonal, row after row, are v.
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

// Belongs reports whether a model's weights are this estimate: Beta for the features in the formula, and 0
// for all other features. Differences up to 1e-6 of the largest coefficient are allowed.
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

// Has reports whether the formula has a column of the feature.
func (f *Fit) Has(feature int) bool {
	return slices.ContainsFunc(f.Columns, func(c Column) bool { return c.Feature == feature })
}

// Unknown returns the features of a curve of which no combination has an interval: that of missing numbers if the formula
// lacks it, and all knots if it lacks one but the reference. A curve has width knots from the feature first on.
func (f *Fit) Unknown(missing, first, width, reference int) (list []int) {
	if !f.Has(missing) {
		list = append(list, missing)
	}
	knots, whole := make([]int, width), true
	for i := range knots {
		knots[i] = first + i
		whole = whole && (knots[i] == reference || f.Has(knots[i]))
	}
	if !whole {
		list = append(list, knots...)
	}
	return list
}

// Check returns an error if the fields of a Fit that was read from a file cannot be right: an unknown
// method, lists of wrong lengths, numbers that are not finite, a level outside [.5, .999], or features that
// are repeated or outside [0, features). features is the number of the model's features.
func (f *Fit) Check(features int) error {
	k := len(f.Columns)
	pairs := k * (k + 1) / 2
	switch {
	case f.Method != Wald && f.Method != Region && f.Method != NotIdentified:
		return fmt.Errorf("inference: method = %q: must be %q, %q or %q", f.Method, Wald, Region, NotIdentified)
	case k < 1 || k > features || len(f.Beta) != k || len(f.Metric) != pairs:
		return errors.New("inference: coefficients and metric must be of the columns of the formula")
	case len(f.LeastDirection) != 0 && len(f.LeastDirection) != k, len(f.Remainders) != 0 && len(f.Remainders) != k:
		return errors.New("inference: the least direction and the remainders must have an entry for each column")
	case len(f.Left) != 0 && len(f.Left) != 2*k:
		return errors.New("inference: the spread that the weights leave must have two numbers for each column")
	case len(f.Allowances) > 0 && k%len(f.Allowances) != 0:
		return errors.New("inference: classes must have the same columns")
	case f.Method != NotIdentified && (len(f.Covariance) != pairs || len(f.Sampling) != pairs):
		return errors.New("inference: the covariance must have an entry for each pair of columns")
	case !(f.Allowance >= 0) || !(f.Records > 0) || !(f.Reach > 0):
		return errors.New("inference: allowance, records and reach must be numbers >= 0")
	}
	used := make([]bool, features)
	places := slices.Concat(f.Dropped, f.Merged)
	for _, c := range f.Columns {
		places = append(places, c.Feature)
	}
	for _, j := range places {
		if j < 0 || j >= features || used[j] {
			return errors.New("inference: the columns of the formula, and what was dropped, must hold each feature once at most")
		}
		used[j] = true
	}
	for _, a := range f.Absorbed {
		if !slices.Contains(f.Dropped, a.Feature) || !f.Has(a.By) || !(math.Abs(a.Correlation) <= 1) || !(a.Noise >= 0) || math.IsInf(a.Noise, 0) {
			return errors.New("inference: an absorbed feature must be a dropped one, and a column must carry it")
		}
	}
	for _, g := range f.Gone {
		if !slices.Contains(f.Dropped, g.Feature) || !(g.Share >= 0) || math.IsInf(g.Share, 0) {
			return errors.New("inference: a level that leaves with its rows must be dropped, and their share must be a number >= 0")
		}
	}
	for _, list := range [][]float64{f.Beta, f.Covariance, f.Sampling, f.Metric, f.LeastDirection, f.Remainders, f.Left, f.Allowances} {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return errors.New("inference: numbers must be finite")
			}
		}
	}
	return CheckLevel(f.Level)
}

// JSON returns the fit as the member inference of a model's file; nil for a nil Fit. It returns an error if a number
// is not finite.
func (f *Fit) JSON() (json.RawMessage, error) {
	if f == nil {
		return nil, nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Parse returns the fit that the member inference of a model's file states; nil for an empty text. Unknown members
// are errors. Parse does not check the numbers ([Fit.Check]).
func Parse(text json.RawMessage) (f *Fit, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&f)
	return f, err
}
