package mechanism

import (
	"fmt"
	"math"
)

// gridLaw is the law of a privacy loss ln(dP/dQ) that takes values only on a lattice of losses. mass[i] is the
// probability of the lattice's loss number i under P. The probability of this loss under Q is e^-loss mass[i]. The
// hockey stick H(u), the sum of mass (1 - u e^-loss)+, increases with each mass.
type gridLaw struct {
	lattice
	mass []float64
}

// discretised holds a lower and an upper bound on a law, both on a grid. One law bounds another law
// from above if its hockey-stick curve is nowhere smaller than the other law's curve.
type discretised struct {
	// upper dominates the law after the losses of upper are raised by shift and the mass infinite is added to upper at
	// an infinite loss. The law dominates lower after the losses of lower are lowered by shift.
	upper, lower gridLaw
	// infinite is the mass that the upper bound has at an infinite loss.
	infinite float64
	// shift is an upper bound on the distance by which rounding may have moved a loss to another
	// cell.
	shift float64
}

// discretise returns two laws on a lattice of the given width, an upper and a lower bound on a law.
// Both bounds keep the masses of P and Q, so their hockey-stick curves H differ from the law's curve
// only by terms of second order in width.
//
// Upper bound: the mass of each cell between two grid points is split between these points so that
// the cell keeps its masses of P and Q. The bound's H is then the piecewise linear interpolation of
// the law's H between the grid points ("connect the dots", Doroshenko et al. 2022).
//
// Lower bound: take a tangent of H at the middle of every cell, and at each grid point the lower of the two tangents
// that meet there. The piecewise linear function through these points is nowhere above H, and neither is its largest
// convex minorant. At the ends of the range of losses, such a tangent would pass below the trivial bound (P - u Q)+.
// There the tangent is taken at the outer end of the cell instead. The minorant then stays above the trivial bound, and
// its masses are non-negative.
//
// Together the two bounds add a variance of at most width^2/4 to the loss. Every rounding error is
// bounded; the bound is added to the upper masses and subtracted from the lower masses.
func discretise(e *effort, l lossLaw, width, below, above float64) (discretised, error) {
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
	halves := make([]lossInterval, 2*n)
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
	upper[2] += below // grid point 2 is the first above lo
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
	// exactIndex is a limit on the absolute value of the index of a lattice point. Below it an
	// index is exact in float64.
	exactIndex = 1 << 52
	// cellLabour is the work for a cell of the grid, in addition to the work for its two slabs. Its
	// unit is the unit of [effort].
	cellLabour = 10
)

// gridRounding bounds the relative error of a mass. It covers the error of exp(-x^2/2) for |x| up
// to 37, the error of the quadrature, and the relative error 2^-50 of the parameters.
const gridRounding = 0x1p-42

// cell is the part of a law with losses in the interval [a, b) between two grid points. On this
// interval, the lower bound on the hockey-stick curve H is a tangent of H. left and right are the
// distances between H and the tangent at the interval's two ends.
type cell struct {
	lossInterval
	// short is the cell's shortfall e^b Q - P, for the masses P and Q of the cell and the loss b at
	// its end.
	short float64
	// For a tangent at the middle, left is the excess P - e^a Q of the cell's left half, where P and Q are the masses
	// of this half and a is the loss at the cell's start. right is the shortfall e^b Q - P of the right half, where b
	// is the loss at the cell's end. The function chooseTangents sets left and right for a tangent at an end.
	left, right float64
	// leftEmpty is true if the left half of the cell has no mass.
	leftEmpty bool
	// atStart is true if the tangent touches the hockey-stick curve H at the start of the cell, and atEnd is true if it
	// touches H at the end. If atStart and atEnd are false, the tangent touches H at the middle.
	atStart, atEnd bool
}

func mergeHalves(halves []lossInterval, width float64) []cell {
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
		// The shortfall of an interval is computed as a difference that involves the interval's excess. It loses digits if most
		// of the interval's mass is near the interval's end. The last term bounds this loss.
		c.err = l.err + r.err + 0x1p-48*(l.excess+r.excess)
	}
	return cells
}

// contract returns the masses, on the grid points, of the lower bound on a law. The hockey-stick curve of this bound is
// made from one tangent for each cell. The masses of the tangents alone may be negative. contract therefore applies the
// function minorant last, and returns non-negative masses.
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
	// If the tangent touches at an end of the cell, the cell's contribution to one grid point cancels
	// exactly and is left out.
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
	// dip is the distance by which the lower of the two tangents at grid point i is below H. before
	// and after are the distances whose contributions were left out in the loop above.
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
	// The last cell with mass has its tangent at its end, where H is 0. The cell therefore adds no
	// mass at grid points beyond its start.
	top := n
	for top > 0 && mass[top] == 0 {
		top--
	}
	minorant(mass[:top+1], err[:top+1], width)
	return mass
}

// chooseTangents moves the tangent of a cell to the cell's outer end if the tangent at the middle
// would pass below the trivial bound (P - u Q)+. A tangent that touches the hockey-stick curve H at
// the start of the cell is below H at the end of the cell by the cell's shortfall.
func chooseTangents(cells []cell, width float64) {
	grow := math.Expm1(width)
	// above is the value of the hockey-stick curve H at the loss that ends cell i, computed from
	// the losses of all later cells. beyond is the mass of P in these cells.
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
	// below is the integral of u_i - u with respect to Q over the cells below cell i, for u = e^loss and u_i the value
	// of u at the start of cell i. weight is u_i times the mass of Q in the cells below cell i.
	var below, weight float64
	for i := range cells {
		c := &cells[i]
		switch {
		case c.left > below && c.atEnd:
			// The tangent is at the cell's end, because there is no mass above the cell. At the cell's start it would
			// pass below the trivial bound by left - below. This surplus is removed from the mass of P.
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

// minorant makes masses that may be negative non-negative. It spreads a negative mass over the neighbouring
// masses, so that the total masses of P and Q stay the same. The masses define a hockey-stick curve, which
// is piecewise linear; minorant turns this curve into its largest convex minorant. err bounds the error of
// each mass. minorant subtracts these errors, so that the computed curve is below the exact minorant.
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

// forgive compensates for a negative mass at the highest losses; debt is its absolute value. It sets masses to zero,
// from the highest loss downwards, until the dropped masses outweigh debt. That is the case if, at every u = e^loss up
// to the next remaining loss, the hockey stick of the dropped masses is at least the hockey stick of a mass debt at
// grid point at. The two hockey sticks are linear in u there, so it is enough to compare them at u = 0 and at the next
// remaining loss.
func forgive(mass []float64, kept *[]int, at int, debt, width float64) {
	// total is the mass dropped so far. hockey is the hockey stick of the dropped masses at the
	// loss of grid point last: the sum of mass (1 - e^-(loss - last)). At a grid point whose loss
	// is lower by g, the hockey stick is e^-g hockey + (1 - e^-g) total.
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
