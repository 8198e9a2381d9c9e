package query

import (
	"fmt"
	"math"
	"slices"
)

// NewBlocks returns the metric of a matrix that is zero off its diagonal except for one block, for tables with many
// levels. whole has the features of the block, in increasing order, and block the symmetric matrix of these features,
// row after row. entries has the diagonal; its entries for features in the block are not used. The length of the
// matrix times a row is computed in time proportional to the number of the row's nonzero features outside the block,
// and of pairs of them inside. For the rest see [NewDiagonal], which has no block, and [NewMetric]. The block has at
// most [MaxPairs] features.
func NewBlocks(entries []float64, whole []int, block []float64) (Metric, error) {
	d, k := len(entries), len(whole)
	if d < 1 || d > MaxDiagonal {
		return Metric{}, fmt.Errorf("query: diagonal metric: dimension = %d: must be between 1 and %d", d, MaxDiagonal)
	}
	if k > MaxPairs || len(block) != k*k {
		return Metric{}, fmt.Errorf("query: block of %d features with %d entries: must have at most %d features, and an entry "+
			"for each two of them", k, len(block), MaxPairs)
	}
	alone := slices.Clone(entries)
	for i, j := range whole {
		if j < 0 || j >= d || i > 0 && j <= whole[i-1] {
			return Metric{}, fmt.Errorf("query: block: feature %d = %d: must be in increasing order, and below %d", i, j, d)
		}
		alone[j] = 0
	}
	step, err := unitOf("diagonal metric", append(slices.Clone(alone), block...), 0)
	if err != nil {
		return Metric{}, err
	}
	m := &metric{dim: d, diagonal: true, step: step, upper: make([]int32, d), whole: slices.Clone(whole)}
	for j, x := range alone {
		m.upper[j] = int32(math.RoundToEven(x / step))
	}
	if k > 0 {
		if m.inner, err = roundedTo(k, block, step); err != nil {
			return Metric{}, err
		}
	}
	m.norm = m.bound()
	return Metric{m}, nil
}

// Block returns the features of the metric's block, in increasing order, and the metric of its matrix. It returns
// nil and the zero Metric for a metric without a block.
func (m Metric) Block() (whole []int, inner Metric) {
	if m.matrix().inner == nil {
		return nil, Metric{}
	}
	return slices.Clone(m.m.whole), Metric{m.m.inner}
}

// blockRow is Row for a metric whose matrix is zero off its diagonal except for a block.
func (m Metric) blockRow(dst []int64, j int) {
	clear(dst)
	dst[j] = m.Entry(j)
	if i, in := slices.BinarySearch(m.m.whole, j); in {
		row := make([]int64, len(m.m.whole))
		Metric{m.m.inner}.Row(row, i)
		for k, v := range row {
			dst[m.m.whole[k]] = v
		}
	}
}

// within sets the coordinates of out that are in the metric's block to those of v times the block, for each of the
// vectors in v.
func within[T float64 | int64](m *metric, out, v []T, times func(Metric, []T) []T) {
	if m == nil || m.inner == nil {
		return
	}
	in := make([]T, 0, len(v)/m.dim*len(m.whole))
	for at := 0; at < len(v); at += m.dim {
		for _, j := range m.whole {
			in = append(in, v[at+j])
		}
	}
	in = times(Metric{m.inner}, in)
	for at := 0; at < len(out); at += m.dim {
		for i, j := range m.whole {
			out[at+j] = in[i]
		}
		in = in[len(m.whole):]
	}
}

// BlockMomentOf returns the term of the per-record squares x_j^2 of all features, and of the products x_j x_k of the
// pairs of features in a block: the features j for which whole[j] is true. It does not depend on the loss. The answer
// has the squares of all features, then for each feature of the block, in increasing order, the products with the later
// features of the block, times sqrt 2. [BlockOf] converts it to the block's matrix. The number of features
// is not limited to [MaxPairs], but the number of those in the block is.
//
// The answer is the svec (see [SecondMomentOf]) of the parts of x x' on the diagonal and in the block. That matrix is the
// direct sum of y y', for the features y in the block, and of the squares of the others: it is positive semidefinite, and
// its Frobenius norm is at most its trace ||x||^2 <= 1. Two records' matrices have an inner product that is not
// negative, so that the angle between their vectors is at most a right angle. For n records and a charge in units of
// mu^2, the noise in each coordinate has standard deviation Sigma = sqrt 2/(n sqrt(charge)) under
// replace-one and 1/(n sqrt(charge)) under add-or-remove: the same as for squares alone.
func BlockMomentOf(c Cohort, whole []bool) Term {
	w := make([]float64, len(whole))
	for j, in := range whole {
		if in {
			w[j] = 1
		}
	}
	return Term{kind: SquaredFeatures, cohort: c, weight: 1, w: w, ball: ClipBall{Radius: 1}}
}

