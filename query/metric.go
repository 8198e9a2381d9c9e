package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/simd"
)

// Metric is a public symmetric matrix R that defines the length by which contributions are clipped: for a
// record's gradient g, the vector R g is clipped, and the noisy mean of these vectors is released. A Metric
// is immutable. The zero Metric stands for no metric.
//
// R is the matrix P that NewMetric was given, rounded to multiples of Step. Step is a power of two between 2^-20 and
// 2^-19 times P's largest absolute entry. Contributions are measured by R, not by P. An optimizer that steps along the
// metric's matrix times an answer must therefore multiply by R ([Metric.Times]), not by P.
type Metric struct{ m *metric }

type metric struct {
	dim  int
	step float64
	// diagonal reports that upper holds the entries of the diagonal alone. The other entries are zero, except for those of
	// the features whole among each other, in increasing order, which inner holds in the same steps. upper is zero there.
	diagonal bool
	whole    []int
	inner    *metric
	// upper holds the entries of R as multiples of step, row after row, each row from its diagonal entry on.
	upper []int32
	norm  float64 // a bound on the operator norm of R, as a multiple of step
	// full holds all of R as multiples of step, once several vectors have been multiplied together (see products). It
	// takes 8 bytes for each pair of features.
	full []float64
	once sync.Once
}

// metricBits determines the rounding unit (Step) of a metric: the largest entry, as a multiple of the
// rounding unit, is at most 2^metricBits.
const metricBits = 20

// MaxPairs is the largest number of features for a query about pairs of features, and the largest
// dimension of a metric. Sums over pairs take 8 bytes for each pair and goroutine.
const MaxPairs = 2000

// NewMetric returns the metric of the symmetric matrix p of dim rows, given row after row. It rounds the entries to
// multiples of the metric's rounding unit ([Metric.Step]). It is an error if dim is not in [1, MaxPairs], if p does not
// have dim^2 entries, if an entry is not finite, if the largest absolute value of the entries is outside [2^-40, 2^40],
// or if entries (j, k) and (k, j) differ by more than the rounding unit. The matrix should be positive definite for
// sums to be well conditioned. NewMetric does not check this, and privacy does not depend on it.
func NewMetric(dim int, p []float64) (Metric, error) {
	if dim < 1 || dim > MaxPairs {
		return Metric{}, fmt.Errorf("query: metric: dimension = %d: must be between 1 and %d", dim, MaxPairs)
	}
	if len(p) != dim*dim {
		return Metric{}, fmt.Errorf("query: metric: %d entries: must be %d, the square of its dimension", len(p), dim*dim)
	}
	step, err := unitOf("metric", p, dim)
	if err != nil {
		return Metric{}, err
	}
	m, err := roundedTo(dim, p, step)
	return Metric{m}, err
}

// unitOf returns the rounding unit (Metric.Step) of a metric with the given entries: rows of dim numbers, or a list for dim = 0.
func unitOf(what string, p []float64, dim int) (step float64, err error) {
	var big float64
	for i, x := range p {
		if !finite(x) {
			place := fmt.Sprint(i)
			if dim > 0 {
				place = fmt.Sprintf("%d, %d", i/dim, i%dim)
			}
			return 0, fmt.Errorf("query: %s: entry %s = %v: must be finite", what, place, x)
		}
		big = max(big, math.Abs(x))
	}
	if !(big >= 0x1p-40 && big <= 0x1p40) {
		return 0, fmt.Errorf("query: %s: largest entry = %v: must be between 2^-40 and 2^40", what, big)
	}
	_, exp := math.Frexp(big)
	return math.Ldexp(1, exp-metricBits), nil
}

// roundedTo returns the metric of the symmetric matrix p, rounded to multiples of step.
func roundedTo(dim int, p []float64, step float64) (*metric, error) {
	m := &metric{dim: dim, step: step, upper: make([]int32, 0, dim*(dim+1)/2)}
	for j := range dim {
		for k := j; k < dim; k++ {
			x, y := p[j*dim+k], p[k*dim+j]
			if !(math.Abs(x-y) <= m.step) {
				return nil, fmt.Errorf("query: metric: entries %d, %d = %v and %d, %d = %v: must be equal", j, k, x, k, j, y)
			}
			m.upper = append(m.upper, int32(math.RoundToEven((x/2+y/2)/m.step)))
		}
	}
	m.norm = m.bound()
	return m, nil
}

