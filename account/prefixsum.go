package account

import (
	"fmt"
	"math"
	"math/bits"
)

// PrefixSums describes a prefix-sum release, by which DP-FTRL releases the sum of all items so far
// after each item (Kairouz et al. 2021): how often a record contributes, and which matrix
// correlates the noise of the answers. All answers together are one Gaussian mechanism: a matrix
// times the items, plus N(0, sigma^2 I). The prefixes are computed from its output, so that
// completing a tree or averaging its nodes costs no privacy. Participations must fit into Items at
// the distance Separation; otherwise [NewTree] and [NewToeplitz] return an error.
type PrefixSums struct {
	// Items is the number of items. If trees are restarted it is the number of items of one tree.
	// It must be in [1, 2^20].
	Items int
	// Participations is the largest number of items to which one record contributes. Any two of
	// these items are at least Separation apart.
	Participations, Separation int
	// Bands is the number of diagonals of the square-root Toeplitz matrix that are kept; Items
	// keeps all of them. For a tree it must be 0.
	Bands int
}

// prefixMost is the largest number of items. It bounds the memory for a matrix column and keeps
// counts exact.
const prefixMost = 1 << 20

func (s PrefixSums) validate() error {
	switch {
	case s.Items < 1 || s.Items > prefixMost:
		return fmt.Errorf("account: items = %d: must be within [1, 2^20]", s.Items)
	case s.Participations < 1 || s.Participations > s.Items:
		return fmt.Errorf("account: participations = %d: must be within [1, items], and there are %d", s.Participations, s.Items)
	case s.Separation < 1 || s.Separation > s.Items:
		return fmt.Errorf("account: separation = %d: must be within [1, items], and there are %d", s.Separation, s.Items)
	case s.Participations > 1+(s.Items-1)/s.Separation:
		return fmt.Errorf("account: participations = %d: must be at most %d, as many as fit into %d items %d apart", s.Participations, 1+(s.Items-1)/s.Separation, s.Items, s.Separation)
	}
	return nil
}

// NewTree returns the binary tree mechanism (Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song
// 2011). Every complete block of 2^j items that starts at a multiple of 2^j is a node, and every
// node is released with noise. The noise has standard deviation multiplier times the largest norm C
// of one record's contribution to an item. A restarted tree is a second mechanism: a record in k
// trees pays for k trees, and a record in one tree pays for the largest tree. multiplier must be in
// [0.02, 1e7].
//
// Let p be the items to which a record contributes. A node that covers c items of p holds c
// contributions of the record. The squared norm of the record, in units of C^2, is at most the sum
// of c^2 over nodes, attained by equal contributions. A node of 2^j items covers at most
// min(Participations, ceil(2^j/Separation)) items of p, so that the sum over a level is at most the
// sum for nodes that are filled one after the other. This bound is exact for one participation, and
// if both Separation and Items are powers of two.
func NewTree(multiplier float64, s PrefixSums, r Relation) (Mechanism, error) {
	if s.Bands != 0 {
		return nil, fmt.Errorf("account: bands = %d: must be 0 for a tree", s.Bands)
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return newPrefix(multiplier, s.treeSquare(), r, fmt.Sprintf("tree of %d items", s.Items), s)
}

// treeSquare returns the squared norm of a record, a whole number below 2^62.
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

// NewToeplitz returns the square-root mechanism (Fichtenberger, Henzinger & Upadhyay 2023). The
// items are multiplied by the lower triangular Toeplitz matrix with binom(2k, k)/4^k on diagonal k,
// of which the first Bands diagonals are kept (Kalinin & Lampert 2024). The noise added has
// standard deviation multiplier times the largest norm C of one record's contribution to an item.
// multiplier must be in [0.02, 1e7].
//
// The entries e_k are positive and decrease. The inner product of columns i < j, the sum over t of
// e_(t-i) e_(t-j), therefore decreases with j - i and, for a given j - i, with j. Participations at
// 0, Separation, 2 Separation, ... are nearest to each other and to the start, so that they have
// the largest norm. The entries are exact; a curator that rounds them must charge for its rounded
// entries.
func NewToeplitz(multiplier float64, s PrefixSums, r Relation) (Mechanism, error) {
	if s.Bands < 1 || s.Bands > s.Items {
		return nil, fmt.Errorf("account: bands = %d: must be within [1, items], and there are %d", s.Bands, s.Items)
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("toeplitz sum of %d items, %d bands", s.Items, s.Bands)
	return newPrefix(multiplier, s.toeplitzSquare(), r, name, s)
}

// toeplitzSquare returns the squared norm of the sum v of the columns 0, Separation, ..., rounded
// up. v_t is e_t + v_(t-Separation), minus the entry e of the column beyond the last participation.
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

// newPrefix returns the Gaussian mechanism whose squared sensitivity is square under add-or-remove.
func newPrefix(multiplier, square float64, r Relation, name string, s PrefixSums) (Mechanism, error) {
	if err := positive("noise multiplier", multiplier); err != nil {
		return nil, err
	}
	if !r.Valid() {
		return nil, fmt.Errorf("account: relation = %v: must be replace-one or add-or-remove", r)
	}
	sensitivity := math.Sqrt(square)
	if math.FMA(sensitivity, sensitivity, -square) < 0 {
		sensitivity = up(sensitivity)
	}
	if r == ReplaceOne {
		sensitivity *= 2
	}
	if s.Participations > 1 {
		name += fmt.Sprintf(", %d participations %d apart", s.Participations, s.Separation)
	}
	return prefixGaussian{boundGaussian{gaussianMechanism{multiplier, sensitivity}, r}, name, multiplier}, nil
}

// prefixGaussian is the Gaussian mechanism of a prefix sum. stated is the noise multiplier of an
// item.
type prefixGaussian struct {
	boundGaussian
	name   string
	stated float64
}

func (m prefixGaussian) String() string {
	return fmt.Sprintf("%s(noise multiplier %v, %v)", m.name, m.stated, m.under)
}
