package session

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/noise"
	"github.com/stillpoint-dp/stillpoint/query"
)

// newPrefixGrid chooses the grid of a prefix sum, in units of a mean: scale is the number of steps in a
// unit of an item. One record moves its item by at most D(1+slack) scale + sqrt(d) steps, where D is the
// declared sensitivity, slack bounds relative rounding errors and d is the number of coordinates. The noisy
// state is the mechanism's matrix times the items, plus noise. One record therefore moves the noisy state
// by at most this distance times the norm of a column of the matrix. This product is the sensitivity of the
// event that each item is charged. docs/explanation/exactness.md derives the grid. newPrefixGrid returns an
// error if no number of bits keeps contributions and sums within their limits.
func newPrefixGrid(spec query.Prefix, m mechanism, r account.Relation, dim int, rows float64) (grid, error) {
	shift, square := m.law()
	column := columnNorm(shift, square)
	root := math.Sqrt(float64(dim))
	// The factor 1 + 2^-49 covers the rounding of divisions by the cohort's size, in this file and
	// in the check of an item's sensitivity.
	bound := spec.Sensitivity * (1 + slack(dim)) * (1 + 0x1p-49)
	z := math.Sqrt(spec.Charge) / column
	for bits := min(startBits(root, z), noise.MaxBits-shift); bits >= minBits; bits-- {
		g := grid{bits: bits}
		one := math.Ldexp(1, bits)
		g.scale = (float64(one*z*(1-0x1p-44)) - root) / bound
		if !(g.scale > 0) || math.IsInf(g.scale, 0) {
			break
		}
		// The norm of a contribution's centre is at most the clip norm.
		most := float64(2*bound*g.scale) + 1
		// No row is in two items, and no entry of the mechanism's matrix exceeds 2^shift.
		total := math.Ldexp(float64(bound/clips(r)*g.scale)+1, shift) * rows
		if !(most <= maxContribution && total <= maxTotal) {
			continue
		}
		g.sensitivity = column * (bound + root/g.scale) * (1 + 0x1p-50)
		g.sigma = one / g.scale * (1 - 0x1p-50)
		return g, nil
	}
	return grid{},
		fmt.Errorf("curator: prefix sum: charge = %v: no exact grid for %d items, %d coordinates and %.0f records",
			spec.Charge, spec.Items, dim, rows)
}

// columnNorm returns the norm of a column of a prefix sum's matrix, whose entries are integers over
// 2^q: sqrt(square)/2^q, rounded up. The conversion, the root and the product have a relative error
// of less than 3/2^53.
func columnNorm(q int, square uint64) float64 {
	return math.Ldexp(math.Sqrt(float64(square))*(1+0x1p-50), -q)
}
