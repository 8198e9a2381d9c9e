package query

import (
	"fmt"
	"math"
)

// Metric is a public symmetric matrix R by which contributions are measured: a record's gradient g
// is clipped to a norm of R g and released as R g. It is immutable. The zero Metric stands for no
// metric.
//
// For a matrix P, R is P rounded to multiples of Step, a power of two between 2^-20 and 2^-19 of
// P's largest entry. Contributions are measured by R, not by P. An optimizer that steps along R
// times an answer must therefore multiply by R, with Times.
type Metric struct{ m *metric }

type metric struct {
	dim  int
	step float64
	// upper is R/step, row after row, from each row's diagonal on.
	upper []int32
	norm  float64
}

// metricBits is the number of bits of a metric's largest integer.
const metricBits = 20

// MaxPairs is the largest number of features for a query about pairs of features, and the largest
// dimension of a metric. Sums over pairs take 8 bytes for each pair and goroutine.
const MaxPairs = 2000

// NewMetric returns a metric of a symmetric matrix of dim rows, row after row. It is an error if
// dim is not in [1, MaxPairs], if an entry is not finite, if the largest entry is outside [2^-40,
// 2^40] or if the matrix is not symmetric up to Step. The matrix should be positive definite for
// sums to be well conditioned. Privacy does not depend on this, and it is not checked.
func NewMetric(dim int, p []float64) (Metric, error) {
	if dim < 1 || dim > MaxPairs {
		return Metric{}, fmt.Errorf("query: metric: dimension = %d: must be between 1 and %d", dim, MaxPairs)
	}
	if len(p) != dim*dim {
		return Metric{}, fmt.Errorf("query: metric: %d entries: must be %d, the square of its dimension", len(p), dim*dim)
	}
	var big float64
	for i, x := range p {
		if !finite(x) {
			return Metric{}, fmt.Errorf("query: metric: entry %d, %d = %v: must be finite", i/dim, i%dim, x)
		}
		big = max(big, math.Abs(x))
	}
	if !(big >= 0x1p-40 && big <= 0x1p40) {
		return Metric{}, fmt.Errorf("query: metric: largest entry = %v: must be between 2^-40 and 2^40", big)
	}
	_, exp := math.Frexp(big)
	m := &metric{dim: dim, step: math.Ldexp(1, exp-metricBits), upper: make([]int32, 0, dim*(dim+1)/2)}
	for j := range dim {
		for k := j; k < dim; k++ {
			x, y := p[j*dim+k], p[k*dim+j]
			if !(math.Abs(x-y) <= m.step) {
				return Metric{}, fmt.Errorf("query: metric: entries %d, %d = %v and %d, %d = %v: must be equal", j, k, x, k, j, y)
			}
			m.upper = append(m.upper, int32(math.RoundToEven((x/2+y/2)/m.step)))
		}
	}
	m.norm = m.bound()
	return Metric{m}, nil
}

// bound returns an upper bound on the operator norm of R, in steps: the smaller of the Frobenius
// norm and the largest sum of absolute values along a row, each of which bounds the operator norm
// of a symmetric matrix. Both are sums of fewer than 2^22 integers below 2^41, so that they are
// exact.
func (m *metric) bound() float64 {
	sums := make([]int64, m.dim)
	var squares int64
	i := 0
	for j := range m.dim {
		for k := j; k < m.dim; k++ {
			v := int64(m.upper[i])
			i++
			v = max(v, -v)
			sums[j] += v
			squares += v * v
			if k > j {
				sums[k] += v
				squares += v * v
			}
		}
	}
	var most int64
	for _, s := range sums {
		most = max(most, s)
	}
	return min(float64(most), math.Sqrt(float64(squares))*(1+0x1p-50))
}

// Dim returns the number of rows.
func (m Metric) Dim() int {
	if m.m == nil {
		return 0
	}
	return m.m.dim
}

// Step returns the power of two of which every entry is a multiple, 0 for the zero Metric.
func (m Metric) Step() float64 {
	if m.m == nil {
		return 0
	}
	return m.m.step
}

