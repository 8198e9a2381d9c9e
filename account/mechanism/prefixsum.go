package mechanism

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// PrefixSums describes a prefix-sum release: after each item, the sum of all items so far is released, as in DP-FTRL
// (Kairouz et al. 2021). It states how often a record contributes, and which matrix correlates the noise of the
// answers. All answers together are one Gaussian mechanism: a matrix times the items, plus N(0, sigma^2 I). The prefix
// sums are computed from the mechanism's output, so completing a tree or averaging its nodes costs no privacy. Items
// must be large enough for Participations items at the distance Separation; otherwise [newTree] and [newToeplitz]
// return an error.
type PrefixSums struct {
	// Items is the number of items, or the number of items of one tree if trees are restarted. It must
	// be in [1, 2^20].
	Items int
	// Participations is the largest number of items to which one record contributes. Separation is the
	// least distance between any two of these items.
	Participations, Separation int
	// Bands is the number of diagonals of the square-root Toeplitz matrix that are kept. If Bands
	// equals Items, all diagonals are kept. For a tree Bands must be 0.
	Bands int
}

// prefixMost is the largest number of items. It bounds the memory for a column of the matrix and
// keeps counts exact.
const prefixMost = 1 << 20

func (s PrefixSums) validate() error {
	switch {
	case s.Items < 1 || s.Items > prefixMost:
		return fmt.Errorf("account: items = %d: must be within [1, 2^20]", s.Items)
	case s.Participations < 1 || s.Participations > s.Items:
		return fmt.Errorf("account: participations = %d: must be within [1, items], and there are %d", s.Participations,
			s.Items)
	case s.Separation < 1 || s.Separation > s.Items:
		return fmt.Errorf("account: separation = %d: must be within [1, items], and there are %d", s.Separation, s.Items)
	case s.Participations > 1+(s.Items-1)/s.Separation:
		return fmt.Errorf("account: participations = %d: must be at most %d, as many as fit into %d items %d apart",
			s.Participations, 1+(s.Items-1)/s.Separation, s.Items, s.Separation)
	}
	return nil
}

