package query

import (
	"math"
	"slices"
)

// MaxDiagonal is the largest dimension of a diagonal metric.
const MaxDiagonal = 1 << 24

// NewDiagonal returns the metric of the diagonal matrix with the given entries, for tables of more
// features than [MaxPairs]. Entries are rounded to multiples of the metric's rounding unit
// ([Metric.Step]). The metric takes 4 bytes for each feature. The length of the matrix times a row is
// computed in time proportional to the row's number of nonzero features. It is an error if there are no
// entries or more than MaxDiagonal, if an entry is not finite, or if the largest absolute value of the
// entries is outside [2^-40, 2^40]. Weighted kinds do not accept a diagonal metric.
func NewDiagonal(entries []float64) (Metric, error) {
	return NewBlocks(entries, nil, nil)
}

// Diagonal reports whether the metric was made by NewDiagonal or NewBlocks.
func (m Metric) Diagonal() bool { return m.m != nil && m.m.diagonal }

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
func SquaredFeaturesOf(c Cohort, dim int) Term {
	return BlockMomentOf(c, make([]bool, max(dim, 0)))
}

// along returns an example of a diagonal metric: it has the entries 1 + |v_j|/max |v|, each with the
// sign of v_j.
func along(v []float64) Metric {
	big := least
	for _, x := range v {
		big = max(big, math.Abs(x))
	}
	entries := make([]float64, len(v))
	for j, x := range v {
		entries[j] = math.Copysign(1+math.Abs(x)/big, x)
	}
	m, _ := NewDiagonal(entries) // the zero Metric, which is refused, if v is not finite
	return m
}
