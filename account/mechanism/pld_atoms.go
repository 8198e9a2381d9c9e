package mechanism

import "math"

// exponentialLaw is the law of a privacy loss ln(P/Q) with at most two atoms, at -edge and +edge, and a density between
// them. At loss l the density of P is (c/2) e^(l/2), and the density of Q is therefore (c/2) e^(-l/2). The law equals
// its mirror image if the masses of the atoms at -edge and +edge are in the ratio 1 : e^edge.
type exponentialLaw struct {
	edge float64
	// top is the mass of P at the loss +edge, and bottom the mass of P at the loss -edge.
	top, bottom float64
	c           float64
}

func (l exponentialLaw) span(_, _ float64) (lo, hi float64) { return -l.edge, l.edge }

func (l exponentialLaw) largest() float64 { return l.edge * (1 + 0x1p-50) }

// anchor returns a loss that should be a point of the grid (the [lattice]). The method period
// returns a distance that the grid's width should divide. The two values are chosen so that the
// grid contains the atoms of the law at -edge and +edge.
func (l exponentialLaw) anchor(float64) float64 {
	if l.top == 0 {
		return 0
	}
	return l.edge
}

func (l exponentialLaw) period() float64 { return 2 * l.anchor(0) }

// slabs divides the law into slabs, its parts with losses in the intervals [a, b) between
// neighbouring lattice points: it integrates the density over each interval and adds the atoms. With
// s = e^(a/2) and w = b-a, the density contributes to an interval
//
//	P = c s (e^(w/2) - 1),  P - e^a Q = c s (e^(w/2) - 2 + e^(-w/2)) = 4 c s sinh^2(w/4).
func (l exponentialLaw) slabs(e *effort, dst []lossInterval, on lattice, _, _ float64) error {
	if err := e.spend(l.labour(float64(len(dst)), 0, 0)); err != nil {
		return err
	}
	for k := range dst {
		a, b := on.on(k), on.on(k+1)
		lo, hi := max(a, -l.edge), min(b, l.edge)
		var out lossInterval
		if l.c > 0 && hi > lo {
			w := hi - lo
			s := l.c * math.Exp(lo/2)
			sinh := math.Sinh(w / 4)
			out.mass = s * math.Expm1(w/2)
			out.excess = 4 * s * sinh * sinh
			if lo > a { // e^a Q = e^(a-lo) e^lo Q
				out.excess -= math.Expm1(a-lo) * (out.mass - out.excess)
			}
			out.err = 0x1p-50 * (1 + l.edge + math.Abs(a)) * out.mass
		}
		out.shift = 0x1p-50 * (l.edge + math.Abs(a))
		dst[k] = out
	}
	l.addAtom(dst, on, l.edge, l.top)
	l.addAtom(dst, on, -l.edge, l.bottom)
	return nil
}

// exponentialSnap times the largest |loss| of a law is the largest distance by which an atom is
// moved onto a grid point.
const exponentialSnap = 0x1p-44

func (exponentialLaw) labour(slabs, _, _ float64) float64 { return 5 * slabs }

func (l exponentialLaw) addAtom(dst []lossInterval, on lattice, loss, mass float64) {
	if mass == 0 {
		return
	}
	at := (loss - on.offset) / on.width
	snap := exponentialSnap * l.edge
	k := int(math.Round(at)) - on.first
	if math.Abs(on.on(k)-loss) <= snap {
		dst[k].mass += mass
		dst[k].shift += 2 * snap
		return
	}
	k = int(math.Floor(at)) - on.first
	dst[k].mass += mass
	dst[k].excess -= mass * math.Expm1(on.on(k)-loss)
	dst[k].err += 0x1p-50 * (1 + l.edge) * mass
}