// newTree returns the binary tree mechanism (Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011). Every
// complete block of 2^j items that starts at a multiple of 2^j is a node, and every node is released with noise. The
// noise has standard deviation multiplier times C, the largest norm of one record's contribution to an item. If the sum
// is restarted with a new tree, each tree is a mechanism of its own: a record that is in k trees is charged for k
// trees. A record that is in only one tree is charged for the largest tree. multiplier must be in [0.02, 1e7].
//
// Let p be the items to which a record contributes. A node that covers c items of p contains c contributions of the
// record. The squared norm of the record, in units of C^2, is at most the sum of c^2 over nodes, attained by equal
// contributions. A node of 2^j items covers at most min(Participations, ceil(2^j/Separation)) items of p. So the sum of
// c^2 over a level is largest if one node after the other is filled to this number. This bound is exact for one
// participation, and also if both Separation and Items are powers of two.
func newTree(multiplier float64, s PrefixSums, r Relation) (Mechanism, error) {
	if s.Bands != 0 {
		return nil, fmt.Errorf("account: bands = %d: must be 0 for a tree", s.Bands)
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return newPrefix(multiplier, s.treeSquare(), r, fmt.Sprintf("tree of %d items", s.Items), s)
}

// treeSquare returns an upper bound on the sum, over all nodes of the tree, of the squared norm of
// one record's contributions to the node, in units of C^2, where C is the largest norm of one
// contribution. It is a whole number below 2^62.
func (s PrefixSums) treeSquare() float64 {
	var sum int
	for level := range bits.Len(uint(s.Items)) {
		block := 1 << level
		most := min(s.Participations, (block+s.Separation-1)/s.Separation)
		full := min(s.Participations/most, s.Items/block)
		sum += full * most * most
		if full < s.Items/block {
			rest := s.Participations - full*most
			sum += rest * rest
		}
	}
	return float64(sum)
}

// newToeplitz returns the square-root mechanism (Fichtenberger, Henzinger & Upadhyay 2023). The items are multiplied by
// the lower triangular Toeplitz matrix with binom(2k, k)/4^k on diagonal k. The first Bands diagonals of it are kept;
// the others are set to 0 (Kalinin & Lampert 2024). The noise added has standard deviation multiplier times C, the
// largest norm of one record's contribution to an item. multiplier must be in [0.02, 1e7].
//
// The entries e_k of the matrix, binom(2k, k)/4^k, are positive and decrease. The inner product of columns i < j, the
// sum over t of e_(t-i) e_(t-j), therefore decreases with j - i and, for a given j - i, with j. Participations at 0,
// Separation, 2 Separation, ... are nearest to each other and to the start, so they have the largest norm. The entries
// used here are exact. A curator that rounds the entries must charge for the rounded entries.
func newToeplitz(multiplier float64, s PrefixSums, r Relation) (Mechanism, error) {
	if s.Bands < 1 || s.Bands > s.Items {
		return nil, fmt.Errorf("account: bands = %d: must be within [1, items], and there are %d", s.Bands, s.Items)
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("toeplitz sum of %d items, %d bands", s.Items, s.Bands)
	return newPrefix(multiplier, s.toeplitzSquare(), r, name, s)
}

// toeplitzSquare returns the squared norm of v, rounded up. v is the sum of the matrix columns 0, Separation, 2
// Separation, ..., one for each participation. Let e_k be the entry on diagonal k of the matrix, so that column j has
// the entry e_(t-j) in row t. Then v_t = e_t + v_(t-Separation) - e_(t - Participations Separation): the subtracted
// term is the column that would follow the last participation, and is zero before its first row.
func (s PrefixSums) toeplitzSquare() float64 {
	e, v := make([]dd, s.Items), make([]dd, s.Items)
	x := dd{1, 0}
	for k := range s.Bands {
		e[k] = x
		x = x.mulFloat(float64(2*k + 1)).div(dd{float64(2*k + 2), 0})
	}
	var sum dd
	for t := range v {
		v[t] = e[t]
		if t >= s.Separation {
			v[t] = v[t].add(v[t-s.Separation])
		}
		if last := t - s.Separation*s.Participations; last >= 0 {
			v[t] = v[t].sub(e[last])
		}
		sum = sum.add(v[t].mul(v[t]))
	}
	return sum.hi * (1 + 0x1p-50)
}

// newPrefix returns the Gaussian mechanism of a prefix sum. square is the squared sensitivity of
// all its answers together under add-or-remove, in units of the squared largest norm of one
// contribution. Under replace-one the sensitivity is twice as large.
func newPrefix(multiplier, square float64, r Relation, name string, s PrefixSums) (Mechanism, error) {
	if err := positive("noise multiplier", multiplier); err != nil {
		return nil, err
	}
	if !r.Valid() {
		return nil, fmt.Errorf("account: relation = %v: must be replace-one or add-or-remove", r)
	}
	sensitivity := math.Sqrt(square)
	if math.FMA(sensitivity, sensitivity, -square) < 0 {
		sensitivity = round.Up(sensitivity)
	}
	if r == ReplaceOne {
		sensitivity *= 2
	}
	if s.Participations > 1 {
		name += fmt.Sprintf(", %d participations %d apart", s.Participations, s.Separation)
	}
	return prefixGaussian{boundGaussian{gaussianMechanism{multiplier, sensitivity}, r}, name, multiplier}, nil
}

// prefixGaussian is the Gaussian mechanism of a prefix sum. stated is the noise multiplier that the caller gave: the
// noise's standard deviation divided by the largest norm of one contribution to an item.
type prefixGaussian struct {
	boundGaussian
	name   string
	stated float64
}

func (m prefixGaussian) String() string {
	return fmt.Sprintf("%s(noise multiplier %v, %v)", m.name, m.stated, m.under)
}
