package account

import (
	"fmt"
	"math"
	"math/bits"
)

// PrefixSums says how the noises of a prefix sum's answers depend on each other
// and how often a record is in it. After each item the sum of all items so far
// is released (DP-FTRL: Kairouz et al. 2021); all answers together are one
// Gaussian mechanism: a matrix times the items, plus N(0, sigma^2 I). Prefixes
// are computed from that, so completing a tree or averaging its nodes costs
// nothing more.
type PrefixSums struct {
	// Items is the number of items, in one tree where trees are restarted.
	Items int
	// Participations is the largest number of items that one record is in;
	// any two of them are at least Separation apart.
	Participations, Separation int
	// Bands is, for the square-root Toeplitz matrix, the number of diagonals
	// that are kept; Items for all. For a tree it must be 0.
	Bands int
}

// prefixMost keeps the columns of a matrix in memory and counts exact.
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

// NewTree returns the binary tree mechanism (Dwork, Naor, Pitassi & Rothblum
// 2010; Chan, Shi & Song 2011): every complete block of 2^j items that starts at
// a multiple of 2^j is a node, and every node is released with noise of standard
// deviation multiplier times the largest norm C of one record's contribution to
// an item. A tree that is begun anew is a second mechanism: a record that is in
// k trees pays for k, and one that is in one tree for the longest.
//
// A record that is in the items p is a vector with c contributions at a node
// that covers c of p; the squared norm is the sum of c^2, over C^2, where the
// contributions agree, which no other case exceeds. A node of 2^j items covers
// at most min(Participations, ceil(2^j/Separation)) of p, so that a level's sum
// is at most that of nodes filled one after the other. This is exact for one
// participation, and for separations by powers of two where the number of items is
// one too; an upper bound otherwise.
func NewTree(multiplier float64, s PrefixSums, r Relation) (Mechanism, error) {
	if s.Bands != 0 {
		return nil, fmt.Errorf("account: bands = %d: must be 0 for a tree", s.Bands)
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return newPrefix(multiplier, s.treeSquare(), r, fmt.Sprintf("tree of %d items", s.Items), s)
}

// treeSquare returns the squared norm, a whole number below 2^62.
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

// NewToeplitz returns the square-root mechanism (Fichtenberger, Henzinger &
// Upadhyay 2023): the items are multiplied by the lower triangular Toeplitz
// matrix with binom(2k, k)/4^k on diagonal k, of which the first Bands are kept
// (Kalinin & Lampert 2024), and noise of standard deviation multiplier times
// the largest norm C of one record's contribution to an item is added.
//
// The entries e_k are positive and decrease, so the inner product of columns i
// < j, the sum over t of e_(t-i) e_(t-j), decreases with j - i and, for a given
// j - i, with j. Participations at 0, Separation, 2 Separation, ... are nearest
// to each other and to the start: they have the largest norm. Entries are those
// of exact arithmetic; a curator that rounds them charges its own.
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

// toeplitzSquare returns the squared norm of the sum v of the columns 0,
// Separation, ..., rounded up: v_t = e_t + v_(t-Separation), less the e that has
// taken part often enough.
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

// newPrefix returns the Gaussian mechanism of a squared norm.
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

// prefixGaussian is the Gaussian mechanism of a prefix sum; stated is the noise
// multiplier of an item.
type prefixGaussian struct {
	boundGaussian
	name   string
	stated float64
}

func (m prefixGaussian) String() string {
	return fmt.Sprintf("%s(noise multiplier %v, %v)", m.name, m.stated, m.under)
}
