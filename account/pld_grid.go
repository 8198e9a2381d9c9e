package account

import (
	"fmt"
	"math"
)

// gridLaw is a law on a lattice. mass[i] is the measure P of the loss on(i); the measure Q of that
// loss is e^-loss mass[i]. H(u) = sum of mass (1 - u e^-loss)+ increases with each mass.
type gridLaw struct {
	lattice
	mass []float64
}

// discretised holds a lower and an upper bound on a law, in the order of domination. Both are on a
// grid.
type discretised struct {
	// upper dominates the law once its losses are raised by shift and the mass infinite is added at
	// an infinite loss. lower is dominated by the law once its losses are lowered by shift.
	upper, lower gridLaw
	// infinite is the mass that upper has at an infinite loss.
	infinite float64
	// shift bounds the distance of a loss from its grid point.
	shift float64
}

// discretise bounds a law by two laws on a lattice of the given width. Both bounds keep the masses
// of P and Q, so that H changes to second order in width only.
//
// Upper bound: the mass of each cell between two grid points is split between these points so that
// the cell keeps its masses of P and Q. H is then the polygon through the law's H at the grid
// points (connect the dots, Doroshenko et al. 2022).
//
// Lower bound: take a tangent of H at the middle of every cell, and at each grid point the lower of
// the two tangents that meet there. The polygon through these points is nowhere above H, and
// neither is its largest convex minorant. At the ends of the range a tangent would pass below the
// trivial bound (P - u Q)+. There the tangent is taken at the outer end of the cell instead. This
// keeps the minorant above the trivial bound and so its masses non-negative.
//
// Together the two bounds add a variance of at most width^2/4 to the loss. Every rounding error is
// bounded; the bound is added to the upper masses and subtracted from the lower masses.
func discretise(e *effort, l law, width, below, above float64) (discretised, error) {
	lo, hi := l.span(below, above)
	on := lattice{width: width}
	on.offset = l.anchor(width)
	on.first = int(math.Floor((lo-on.offset)/width)) - 1
	cells := (hi - lo) / width
	if !(cells < 2*maxCells && math.Abs(lo-on.offset)/width < exactIndex) {
		return discretised{}, errEffort
	}
	n := int(math.Ceil((hi-on.offset)/width)) + 2 - on.first
	if err := e.spend(cellLabour * float64(n)); err != nil {
		return discretised{}, err
	}
	halves := make([]slab, 2*n)
	if err := l.slabs(e, halves, on.halved(), below, above); err != nil {
		return discretised{}, err
	}
	merged := mergeHalves(halves, width)
	out := discretised{infinite: above, upper: gridLaw{on, make([]float64, n+1)}}
	toHigh, toLow := -1/math.Expm1(-width), 1/math.Expm1(width)
	upper := out.upper.mass
	for i, c := range merged {
		if math.IsNaN(c.mass) || math.IsNaN(c.excess) {
			return discretised{}, fmt.Errorf("account: loss %v: not a number", on.on(i))
		}
		doubt := c.err * toHigh
		upper[i] += c.short*toLow + doubt
		upper[i+1] += c.excess*toHigh + doubt
		out.shift = max(out.shift, c.shift)
	}
	upper[2] += below // the first grid point above lo
	out.lower = gridLaw{on, contract(merged, width)}
	for i := range upper {
		upper[i] *= 1 + gridRounding
		out.lower.mass[i] *= 1 - gridRounding
		if !(upper[i] <= math.MaxFloat64) || math.IsNaN(out.lower.mass[i]) {
			return discretised{}, fmt.Errorf("account: lattice of width %v: too wide for masses in float64", width)
		}
	}
	return out, nil
}

const (
	// exactIndex bounds the indices of a lattice's points, so that they are exact in float64.
	exactIndex = 1 << 52
	// cellLabour is the work of a cell in addition to the work of its slabs.
	cellLabour = 10
)

// gridRounding bounds the relative error of a mass: the errors of exp(-x^2/2) for x up to 37, of
// the quadrature, and of the parameters, which are known to 2^-50.
const gridRounding = 0x1p-42

// cell is a cell of the grid with the two parts of the distance between H and its tangent.
type cell struct {
	slab
	// short is e^b Q - P of the whole cell, where b is the loss at its end.
	short float64
	// left is the excess of the left half with respect to the loss at the cell's start. right is
	// the shortfall of the right half with respect to the loss at the cell's end.
	left, right float64
	// leftEmpty reports that the left half has no mass.
	leftEmpty bool
	// atStart and atEnd report that the tangent is taken at the start or at the end of the cell.
	atStart, atEnd bool
}

func mergeHalves(halves []slab, width float64) []cell {
	cells := make([]cell, len(halves)/2)
	drop, grow := -math.Expm1(-width/2), math.Expm1(width/2)
	for i := range cells {
		l, r := halves[2*i], halves[2*i+1]
		c := &cells[i]
		c.mass = l.mass + r.mass
		c.excess = l.excess + drop*r.mass + (1-drop)*r.excess
		c.shift = max(l.shift, r.shift)
		c.left, c.right, c.leftEmpty = l.excess, r.shortfall(width/2), l.mass == 0
		c.short = c.right + grow*l.mass + (1+grow)*l.shortfall(width/2)
		// A shortfall loses digits if the mass is at the slab's end.
		c.err = l.err + r.err + 0x1p-48*(l.excess+r.excess)
	}
	return cells
}

