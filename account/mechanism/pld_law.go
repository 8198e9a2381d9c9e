package mechanism

import "math"

// lossLaw is the distribution, or law, of the privacy loss L = ln(dP/dQ) of one dominating pair (P,
// Q). Its methods restrict it to a finite range of losses, which leaves out at most a stated part
// of P's mass. For u = e^epsilon the hockey stick of the pair,
//
//	H(u) = sup_A P(A) - u Q(A) = E_Q (e^L - u)+,
//
// is convex in u. One pair dominates another if its H is nowhere smaller (Zhu, Dong & Wang 2022).
// Domination survives composition. This holds for all finite positive measures P and Q, not only
// for probabilities. Therefore mass may be added to an upper bound and dropped from a lower bound.
type lossLaw interface {
	// span returns the range [lo, hi] of the losses that the method slabs divides into intervals.
	// Under P, the probability of a loss under lo is at most below, and the probability of a loss
	// over hi is at most above.
	span(below, above float64) (lo, hi float64)
	// slabs fills dst with the parts of the law between consecutive lattice points: dst[k] is the
	// part with losses from on.on(k) to on.on(k+1). Together these intervals cover the range that the
	// method span returns.
	slabs(e *effort, dst []slab, on lattice, below, above float64) error
	// labour estimates the work of slabs for the given number of slabs.
	labour(slabs, below, above float64) float64
	// anchor returns a loss that a lattice of the given width should contain.
	anchor(width float64) float64
	// period returns the distance between the law's atoms, the losses of positive probability. The
	// width of the grid (the [lattice]) should divide this distance. It is 0 if the atoms are not
	// evenly spaced or the law has none.
	period() float64
	// largest returns an upper bound on the losses, or +Inf if the losses are not bounded.
	largest() float64
	// sketch returns a rough copy of the law for planning, as atoms in increasing order of their
	// losses. It leaves out a probability mass of about tail at either end. No bound depends on it.
	sketch(e *effort, tail float64) ([]sketchAtom, error)
}

// slab is the part of a law whose loss lies in an interval [a, b).
type slab struct {
	// mass is P(slab).
	mass float64
	// excess is P(slab) - e^a Q(slab) >= 0.
	excess float64
	// err bounds the absolute error of the field excess. In addition, mass, excess and the shortfall
	// computed from them may have relative errors of 2^-46.
	err float64
	// shift bounds the distance by which losses counted in this slab lie outside [a, b), because of
	// rounding.
	shift float64
}

// shortfall returns e^b Q(S) - P(S) >= 0 for the set S of outputs whose privacy losses ln(dP/dQ) lie
// in the slab's interval [a, b), where b - a is the given width.
func (s slab) shortfall(width float64) float64 {
	e := math.Expm1(width)
	return max(0, e*s.mass-(1+e)*s.excess)
}

// lattice is the grid of privacy losses offset + (first + k) width, for k = 0, 1, ....
type lattice struct {
	offset, width float64
	first         int
}

func (l lattice) on(k int) float64 { return l.offset + float64(l.first+k)*l.width }

// halved returns the lattice of half the width that starts at the same loss.
func (l lattice) halved() lattice { return lattice{l.offset, l.width / 2, 2 * l.first} }

type sketchAtom struct{ loss, mass float64 }