// bound returns an upper bound on the operator norm of the metric's matrix, as a multiple of the
// rounding unit (Step): the smaller of the Frobenius norm and the largest sum of absolute values
// along a row. Each of them bounds the operator norm of a symmetric matrix. Both are computed from
// sums of fewer than 2^22 integers below 2^41, which are exact. For a diagonal matrix the result is the
// operator norm itself. With a block it is the larger one of the bounds for the block and for the rest of the diagonal.
func (m *metric) bound() float64 {
	if m.diagonal {
		most := m.largest()
		if m.inner != nil {
			most = max(most, m.inner.norm)
		}
		return most
	}
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
	return min(float64(slices.Max(sums)), math.Sqrt(float64(squares))*(1+0x1p-50))
}

// noMatrix is the matrix of the zero Metric.
var noMatrix metric

func (m Metric) matrix() *metric { return cmp.Or(m.m, &noMatrix) }

// Dim returns the number of rows.
func (m Metric) Dim() int { return m.matrix().dim }

// Step returns the metric's rounding unit, the power of two of which every entry of the matrix is a
// multiple. It returns 0 for the zero Metric.
func (m Metric) Step() float64 { return m.matrix().step }

// Row sets dst[k] to the matrix's entry in row j and column k as a multiple of the rounding unit
// (Step): an integer of at most 2^20 in absolute value. len(dst) must be Dim.
func (m Metric) Row(dst []int64, j int) {
	if m.m.diagonal {
		m.blockRow(dst, j)
		return
	}
	at := j // index in upper of the entry in row 0 and column j
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

// Norm returns an upper bound on the operator norm of the matrix, as a multiple of the rounding unit
// (Step): the smaller of the Frobenius norm and the largest sum of absolute values along a row,
// rounded up. For a diagonal matrix it returns the operator norm, and for the zero Metric 0.
func (m Metric) Norm() float64 { return m.matrix().norm }

// Times returns R v for the metric's matrix R. If v holds several vectors one after the other, it
// returns R times each of them. len(v) must be a multiple of Dim.
func (m Metric) Times(v []float64) []float64 {
	out := make([]float64, len(v))
	if m.m.blocks(len(v)) {
		m.m.blockedFloats(out, v)
		for i := range out {
			out[i] *= m.m.step
		}
		return out
	}
	for at, d := 0, m.Dim(); at < len(v); at += d {
		times(m.m, out[at:at+d], v[at:at+d])
		for i := at; i < at+d; i++ {
			out[i] *= m.m.step
		}
	}
	within(m.m, out, v, Metric.Times)
	return out
}

// TimesIntegers returns (R/Step) v for a vector v of integers, where R/Step is the metric's matrix as integer multiples
// of its rounding unit. Products and sums may wrap modulo 2^64. If v holds several vectors, each is multiplied.
func (m Metric) TimesIntegers(v []int64) []int64 {
	out := make([]int64, len(v))
	if m.m.blocks(len(v)) {
		m.m.blocked(out, v)
		return out
	}
	for at, d := 0, m.Dim(); at < len(v); at += d {
		times(m.m, out[at:at+d], v[at:at+d])
	}
	within(m.m, out, v, Metric.TimesIntegers)
	return out
}

// times sets out to (R/Step) v, where R/Step is the metric's matrix as integer multiples of its rounding unit. out must
// be zero before the call. For float64 each product and each sum is rounded, and the terms of every sum are added in
// the order of the columns. The symmetric matrix is stored as its upper triangle: an entry above the diagonal is read
// once and used for its row and for its column. Rows are processed four at a time, from the first to the last.
func times[T float64 | int64](m *metric, out, v []T) {
	if m.diagonal {
		for j, entry := range m.upper {
			out[j] = T(T(entry) * v[j])
		}
		return
	}
	d, upper, j := m.dim, m.upper, 0
	for ; j+4 <= d; j += 4 {
		var r [4][]int32
		for i := range r {
			r[i], upper = upper[:d-j-i], upper[d-j-i:]
		}
		for i := range 4 {
			for k := range 4 {
				entry := r[min(i, k)][max(i, k)-min(i, k)]
				out[j+i] += T(T(entry) * v[j+k])
			}
		}
		rest := d - j - 4
		r0, r1, r2, r3 := r[0][4:][:rest], r[1][3:][:rest], r[2][2:][:rest], r[3][1:][:rest]
		v0, v1, v2, v3 := v[j], v[j+1], v[j+2], v[j+3]
		s0, s1, s2, s3 := out[j], out[j+1], out[j+2], out[j+3]
		columns := out[j+4:][:rest]
		for k, x := range v[j+4:][:rest] {
			sum := columns[k]
			entry := T(r0[k])
			s0 += T(entry * x)
			sum += T(entry * v0)
			entry = T(r1[k])
			s1 += T(entry * x)
			sum += T(entry * v1)
			entry = T(r2[k])
			s2 += T(entry * x)
			sum += T(entry * v2)
			entry = T(r3[k])
			s3 += T(entry * x)
			sum += T(entry * v3)
			columns[k] = sum
		}
		out[j], out[j+1], out[j+2], out[j+3] = s0, s1, s2, s3
	}
	for ; j < d; j++ {
		for i, entry := range upper[:d-j] {
			out[j] += T(T(entry) * v[j+i])
			if i > 0 {
				out[j+i] += T(T(entry) * v[j])
			}
		}
		upper = upper[d-j:]
	}
}

// GradientInMetric returns the term of the metric's matrix R times the per-record gradient at w, clipped to norm clip.
// The gradient is phi' x for the features x and the slope phi' of the loss. The slope is clipped to [-clip/||R x||,
// clip/||R x||] and to [-slope, slope]. slope is a public bound such as the loss's Lipschitz constant. Without it a
// record with a small ||R x|| could have an unbounded slope. A query with this term can have no other term, and the
// loss must be a function of margins <w,x>. For several margins, phi' is a vector whose norm is clipped, and R
// multiplies each margin's gradient. The metric's dimension must be the number of features.
//
// The answer is mean R phi' x, with one coordinate for each coordinate of w. For n records and a charge in units of
// mu^2, the noise in each coordinate has standard deviation Sigma = 2 clip/(n sqrt(charge)) under replace-one and half
// of this under add-or-remove. R times the answer is a step of steepest descent in the metric.
//
// A session computes ||R x|| for all rows at the first query with a metric, in about d^2 operations for each row of d
// features (fewer if features are zero). It keeps the norms for the latest metric, in 4 bytes for each row. From a
// query about all rows, if these have 128 numbers or more, it also keeps the squares of slopes, in 8 bytes for each
// row, for SquaredSlopeAt at the same point. Further queries with that metric cost as much as gradients.
func GradientInMetric(c Cohort, w []float64, clip, slope float64, m Metric) Term {
	return Term{kind: MetricGradient, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: clip}, slope: slope,
		metric: m}
}