func (l exponentialLaw) sketch(e *effort, _ float64) ([]sketchAtom, error) {
	const n = 200
	if err := e.spend(2 * n); err != nil {
		return nil, err
	}
	var out []sketchAtom
	if l.bottom > 0 {
		out = append(out, sketchAtom{-l.edge, l.bottom})
	}
	if l.c > 0 {
		w := 2 * l.edge / n
		for k := range n {
			a := -l.edge + float64(k)*w
			out = append(out, sketchAtom{a + w/2, l.c * math.Exp(a/2) * math.Expm1(w/2)})
		}
	}
	if l.top > 0 {
		out = append(out, sketchAtom{l.edge, l.top})
	}
	return out, nil
}

// responseLaw returns the law of the privacy loss of randomized response, with atoms at the losses
// -epsilon and +epsilon. Its pair of distributions dominates all epsilon-DP mechanisms.
func responseLaw(epsilon float64) exponentialLaw {
	bottom := 1 / (1 + math.Exp(epsilon))
	return exponentialLaw{edge: epsilon, top: 1 / (1 + math.Exp(-epsilon)), bottom: bottom}
}

// laplaceLaw returns the law of the privacy loss of the Laplace mechanism with noise of scale
// 1/epsilon and sensitivity 1.
func laplaceLaw(epsilon float64) exponentialLaw {
	return exponentialLaw{edge: epsilon, top: .5, bottom: math.Exp(-epsilon) / 2, c: math.Exp(-epsilon/2) / 2}
}

// boundedRangeLaw returns a law of the privacy loss that dominates all epsilon-bounded-range
// mechanisms (Dong, Durfee & Rogers 2020). Such a mechanism is dominated by pairs of two atoms at
// losses t and t-epsilon. The largest of their hockey sticks is
//
//	H(u) = (e^(epsilon/2) - sqrt u)^2/(e^epsilon - 1),   e^-epsilon <= u <= e^epsilon,
//
// attained at t = (epsilon + ln u)/2. For the loss L, P(L > l) = H(u) - u H'(u) at u = e^l. This
// gives the density of an [exponentialLaw] without atoms.
func boundedRangeLaw(epsilon float64) exponentialLaw {
	// c is e^(epsilon/2)/(e^epsilon - 1).
	return exponentialLaw{edge: epsilon, c: -math.Exp(-epsilon/2) / math.Expm1(-epsilon)}
}

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
	// span returns the range [lo, hi] of the losses that the method slabs divides into intervals. Under P, the
	// probability of a loss under lo is at most below, and the probability of a loss over hi is at most above.
	span(below, above float64) (lo, hi float64)
	// slabs fills dst with the parts of the law between consecutive lattice points: dst[k] is the part with losses from
	// on.on(k) to on.on(k+1). Together these intervals cover the range that the method span returns.
	slabs(e *effort, dst []lossInterval, on lattice, below, above float64) error
	// labour estimates the work of slabs for the given number of slabs.
	labour(slabs, below, above float64) float64
	// anchor returns a loss that a lattice of the given width should contain.
	anchor(width float64) float64
	// period returns the distance between the law's atoms, the losses of positive probability. The width of the grid
	// (the [lattice]) should divide this distance. It is 0 if the atoms are not evenly spaced or the law has none.
	period() float64
	// largest returns an upper bound on the losses, or +Inf if the losses are not bounded.
	largest() float64
	// sketch returns a rough copy of the law for planning, as atoms in increasing order of their
	// losses. It leaves out a probability mass of about tail at either end. No bound depends on it.
	sketch(e *effort, tail float64) ([]sketchAtom, error)
}

// lossInterval is the part of a law whose loss lies in an interval [a, b).
type lossInterval struct {
	// mass is P(interval).
	mass float64
	// excess is P(interval) - e^a Q(interval) >= 0.
	excess float64
	// err bounds the absolute error of the field excess. In addition, mass, excess and the shortfall
	// computed from them may have relative errors of 2^-46.
	err float64
	// shift bounds the distance by which losses counted in this interval lie outside [a, b), because of
	// rounding.
	shift float64
}

// shortfall returns e^b Q(S) - P(S) >= 0 for the set S of outputs whose privacy losses ln(dP/dQ) lie
// in its interval [a, b), where b - a is the given width.
func (s lossInterval) shortfall(width float64) float64 {
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
