package mechanism

import "math"

// exponentialLaw is the law of a privacy loss ln(P/Q) with at most two atoms, at -edge and +edge,
// and a density between them. At loss l the density of P is (c/2) e^(l/2), and the density of Q is
// therefore (c/2) e^(-l/2). The law equals its mirror image if the masses of the atoms at -edge and
// +edge are in the ratio 1 : e^edge.
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
// s = e^(a/2) and w = b-a, the density contributes to a slab
//
//	P = c s (e^(w/2) - 1),  P - e^a Q = c s (e^(w/2) - 2 + e^(-w/2)) = 4 c s sinh^2(w/4).
func (l exponentialLaw) slabs(e *effort, dst []slab, on lattice, _, _ float64) error {
	if err := e.spend(l.labour(float64(len(dst)), 0, 0)); err != nil {
		return err
	}
	for k := range dst {
		a, b := on.on(k), on.on(k+1)
		lo, hi := max(a, -l.edge), min(b, l.edge)
		var out slab
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

func (l exponentialLaw) addAtom(dst []slab, on lattice, loss, mass float64) {
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
	return exponentialLaw{
		edge: epsilon, top: .5, bottom: math.Exp(-epsilon) / 2,
		c: math.Exp(-epsilon/2) / 2,
	}
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
