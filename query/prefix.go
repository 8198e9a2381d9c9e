package query

import (
	"context"
	"fmt"
	"math"
	"math/bits"
)

// Factorization is how the noises of a prefix sum's answers depend on each other.
type Factorization uint8

const (
	// Tree adds an item to every node above it in a binary tree and noise to
	// every node; a prefix is the sum of the nodes in the binary expansion of
	// its length (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song
	// 2011). It keeps as many vectors as Items has bits.
	Tree Factorization = iota + 1
	// Toeplitz multiplies the items by the square root of the matrix that sums
	// them (Fichtenberger, Henzinger and Upadhyay 2023). Its answers have a
	// quarter of the tree's variance and less, but it keeps two vectors an item
	// and reads them all for every answer.
	Toeplitz
)

func (m Factorization) String() string {
	switch m {
	case Tree:
		return "tree"
	case Toeplitz:
		return "toeplitz"
	}
	return fmt.Sprintf("mechanism(%d)", uint8(m))
}

// Prefix says how a prefix sum is released: after each of up to Items items,
// the sum of all items so far. An item is the mean, over its own cohort's
// declared size, of clipped per-record vectors. Everything here is fixed before
// the first item. The zero Prefix is invalid.
type Prefix struct {
	// Factorization correlates the noise.
	Factorization Factorization
	// Items is the largest number of items.
	Items int
	// Sensitivity bounds how far one record moves its item, in the unit of a
	// mean: 2 clip/size under replace-one, clip/size under add-or-remove. An
	// item that exceeds it is refused.
	Sensitivity float64
	// Charge, in units of mu^2, is what each item is charged, to the records of
	// its own cohort, for all answers from that item on.
	Charge float64
}

// maxTreeItems is more than there can be cohorts. maxToeplitzItems keeps the
// squares of a column exact in 64 bits.
const maxTreeItems, maxToeplitzItems = math.MaxInt32, 1 << 20

// Validate reports the first rule that p breaks.
func (p Prefix) Validate() error {
	items := maxTreeItems
	switch p.Factorization {
	case Tree:
	case Toeplitz:
		items = maxToeplitzItems
	default:
		return fmt.Errorf("query: prefix sum: mechanism = %d: must be Tree or Toeplitz", uint8(p.Factorization))
	}
	if p.Items < 1 || p.Items > items {
		return fmt.Errorf("query: prefix sum: items = %d: must be between 1 and %d for %v", p.Items, items, p.Factorization)
	}
	if !(p.Sensitivity >= least && p.Sensitivity <= most) {
		return fmt.Errorf("query: prefix sum: sensitivity = %v: must be between 2^-200 and 2^200", p.Sensitivity)
	}
	if !(p.Charge > 0) || math.IsInf(p.Charge, 0) {
		return fmt.Errorf("query: prefix sum: charge = %v: must be finite and > 0", p.Charge)
	}
	return nil
}

// Sigma predicts the standard deviation of the noise in each coordinate of the
// t-th answer, 1 <= t <= Items, to a relative 2^-8: what [Release] states is
// exact. It takes time linear in Items for Toeplitz and makes sense only for a
// valid p.
func (p Prefix) Sigma(t int) float64 {
	noise := p.Sensitivity / math.Sqrt(p.Charge)
	if p.Factorization == Tree {
		return noise * math.Sqrt(float64(bits.Len(uint(p.Items))*bits.OnesCount(uint(t))))
	}
	var column, prefix float64
	for k, e := 0, 1.0; k < p.Items; k++ {
		square := float64(e * e)
		column += square
		if k < t {
			prefix += square
		}
		e *= float64(2*k+1) / float64(2*k+2)
	}
	return noise * math.Sqrt(float64(column*prefix))
}

// PrefixSum is an open prefix sum. Sessions make them.
type PrefixSum interface {
	// Add takes the terms' sum over their cohort, divided by the cohort's
	// declared size, as the next item, and returns the noisy sum of all items
	// so far.
	Add(ctx context.Context, terms ...Term) (Release, error)
}