// Row sets dst[k] to entry j, k in steps, an integer of at most 2^20 in absolute value. len(dst)
// must be Dim.
func (m Metric) Row(dst []int64, j int) {
	at := j // index of entry 0, j
	for k := range dst {
		if k > j {
			dst[k] = int64(m.m.upper[at+k-j])
			continue
		}
		dst[k] = int64(m.m.upper[at])
		if k < j {
			at += m.m.dim - k - 1
		}
	}
}

// Norm returns an upper bound on the operator norm of R, in steps: the smaller of the Frobenius
// norm and the largest sum of absolute values along a row, rounded up.
func (m Metric) Norm() float64 {
	if m.m == nil {
		return 0
	}
	return m.m.norm
}

// Times returns R v. If v holds several vectors one after the other, it returns R times each of
// them. len(v) must be a multiple of Dim.
func (m Metric) Times(v []float64) []float64 {
	out := make([]float64, len(v))
	row := make([]int64, m.Dim())
	for j := range row {
		m.Row(row, j)
		for at := 0; at < len(v); at += len(row) {
			for k, r := range row {
				out[at+j] += float64(float64(r) * v[at+k])
			}
			out[at+j] *= m.m.step
		}
	}
	return out
}

// GradientInMetric is the per-record gradient at w times the metric's matrix R, clipped to norm
// clip. The record's slope phi' is clipped to +-clip/||R x|| and to +-slope. slope is a public
// bound such as the loss's Lipschitz constant: without it a record with a small ||R x|| could have
// an unbounded slope. A query has only one such term, and the loss must not write its own gradient.
// For several margins the slopes phi' are a vector whose norm is clipped, and R multiplies each
// margin's gradient; the metric's dimension is the number of features.
//
// The answer is mean R phi' x, with one coordinate for each coordinate of w. The noise in each
// coordinate has standard deviation Sigma = 2 clip/(n sqrt(charge)) under replace-one and half of
// this under add-or-remove. R times the answer is a step in the metric.
//
// A session computes ||R x|| for all rows at the first query with a metric, in about d^2 operations
// a row (fewer where features are zero). It keeps the norms for the latest metric, 4 bytes a row.
// Further queries with that metric cost as much as gradients.
func GradientInMetric(c Cohort, w []float64, clip, slope float64, m Metric) Term {
	return Term{kind: MetricGradient, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: clip}, slope: slope, metric: m}
}

// SquaredSlopeAt is the per-record (||phi'|| ||R x||)^2 at w, clipped to [0, limit]: the squared
// norm of the vector that GradientInMetric clips. Its noise has standard deviation Sigma = limit/(n
// sqrt(charge)) under replace-one and half of this under add-or-remove. A small mean is often below
// its noise, and the answer may be negative.
func SquaredSlopeAt(c Cohort, w []float64, limit float64, m Metric) Term {
	return Term{kind: SquaredSlope, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: limit / 2, Centre: limit / 2}, metric: m}
}

// SecondMomentOf is the per-record x x' of dim features. It does not depend on the loss. The answer
// is mean x x' as a vector (svec): the entries on and above the diagonal, row after row, with the
// entries above it times sqrt 2, which preserves norms. [Symmetric] converts it to the matrix. dim
// must be at most [MaxPairs].
//
// The answer has dim (dim+1)/2 coordinates. The noise in each has standard deviation Sigma = sqrt
// 2/(n sqrt(charge)) under replace-one, since two such vectors are at most sqrt 2 apart, and 1/(n
// sqrt(charge)) under add-or-remove. In the matrix, entries off the diagonal have this noise over
// sqrt 2.
func SecondMomentOf(c Cohort, dim int) Term {
	return Term{kind: SecondMoment, cohort: c, weight: 1, w: make([]float64, max(dim, 0)), ball: ClipBall{Radius: 1}}
}