// Whole returns the features in the block of a term made by BlockMomentOf, in increasing order.
func (t Term) Whole() (features []int) {
	for j, v := range t.w {
		if v == 1 && t.kind.Facts().Blocks {
			features = append(features, j)
		}
	}
	return features
}

// inBlock returns the number of features in the term's block, and pairs the number of their pairs.
func (t Term) inBlock() (n int) {
	if !t.kind.Facts().Blocks {
		return 0
	}
	for _, v := range t.w {
		n += int(v)
	}
	return n
}

func (t Term) pairs() int { n := t.inBlock(); return n * (n - 1) / 2 }

// blockShape returns an error if the point of a term does not say of each feature whether it is in the block, or if
// too many are.
func (t Term) blockShape() error {
	for j, v := range t.w {
		if v != 0 && v != 1 {
			return fmt.Errorf("query: %v: block: coordinate %d = %v: must be 0 or 1", t.kind, j, v)
		}
	}
	if n := t.inBlock(); n > MaxPairs {
		return fmt.Errorf("query: %v: block of %d features: must be at most %d", t.kind, n, MaxPairs)
	}
	return nil
}

// BlockOf returns the symmetric matrix of the features in the block, row after row, for an answer to a query
// made by [BlockMomentOf] about dim features.
func BlockOf(answer []float64, dim int, whole []int) []float64 {
	k, pairs := len(whole), answer[dim:]
	matrix := make([]float64, k*k)
	for i, j := range whole {
		matrix[i*k+i] = answer[j]
		for l := i + 1; l < k; l++ {
			matrix[i*k+l], matrix[l*k+i] = pairs[0]/math.Sqrt2, pairs[0]/math.Sqrt2
			pairs = pairs[1:]
		}
	}
	return matrix
}

// MaxDiagonal is the largest dimension of a diagonal metric.
const MaxDiagonal = 1 << 24

// NewDiagonal returns the metric of the diagonal matrix with the given entries, for tables of more features than
// [MaxPairs]. Entries are rounded to multiples of the metric's rounding unit ([Metric.Step]). The metric takes 4 bytes
// for each feature. The length of the matrix times a row is computed in time proportional to the row's number of
// nonzero features. It is an error if there are no entries or more than MaxDiagonal, if an entry is not finite, or if
// the largest absolute value of the entries is outside [2^-40, 2^40]. Weighted kinds do not accept a diagonal metric.
func NewDiagonal(entries []float64) (Metric, error) { return NewBlocks(entries, nil, nil) }

// Diagonal reports whether the metric was made by NewDiagonal or NewBlocks.
func (m Metric) Diagonal() bool { return m.matrix().diagonal }

// Entry returns the j-th diagonal entry of the metric's matrix as a multiple of the metric's rounding
// unit (Metric.Step).
func (m Metric) Entry(j int) int64 {
	if m.m.diagonal {
		if i, in := slices.BinarySearch(m.m.whole, j); in {
			return Metric{m.m.inner}.Entry(i)
		}
		return int64(m.m.upper[j])
	}
	return int64(m.m.upper[j*m.m.dim-j*(j-1)/2])
}

// entries returns the number of entries that the metric stores.
func (m *metric) entries() int {
	if m.diagonal {
		return m.dim
	}
	return m.dim * (m.dim + 1) / 2
}

// largest returns the largest absolute value of the integers in upper. For a diagonal matrix it is the
// operator norm, in multiples of the metric's rounding unit.
func (m *metric) largest() float64 {
	var big int32
	for _, v := range m.upper {
		big = max(big, v, -v)
	}
	return float64(big)
}

// SquaredFeaturesOf returns the term of the per-record vector of squares x_j^2, for dim features x: the
// diagonal of x x'. It does not depend on the loss. The answer has one coordinate for each feature. The
// number of features is not limited to [MaxPairs].
//
// Squares are not negative and add up to ||x||^2 <= 1. The vector therefore has norm at most 1, and the
// angle between the vectors of two records is at most a right angle. For n records and a charge in units of
// mu^2, the noise in each coordinate has standard deviation Sigma = sqrt 2/(n sqrt(charge)) under
// replace-one and 1/(n sqrt(charge)) under add-or-remove.
func SquaredFeaturesOf(c Cohort, dim int) Term { return BlockMomentOf(c, make([]bool, max(dim, 0))) }