// contract returns the masses of the lower bound.
func contract(cells []cell, width float64) []float64 {
	n := len(cells)
	toHigh, toLow := -1/math.Expm1(-width), 1/math.Expm1(width)
	chooseTangents(cells, width)
	mass, err := make([]float64, n+1), make([]float64, n+1)
	add := func(i int, m float64) {
		if i >= 0 && i <= n {
			mass[i] += m
			err[i] += 0x1p-46 * math.Abs(m)
		}
	}
	doubt := func(from, to int, e float64) {
		for j := max(0, from); j <= min(n, to); j++ {
			err[j] += 4 * e
		}
	}
	// Where the tangent is taken at an end of the cell, the cell's contribution to one grid point
	// cancels exactly.
	for i, c := range cells {
		e := c.err * toHigh
		switch {
		case c.atEnd:
			add(i, c.short*toLow)
			doubt(i-1, i, e)
		case c.atStart:
			add(i+1, c.excess*toHigh)
			doubt(i+1, i+2, e)
		default:
			add(i, c.short*toLow)
			add(i+1, c.excess*toHigh)
			doubt(i-1, i+2, e)
		}
	}
	// dip is the distance of the polygon below H at grid point i.
	for i := range n + 1 {
		var dip, before, after float64
		if i > 0 {
			dip = cells[i-1].right
			if cells[i-1].atStart {
				before = cells[i-1].right
			}
		}
		if i < n {
			dip = max(dip, cells[i].left)
			if cells[i].atEnd {
				after = cells[i].left
			}
		}
		add(i, dip*toHigh)
		add(i, dip*toLow)
		add(i-1, (before-dip)*toLow)
		add(i+1, (after-dip)*toHigh)
	}
	// The last cell with mass has its tangent at its end, where H is 0. It therefore adds no mass
	// beyond its start.
	top := n
	for top > 0 && mass[top] == 0 {
		top--
	}
	minorant(mass[:top+1], err[:top+1], width)
	return mass
}

// chooseTangents moves the tangent of a cell to the outer end of the cell if the tangent at the
// middle would pass below (P - u Q)+. A tangent at the start of the cell meets H there and lies by
// short below H at the end of the cell.
func chooseTangents(cells []cell, width float64) {
	grow := math.Expm1(width)
	// above is H(u_(i+1)) restricted to the range. beyond is the mass of P above the cell.
	var above, beyond float64
	for i := len(cells) - 1; i >= 0; i-- {
		c := &cells[i]
		if c.right >= above {
			c.left, c.right, c.atEnd = c.excess, 0, true
		}
		// H(u_i) = excess + P(beyond) - e^-width (P(beyond) - H(u_(i+1)))
		beyondQ := (beyond - above) / (1 + grow) // u_i Q(beyond)
		above = c.excess + beyond - beyondQ
		beyond += c.mass
	}
	// below is the integral of u_i - u with respect to Q over lower losses. weight is u_i times the
	// mass of Q there.
	var below, weight float64
	for i := range cells {
		c := &cells[i]
		switch {
		case c.left > below && c.atEnd:
			// There is no mass above, and too little below to balance the cell about its start: the
			// surplus is removed from P.
			surplus := c.left - below
			c.mass -= surplus
			c.short += surplus
			c.excess, c.left = below, below
		case c.left > below || c.leftEmpty && !c.atEnd:
			c.left, c.right, c.atStart = 0, c.short, true
		}
		below += grow*weight + c.short
		weight = weight*(1+grow) + c.mass + c.short
	}
}

// minorant makes signed masses non-negative. It moves a negative mass to the neighbouring masses so
// that the masses of P and Q stay the same, which turns the polygon into its largest convex
// minorant. err bounds the error of each mass; the result is below the exact minorant.
func minorant(mass, err []float64, width float64) {
	n := len(mass)
	kept := make([]int, 0, n)
	for i := range n {
		if mass[i] >= err[i] {
			if mass[i] -= err[i]; mass[i] > 0 {
				kept = append(kept, i)
			}
			continue
		}
		debt := err[i] - mass[i] // > 0
		mass[i] = 0
		at := i
		for debt > 0 {
			if i == n-1 {
				forgive(mass, &kept, at, debt, width)
				break
			}
			if len(kept) == 0 {
				mass[i+1] -= debt
				break
			}
			prev := kept[len(kept)-1]
			a, b := float64(at-prev)*width, float64(i+1-prev)*width
			toNext := math.Expm1(-a) / math.Expm1(-b)
			toPrev := math.Exp(-a) * math.Expm1(a-b) / math.Expm1(-b)
			mass[i+1] -= debt * toNext
			err[i+1] += 0x1p-48 * debt
			debt = debt*toPrev + 0x1p-48*debt
			if mass[prev] > debt {
				mass[prev] -= debt
				break
			}
			debt -= mass[prev]
			mass[prev] = 0
			kept = kept[:len(kept)-1]
			at = prev
		}
	}
}

// forgive covers a negative mass, debt, at the top of the range. It drops the highest masses until
// the dropped masses outweigh the debt at every u below the remaining masses. Both sides are linear
// in u there, so that a comparison at u = 0 and at the next remaining loss is enough.
func forgive(mass []float64, kept *[]int, at int, debt, width float64) {
	// total is the mass dropped so far. hockey is the H of the dropped mass at the loss of last, H
	// = sum of mass (1 - e^-(loss - last)). A step down by g changes H to e^-g H + (1 - e^-g)
	// total.
	var total, hockey float64
	last := at
	for k := len(*kept) - 1; k >= 0; k-- {
		next := (*kept)[k]
		g := float64(last-next) * width
		hockey = math.Exp(-g)*hockey - total*math.Expm1(-g)
		last = next
		owed := -debt * math.Expm1(-float64(at-next)*width)
		if total >= debt && hockey >= owed*(1+0x1p-40) {
			return
		}
		total += mass[next]
		mass[next] = 0
		*kept = (*kept)[:k]
	}
}
