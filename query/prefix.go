package query

import (
	"context"
	"fmt"
	"math"
	"math/bits"
)

// Factorization is the matrix factorization that correlates the noise of a prefix sum's answers.
type Factorization uint8

const (
	// Tree adds an item to every node above it in a binary tree, and noise to every node. A prefix
	// is the sum of the nodes in the binary expansion of its length (Dwork, Naor, Pitassi and
	// Rothblum 2010; Chan, Shi and Song 2011). It stores as many vectors as Items has bits.
	Tree Factorization = iota + 1
	// Toeplitz multiplies the items by the square root of the matrix that sums them (Fichtenberger,
	// Henzinger and Upadhyay 2023). Its answers have at most a quarter of the tree's variance. It
	// stores two vectors for each item and reads them all for every answer.
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

// Prefix specifies a prefix sum: after each of up to Items items, the sum of all items so far is
// released. An item is the mean, over its own cohort's declared size, of clipped per-record
// vectors. All fields are fixed before the first item. The zero Prefix is invalid.
type Prefix struct {
	// Factorization correlates the noise.
	Factorization Factorization
	// Items is the largest number of items.
	Items int
	// Sensitivity is an upper bound on the distance by which one record moves its item, in the unit
	// of a mean: 2 clip/size under replace-one, clip/size under add-or-remove. An item that exceeds
	// it is refused.
	Sensitivity float64
	// Charge is the charge for each item, in units of mu^2. It is charged to the records of the
	// item's cohort and covers all answers from this item on.
	Charge float64
}

// maxTreeItems exceeds the possible number of cohorts. maxToeplitzItems keeps the sum of the
// squares of a column exact in 64 bits.
const maxTreeItems, maxToeplitzItems = math.MaxInt32, 1 << 20

// Validate returns an error for the first rule that p breaks.
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

// Sigma predicts the standard deviation of the noise in each coordinate of the t-th answer, 1 <= t
// <= Items, with a relative error of at most 2^-8. The Sigma of a [Release] is exact. For Toeplitz
// it takes time linear in Items. p must be valid.
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

// PrefixSum is an open prefix sum. Sessions create it.
type PrefixSum interface {
	// Add adds the next item, the terms' sum over their cohort divided by the cohort's declared
	// size. It returns the noisy sum of all items so far.
	Add(ctx context.Context, terms ...Term) (Release, error)
}
