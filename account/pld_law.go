package account

import "math"

// law is the privacy loss L = ln(dP/dQ) of one dominating pair (P, Q), restricted to a finite range
// that leaves out at most a stated part of P's mass. For u = e^epsilon the hockey stick of the
// pair,
//
//	H(u) = sup_A P(A) - u Q(A) = E_Q (e^L - u)+,
//
// is convex in u. One pair dominates another if its H is nowhere smaller (Zhu, Dong & Wang 2022).
// Domination survives composition, for all finite positive measures P and Q. Mass may therefore be
// added to the dominating side and dropped from the dominated side.
type law interface {
	// span returns the range [lo, hi] of the losses that slabs describes. P has mass at most below
	// under lo and at most above over hi.
	span(below, above float64) (lo, hi float64)
	// slabs describes the law between the consecutive losses on(k), k = 0,
	// ..., len(dst), which cover the span.
	slabs(e *effort, dst []slab, on lattice, below, above float64) error
	// labour estimates the work of slabs for the given number of slabs.
	labour(slabs, below, above float64) float64
	// anchor returns a loss that a lattice of the given width should contain.
	anchor(width float64) float64
	// period returns a distance that should be a multiple of the lattice's width, or 0 if there is
	// none.
	period() float64
	// largest returns an upper bound on the losses, +Inf if there is none.
	largest() float64
	// sketch returns a rough copy of the law for planning, in order of losses. It leaves out a mass
	// of about tail at either end. No bound depends on it.
	sketch(e *effort, tail float64) ([]sketchAtom, error)
}

// slab is the part of a law whose loss lies in [a, b).
type slab struct {
	// mass is P(slab).
	mass float64
	// excess is P(slab) - e^a Q(slab) >= 0.
	excess float64
	// err bounds the absolute error of excess. In addition mass, excess and shortfall may have
	// relative errors of 2^-46.
	err float64
	// shift bounds the distance of a loss in the slab from [a, b).
	shift float64
}

// shortfall returns e^b Q(slab) - P(slab) >= 0 for a slab of the given width.
func (s slab) shortfall(width float64) float64 {
	e := math.Expm1(width)
	return max(0, e*s.mass-(1+e)*s.excess)
}

// lattice is the set of losses offset + (first + k) width.
type lattice struct {
	offset, width float64
	first         int
}

func (l lattice) on(k int) float64 { return l.offset + float64(l.first+k)*l.width }

// halved returns the lattice of half the width that starts at the same loss.
func (l lattice) halved() lattice { return lattice{l.offset, l.width / 2, 2 * l.first} }

type sketchAtom struct{ loss, mass float64 }