// RowMeanOf is the per-record x, of dim features, whatever the loss: the answer is the
// mean row. Rows are at most 1 long, so that each coordinate has noise of standard
// deviation Sigma = 2/(n sqrt(charge)) under replace-one, half of that under
// add-or-remove.
func RowMeanOf(c Cohort, dim int) Term {
	return Term{kind: RowMean, cohort: c, weight: 1, w: make([]float64, max(dim, 0)), ball: ClipBall{Radius: 1}}
}

// SquaredDistanceFrom is the per-record ||x - m||^2, cut at limit: a scalar from 0 to
// limit, whatever the loss. m is public, for instance a released mean row. Its noise has
// standard deviation Sigma = limit/(n sqrt(charge)) under replace-one, half of that under
// add-or-remove.
func SquaredDistanceFrom(c Cohort, m []float64, limit float64) Term {
	return Term{kind: SquaredDistance, cohort: c, weight: 1, w: clone(m), ball: ClipBall{Radius: limit / 2, Centre: limit / 2}}
}

// CentredMomentOf is the per-record z z', whatever the loss, z being x - m and shortened
// to length radius where it is longer. m is public, for instance a released mean row.
// The answer has the form of SecondMomentOf's and its noise times radius^2, so that rows
// that lie near each other are told apart at less noise. radius must be between 2^-20 and
// 2^20. Work is d^2/2 operations a row, whatever is zero in it.
func CentredMomentOf(c Cohort, m []float64, radius float64) Term {
	t := Term{kind: CentredMoment, cohort: c, weight: 1, w: clone(m), ball: ClipBall{Radius: float64(radius * radius)}}
	if !(radius >= 0x1p-20 && radius <= 0x1p20) {
		t.err = fmt.Errorf("query: %v: radius = %v: must be between 2^-20 and 2^20", t.kind, radius)
	}
	return t
}

// CurvatureAt is the per-record c x x' at w, where c is phi's second derivative clipped to [0,
// bound]: the Hessian of a loss phi(<w,x>, y). The answer has the form of [SecondMomentOf]'s
// answer, and bound times its noise.
func CurvatureAt(c Cohort, w []float64, bound float64) Term {
	return Term{kind: Curvature, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: bound}}
}

// Symmetric returns the matrix of which v is the svec, in dim rows, row after row. The answers to
// SecondMomentOf and CurvatureAt are svecs. It is an error if len(v) is not d(d+1)/2 for a d >= 1.
func Symmetric(v []float64) (matrix []float64, dim int, err error) {
	dim = int(math.Sqrt(2 * float64(len(v))))
	if dim == 0 || dim*(dim+1)/2 != len(v) {
		return nil, 0, fmt.Errorf("query: svec of %d coordinates: must be d(d+1)/2 for a d >= 1", len(v))
	}
	matrix = make([]float64, dim*dim)
	i := 0
	for j := range dim {
		matrix[j*dim+j] = v[i]
		i++
		for k := j + 1; k < dim; k++ {
			matrix[j*dim+k] = v[i] / math.Sqrt2
			matrix[k*dim+j] = v[i] / math.Sqrt2
			i++
		}
	}
	return matrix, dim, nil
}

// shaped validates the dimension of kinds of pairs, and the metric and slope of kinds with a
// metric.
func (t Term) shaped(f Facts) error {
	switch {
	case f.Pairs && len(t.w) > MaxPairs:
		return fmt.Errorf("query: %v: %d features: must be at most %d, since there is a sum for each pair of them", t.kind, len(t.w), MaxPairs)
	case f.Metric && (t.metric.Dim() == 0 || len(t.w)%t.metric.Dim() != 0):
		return fmt.Errorf("query: %v: metric of dimension %d: must be the number of features, of which the point's %d coordinates are a multiple", t.kind, t.metric.Dim(), len(t.w))
	case t.kind == MetricGradient && !(t.slope >= least && t.slope <= most):
		return fmt.Errorf("query: %v: slope = %v: must be between 2^-200 and 2^200", t.kind, t.slope)
	}
	return nil
}
