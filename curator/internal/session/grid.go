package session

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// grid holds the numbers by which one answer is computed exactly. Contributions are rounded to multiples
// of a grid step, which is 1/scale, and added as integers. The noise is a normal with standard deviation
// 2^bits steps, rounded to whole steps. sensitivity and sigma are in the query's units, not in steps.
//
// docs/explanation/exactness.md derives the following. Let C be the clip norm, d the number of coordinates,
// and slack the largest relative excess of a computed contribution over C. A record's residual is its
// contribution less a public centre. Rounding moves the contribution by at most half a step in each
// coordinate, hence by a vector of norm at most sqrt(d)/2 steps. Rounding moves the centre by at most as
// much. The residual therefore has norm at most C(1+slack) scale + sqrt(d) steps. This bounds how much the
// sum changes if a record is added or removed. If a record is replaced, the centre cancels, and the sum
// changes by at most 2C(1+slack) scale + sqrt(d) steps.
//
// Two things change these bounds. A query whose sum is multiplied by a metric's matrix rounds contributions
// on a coarser grid (see sumScale), and a kind of query may round more often. The function rounding returns
// the term that replaces sqrt(d) in these cases.
type grid struct {
	bits        int
	scale       float64
	sensitivity float64
	sigma       float64
}

const (
	// The noise is 2^bits times a standard normal. minBits and maxBits are the smallest and the largest
	// allowed number bits. With minBits, the rounding of contributions is already far below the noise. With
	// wantBits or more, the sensitivity that rounding adds, sqrt(d) steps in d coordinates, is negligible
	// compared with the noise.
	minBits, wantBits, maxBits = 20, 32, 48
	// maxContribution is the largest contribution in grid steps: half of the largest number, 2^51,
	// that the engine rounds correctly.
	maxContribution = 0x1p50
	// maxTotal is an upper bound on the sum of all contributions in grid steps, so that int64 has
	// room for the sum and the noise.
	maxTotal = 0x1p61
)

// slack returns an upper bound on the relative excess of a computed contribution over its clip norm,
// for d coordinates. The term 2^-20 covers two things: rows are stored with a squared norm of up to 1
// + 2^-22, which lengthens contributions by at most 2^-21, and rounding errors of adding up to 2^16
// terms. The term (d+16) 2^-50 covers the roundings of dot products, clips and products.
func slack(d int) float64 { return 0x1p-20 + float64(d+16)*0x1p-50 }

// newGrid chooses a grid for a query. The noise has the charge that the query offers. The argument rows is
// an upper bound on the number of records.
func newGrid(q query.Question, r account.Relation, rows float64) (grid, error) {
	return gridFor(q, q.Facts().Moves(r), q.Charge(), rows)
}

// gridFor chooses a grid whose sensitivity is factor times the clip norm, plus rounding errors, and whose
// noise has the given charge. The argument rows is an upper bound on the number of records. gridFor returns
// an error if contributions or sums exceed their limits with every allowed number of bits.
func gridFor(q query.Question, factor, charge, rows float64) (grid, error) {
	d := q.PointDim()
	root := rounding(q)
	clip := q.Clip() * (1 + slack(d))
	size := reach(q)
	z := math.Sqrt(charge)
	start := startBits(root, z)
	if q.Facts().Lifted {
		start = maxBits // the product with the metric's integers takes some of these bits
	}
	for bits := start; bits >= minBits; bits-- {
		g := grid{bits: bits}
		noise := math.Ldexp(1, bits)
		// The factor 1 - 2^-44 keeps the charge, after all roundings, below the charge offered.
		g.scale = (float64(noise*z*(1-0x1p-44)) - root) / (factor * clip)
		if !(g.scale > 0) || math.IsInf(g.scale, 0) {
			break
		}
		if most := float64(size*sumScale(q, g)*(1+slack(d))) + 1; !(most <= maxContribution && most*rows <= maxTotal) {
			continue
		}
		if q.Facts().Lifted && !(float64((clip*g.scale+root)*rows) <= maxTotal) {
			continue
		}
		g.sensitivity = (factor*clip + root/g.scale) * (1 + 0x1p-50)
		g.sigma = noise / g.scale * (1 - 0x1p-50)
		return g, nil
	}
	return grid{}, fmt.Errorf("curator: charge = %v: no exact grid for clip norm %v, %d coordinates and %.0f records",
		charge, q.Clip(), q.Dim(), rows)
}

// startBits returns the number of bits from which the search for a grid starts. This is wantBits,
// or more if rounding would add noticeably to the sensitivity, which happens at a small charge in
// high dimension.
func startBits(root, z float64) int {
	_, exp := math.Frexp(root / z)
	return min(max(exp+14, wantBits), maxBits)
}

// clips returns the number of clip norms by which one record can move a sum: 1 if a record is added
// or removed, and 2 if a record is replaced.
func clips(r account.Relation) float64 {
	if r == account.AddOrRemove {
		return 1
	}
	return 2
}

// reach returns an upper bound on the norm of a record's contribution to a query. The contribution includes
// its public centre.
func reach(q query.Question) float64 {
	var size float64
	for i := range q.Len() {
		t := q.Term(i)
		reach := t.Ball().Radius
		if t.Kind().Facts().Lifted {
			reach = t.Slope()
		}
		if c := math.Abs(t.Ball().Centre); t.Kind().Facts().Centre == query.AlongStep && c > 0 {
			reach += float64(c * t.Distance())
		}
		size += float64(t.Weight() * reach)
	}
	return size
}
