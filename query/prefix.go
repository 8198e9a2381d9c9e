package query

import (
	"context"
	"fmt"
	"math"
	"math/bits"
)

// Factorization is the choice of the mechanism that answers a [Prefix] query, a sequence of noisy
// prefix sums. Each mechanism factorizes the matrix that sums the items, which determines how the
// noise of different answers is correlated.
type Factorization uint8

const (
	// Tree is the binary tree mechanism: every item of the sum is added to each node above it in a
	// binary tree, and every node has its own noise. A prefix sum is the sum of the nodes in the
	// binary expansion of its length (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song
	// 2011). Tree stores as many vectors as the number of items (Prefix.Items) has binary digits.
	Tree Factorization = iota + 1
	// Toeplitz is the square-root mechanism: it multiplies the vector of items by the square root of
	// the lower triangular matrix of ones, adds noise, and multiplies by this square root again
	// (Fichtenberger, Henzinger and Upadhyay 2023). From 8 items on, the largest variance of its answers
	// is less than a quarter of the largest variance of Tree's answers. It stores two vectors for each
	// item and reads all of them for every answer.
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
// released. An item is a sum of clipped per-record vectors over a set of records (a [Cohort]), divided by
// the cohort's declared size. Each item has another cohort. All fields are fixed before the first item.
// The zero Prefix is invalid.
type Prefix struct {
	// Factorization is the mechanism, which determines how the noise of different answers is correlated.
	Factorization Factorization
	// Items is the largest number of items.
	Items int
	// Sensitivity is a declared upper bound on the norm of the change of an item, a mean over a
	// cohort, when one record changes. For a clip norm clip and a cohort of declared size size, the
	// bound may be 2 clip/size under replace-one and clip/size under add-or-remove. An item whose
	// sensitivity exceeds the bound is refused.
	Sensitivity float64
	// Charge is the charge for each item, in units of mu^2 of mu-GDP. It is charged to the records of
	// the item's cohort. It covers the effect of the item on this answer and on all later answers.
	Charge float64
}

// maxTreeItems and maxToeplitzItems bound the number of items of a prefix sum. maxTreeItems is more
// than the possible number of cohorts, each of which contributes one item. maxToeplitzItems keeps the
// sum of the squares of a column of the square-root matrix exact in 64 bits.
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

// Sigma predicts the standard deviation of the noise in each coordinate of the t-th answer, 1 <= t <=
// Items, with a relative error of at most 2^-8. The Sigma of the [Release] that holds an answer is
// exact. For Toeplitz it takes time linear in Items. p must be valid.
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

// PrefixSum is a sequence of noisy prefix sums that has been opened in a session and accepts further
// items. Only sessions create PrefixSums.
type PrefixSum interface {
	// Add adds the next item, the terms' sum over their cohort divided by the cohort's declared
	// size. It returns the noisy sum of all items so far.
	Add(ctx context.Context, terms ...Term) (Release, error)
}