// SquaredSlopeAt returns the term of the per-record (||phi'|| ||R x||)^2 at w, for the slopes phi' of the
// record's loss, the record's features x and the metric's matrix R, clipped to [0, limit]. This number is
// the squared norm of the vector that GradientInMetric clips. For n records and a charge in units of mu^2,
// the noise of the answer has standard deviation Sigma = limit/(n sqrt(charge)) under replace-one and half
// of this under add-or-remove. If the mean is smaller than the noise, the answer may be negative.
func SquaredSlopeAt(c Cohort, w []float64, limit float64, m Metric) Term {
	return Term{kind: SquaredSlope, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: limit / 2, Centre: limit / 2}, metric: m}
}

// SecondMomentOf returns the term of the per-record x x', for dim features x. It does not depend on the
// loss. The answer is mean x x' as a vector (svec): the entries on and above the diagonal, row after row.
// The entries above the diagonal are multiplied by sqrt 2, so that the vector's norm is the matrix's
// Frobenius norm. [Symmetric] converts the vector to the matrix. dim must be at most [MaxPairs].
//
// The answer has dim (dim+1)/2 coordinates. For n records and a charge in units of mu^2, the noise in
// each coordinate has standard deviation Sigma = sqrt 2/(n sqrt(charge)) under replace-one, since the
// vectors of two records are at most sqrt 2 apart, and 1/(n sqrt(charge)) under add-or-remove. In the
// matrix, the noise of entries off the diagonal has standard deviation Sigma/sqrt 2.
func SecondMomentOf(c Cohort, dim int) Term {
	return Term{kind: SecondMoment, cohort: c, weight: 1, w: make([]float64, max(dim, 0)), ball: ClipBall{Radius: 1}}
}

// RowMeanOf returns the term of the per-record x, for dim features x. It does not depend on the loss. The answer is the
// mean row. Rows have norm at most 1. For n records and a charge in units of mu^2, each coordinate therefore has noise
// of standard deviation Sigma = 2/(n sqrt(charge)) under replace-one and half of this under add-or-remove.
func RowMeanOf(c Cohort, dim int) Term {
	return Term{kind: RowMean, cohort: c, weight: 1, w: make([]float64, max(dim, 0)), ball: ClipBall{Radius: 1}}
}

// SquaredDistanceFrom returns the term of the per-record ||x - m||^2, for the features x and a public point
// m, cut at limit: a number from 0 to limit. It does not depend on the loss. m is, for instance, a released
// mean row. For n records and a charge in units of mu^2, the noise has standard deviation Sigma = limit/(n
// sqrt(charge)) under replace-one and half of this under add-or-remove.
func SquaredDistanceFrom(c Cohort, m []float64, limit float64) Term {
	return Term{kind: SquaredDistance, cohort: c, weight: 1, w: clone(m),
		ball: ClipBall{Radius: limit / 2, Centre: limit / 2}}
}

// CentredMomentOf returns the term of the per-record z z', where z is x - m for the features x and a public point m,
// shortened to length radius if it is longer. It does not depend on the loss. m is, for instance, a released mean row.
// The answer is an svec, as for [SecondMomentOf]. The standard deviation of its noise is radius^2 times the one of
// SecondMomentOf: if all rows are near m, a small radius gives less noise. radius must be between 2^-20 and 2^20. The
// engine needs d^2/2 operations for each row of d features, even if most features are zero.
func CentredMomentOf(c Cohort, m []float64, radius float64) Term {
	t := Term{kind: CentredMoment, cohort: c, weight: 1, w: clone(m), ball: ClipBall{Radius: float64(radius * radius)}}
	if !(radius >= 0x1p-20 && radius <= 0x1p20) {
		t.err = fmt.Errorf("query: %v: radius = %v: must be between 2^-20 and 2^20", t.kind, radius)
	}
	return t
}

// CurvatureAt returns the term of the per-record c x x' at w, for the features x: the Hessian of a loss
// phi(<w,x>, y). c is phi's second derivative, clipped to [0, bound]. The answer is an svec, as for
// [SecondMomentOf]. The standard deviation of its noise is bound times the one of SecondMomentOf.
func CurvatureAt(c Cohort, w []float64, bound float64) Term {
	return Term{kind: Curvature, cohort: c, weight: 1, w: clone(w), ball: ClipBall{Radius: bound}}
}

// Symmetric returns the symmetric matrix whose svec is v, row after row, and its number of rows. An svec
// holds a matrix's entries on and above the diagonal, row after row. The entries above the diagonal are
// multiplied by sqrt 2. Answers to SecondMomentOf and CurvatureAt, for instance, are svecs. It is an error
// if len(v) is not d(d+1)/2 for a d >= 1.
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

// shaped returns an error if a kind about pairs of features has more than MaxPairs features, or if the
// metric or the limit on the slope of a kind with a metric is invalid.
func (t Term) shaped(f Facts) error {
	switch {
	case f.Blocks:
		return t.blockShape()
	case f.Pairs && len(t.w) > MaxPairs:
		return fmt.Errorf("query: %v: %d features: must be at most %d, since there is a sum for each pair of them", t.kind,
			len(t.w), MaxPairs)
	case f.Metric && (t.metric.Dim() == 0 || len(t.w)%t.metric.Dim() != 0):
		return fmt.Errorf("query: %v: metric of dimension %d: must be the number of features, of which the point's %d "+
			"coordinates are a multiple", t.kind, t.metric.Dim(), len(t.w))
	case f.Weighted:
		return t.weightedShape()
	case t.kind == MetricGradient && !(t.slope >= least && t.slope <= most):
		return fmt.Errorf("query: %v: slope = %v: must be between 2^-200 and 2^200", t.kind, t.slope)
	}
	return nil
}

// limb is the number of bits of the parts into which blocked takes integers apart, and limbs the number of parts. An
// entry of a metric is at most 2^20 steps and a row has at most MaxPairs entries, so that a sum of their products with
// parts is below 2^53, and is exact in float64.
const limb, limbs = 22, 3

// together is the number of vectors that are multiplied together at least. A single one is not worth the memory of the
// matrix's other half.
const together = 2

// blocks reports whether vectors, n numbers in all, are multiplied together.
func (m *metric) blocks(n int) bool {
	return m != nil && !m.diagonal && n >= together*m.dim && simd.AtOnce()
}

// blocked sets out to (R/Step) v for each of the vectors in v, as times does. It is for several vectors, and a
// metric that is not diagonal. Entries of v are taken apart into parts of few bits, whose products with
// the matrix are exact in float64.
func (m *metric) blocked(out, v []int64) {
	d := m.dim
	parts := make([]float64, quadruple(len(v)/d*limbs)*d)
	for i, x := range v {
		at := parts[i/d*limbs*d+i%d:]
		at[0], at[d], at[2*d] = float64(x&(1<<limb-1)), float64(x>>limb&(1<<limb-1)), float64(x>>(2*limb))
	}
	m.products(simd.AddProducts, parts, func(from, n int, sums []float64) {
		for k := 0; k*d < len(v); k++ {
			low, middle, high := sums[k*limbs*simd.Columns:], sums[(k*limbs+1)*simd.Columns:], sums[(k*limbs+2)*simd.Columns:]
			for j := range out[k*d+from:][:n] {
				out[k*d+from+j] = int64(low[j]) + int64(middle[j])<<limb + int64(high[j])<<(2*limb)
			}
		}
	})
}

// blockedFloats is blocked for float64, with the roundings and the order of additions of times.
func (m *metric) blockedFloats(out, v []float64) {
	d := m.dim
	rows := make([]float64, quadruple(len(v)/d)*d)
	copy(rows, v)
	m.products(simd.AddRoundedProducts, rows, func(from, n int, sums []float64) {
		for k := 0; k*d < len(v); k++ {
			copy(out[k*d+from:][:n], sums[k*simd.Columns:])
		}
	})
}

// quadruple returns n rounded up to a multiple of four.
func quadruple(n int) int { return (n + 3) / 4 * 4 }

// products multiplies rows, as many as a multiple of four, by some columns of the matrix together, and hands on the
// products with the n columns from one on: that of row k and column from + j is sums[k*simd.Columns+j].
func (m *metric) products(add func(c []float64, cs int, l []float64, ls int, b []float64, bs, m int), rows []float64,
	each func(from, n int, sums []float64)) {
	m.once.Do(m.write)
	d, stride := m.dim, m.stride()
	sums := make([]float64, len(rows)/d*simd.Columns)
	for from := 0; from < d; from += simd.Columns {
		clear(sums)
		for r := 0; r*d < len(rows); r += 4 {
			add(sums[r*simd.Columns:], simd.Columns, rows[r*d:], d, m.full[from:], stride, d)
		}
		each(from, min(simd.Columns, d-from), sums)
	}
}

// stride returns the distance of rows in full. It is an odd multiple of eight numbers, since caches hold few lines
// whose addresses differ by a power of two.
func (m *metric) stride() int { return (m.dim+simd.Columns-1)/simd.Columns*simd.Columns + 8 }

// write sets full to all entries of the matrix, as multiples of the rounding unit, row after row, with zeros beside
// them.
func (m *metric) write() {
	d, stride, upper := m.dim, m.stride(), m.upper
	m.full = make([]float64, d*stride)
	for j := range d {
		for k, v := range upper[:d-j] {
			m.full[j*stride+j+k], m.full[(j+k)*stride+j] = float64(v), float64(v)
		}
		upper = upper[d-j:]
	}
}
