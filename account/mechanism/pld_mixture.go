package mechanism

import (
	"cmp"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// component is one component, weight * N(mean, 1), of a mixture of Gaussians.
type component struct{ weight, mean float64 }

// mixtureLaw is the law of the privacy loss ln(dP/dQ), where P and Q are the mixtures of the
// components p and q. The weights of each mixture sum to 1. No mean of q exceeds a mean of p, so
// the loss does not decrease as the output x grows.
type mixtureLaw struct{ p, q []component }

// newMixtureLaw returns the law of the mixtures p against q. It drops components of weight 0 and
// joins components with the same mean.
func newMixtureLaw(p, q []component) mixtureLaw { return mixtureLaw{p: compact(p), q: compact(q)} }

func compact(bumps []component) []component {
	out := make([]component, 0, len(bumps))
	at := make(map[float64]int, len(bumps))
	for _, b := range bumps {
		if !(b.weight > 0) {
			continue
		}
		if i, known := at[b.mean]; known {
			out[i].weight += b.weight
			continue
		}
		at[b.mean] = len(out)
		out = append(out, b)
	}
	return out
}

// reach returns a range [lo, hi] of the output x. Under P, x is less than lo with probability at most below, and
// greater than hi with probability at most above. Each of the n components of P may have the mass below/n under lo and
// above/n over hi. The range of a component follows from Phi(-z) <= exp(-z^2/2)/2.
func (l mixtureLaw) reach(below, above float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, b := range l.p {
		share := b.weight * float64(len(l.p)) / 2
		lo = min(lo, b.mean-math.Sqrt(max(0, -2*math.Log(below/share))))
		hi = max(hi, b.mean+math.Sqrt(max(0, -2*math.Log(above/share))))
	}
	return lo, hi
}

func (l mixtureLaw) span(below, above float64) (lo, hi float64) {
	a, b := l.reach(below, above)
	lo, _ = l.loss(a)
	hi, _ = l.loss(b)
	return lo, hi
}

// largest returns the limit of the privacy loss as the output x increases. The components with the
// largest means determine it.
func (l mixtureLaw) largest() float64 {
	byMean := func(a, b component) int { return cmp.Compare(a.mean, b.mean) }
	p, q := slices.MaxFunc(l.p, byMean), slices.MaxFunc(l.q, byMean)
	if p.mean > q.mean {
		return math.Inf(1)
	}
	return (math.Log(p.weight) - math.Log(q.weight)) * (1 + 0x1p-48)
}

// apart returns an upper bound on the total variation distance of P and Q. P and Q have the component N(0, 1) in
// common. The bound is the larger of the masses that P and Q have in other components.
func (l mixtureLaw) apart() float64 {
	moved := func(b component) float64 {
		if b.mean == 0 {
			return 0
		}
		return b.weight
	}
	return min(1, max(vector.Sum(l.p, moved), vector.Sum(l.q, moved))*(1+0x1p-48))
}

// A mixture's density is computed as phi(x) (1 + r), where phi is the density of N(0, 1). This is done only if the
// absolute exponents in r are below mixtureSafe and 1 + r is at least mixtureLeast. For a smaller 1 + r, the sum would
// lose digits by cancellation. Otherwise the densities of the components are summed directly.
const mixtureSafe, mixtureLeast = 300, .5

// ratio returns three numbers: r, for which the mixture's density is phi(x) (1 + r); size, the sum of the absolute
// values of the terms of r; and exponent, the largest absolute exponent in the terms. phi is the density of N(0, 1).
func ratio(bumps []component, x float64) (r, size, exponent float64) {
	for _, b := range bumps {
		if b.mean != 0 {
			y := b.mean * (x - b.mean/2)
			exponent = max(exponent, math.Abs(y))
			term := b.weight * math.Expm1(y)
			r += term
			size += math.Abs(term)
		}
	}
	return r, size, exponent
}

// logRatio returns the logarithm of the mixture's density divided by the density of N(0, 1), and its
// derivative in x.
func logRatio(bumps []component, x float64) (value, slope float64) {
	if len(bumps) == 1 {
		m := bumps[0].mean
		return m * (x - m/2), m
	}
	var r, exponent float64
	for _, b := range bumps {
		if b.mean != 0 {
			y := b.mean * (x - b.mean/2)
			exponent = max(exponent, math.Abs(y))
			e := math.Expm1(y)
			r += b.weight * e
			slope += b.weight * b.mean * (1 + e)
		}
	}
	if exponent < mixtureSafe && 1+r >= mixtureLeast {
		return math.Log1p(r), slope / (1 + r)
	}
	slope = 0
	top := vector.Most(bumps, func(b component) float64 { return b.mean*(x-b.mean/2) + math.Log(b.weight) })
	var sum float64
	for _, b := range bumps {
		e := math.Exp(b.mean*(x-b.mean/2) + math.Log(b.weight) - top)
		sum += e
		slope += b.mean * e
	}
	return top + math.Log(sum), slope / sum
}

// loss returns the privacy loss L(x) = ln(dP/dQ)(x) of the output x, and its derivative in x.
func (l mixtureLaw) loss(x float64) (value, slope float64) {
	p, dp := logRatio(l.p, x)
	q, dq := logRatio(l.q, x)
	return p - q, dp - dq
}

// invert finds an output x in [lo, hi] whose loss L(x) differs from the given loss by at most slack. If no float64
// does, it returns a neighbouring one. It starts at the given x and uses Newton's method within the bracket [lo, hi].
// It returns x, L(x), the derivative of L at x, and the number of steps.
func (l mixtureLaw) invert(loss, lo, x, hi, slack float64) (at, value, slope float64, steps int) {
	for steps = 1; steps < 200; steps++ {
		if !(x > lo && x < hi) {
			x = lo + (hi-lo)/2
		}
		value, slope = l.loss(x)
		gap := value - loss
		if math.Abs(gap) <= slack || x <= lo || x >= hi {
			break
		}
		if gap < 0 {
			lo = x
		} else {
			hi = x
		}
		x -= gap / slope
	}
	return x, value, slope, steps
}

// lossDoubt times the largest |loss| in the range bounds the rounding error of a computed loss. The
// bound includes the rounding of the weights.
const lossDoubt = 0x1p-43

// anchor returns a loss that should be a point of the lattice, so that most of the mass stays on one point. width is
// the width of one cell of the lattice. For small sampling probabilities, most losses differ from the loss at x = 0 by
// less than width. The anchor is then ln(P(x < c)/Q(x < c)), where the loss at c is half a cell above the loss at 0.
func (l mixtureLaw) anchor(width float64) float64 {
	middle, _ := l.loss(0)
	lo, hi := l.reach(1e-30, 1e-30)
	if lo >= 0 || hi <= 0 {
		return middle
	}
	c, _, _, _ := l.invert(middle+width/2, 0, hi/2, hi, width/100)
	below := func(b component) float64 { return b.weight * math.Erfc((b.mean-c)/math.Sqrt2) }
	// The anchor is set slightly too low. The lower bound on the law may move a mass down to the
	// anchor but may not move a mass up.
	if at := math.Log(vector.Sum(l.p, below) / vector.Sum(l.q, below)); math.Abs(at-middle) < width {
		middle = at
	}
	return middle - 0x1p-40*width
}

func (mixtureLaw) period() float64 { return 0 }

// size returns the number of components of P and Q together.
func (l mixtureLaw) size() float64 { return float64(len(l.p) + len(l.q)) }

// steepest returns the largest |mean| of a component of P or Q.
func (l mixtureLaw) steepest() float64 {
	size := func(b component) float64 { return math.Abs(b.mean) }
	return max(vector.Most(l.p, size), vector.Most(l.q, size))
}

// labour estimates the work of the method slabs, which divides the law into its parts between grid points. The work
// consists of the nodes of the quadrature and the Newton steps that find the ends of the slabs.
func (l mixtureLaw) labour(slabs, below, above float64) float64 {
	lo, hi := l.reach(below, above)
	pieces := slabs + 4*(hi-lo)*(max(math.Abs(lo), math.Abs(hi))+l.steepest()+3)
	return l.size() * (4*slabs + float64(len(legendreNodes))*pieces)
}

func (l mixtureLaw) slabs(e *effort, dst []lossInterval, on lattice, below, above float64) error {
	lo, hi := l.reach(below, above)
	return l.stretch(e, dst, on, lo, hi)
}

// stretch sets dst[k] to the part of the law whose losses lie between points k and k+1 of the
// lattice on, restricted to outputs x in [lo, hi]. If lo or hi is not an end of the range that the
// method reach returns, its loss must be exactly 0, and 0 must be an end of an interval in dst.
// Otherwise rounding could drop mass when an end of an interval is converted from a loss to an x.
func (l mixtureLaw) stretch(e *effort, dst []lossInterval, on lattice, lo, hi float64) error {
	from, _ := l.loss(lo)
	to, _ := l.loss(hi)
	scale := max(math.Abs(from), math.Abs(to))
	x := lo
	value, slope := l.loss(x)
	m, size := l.steepest(), l.size()
	var shift float64
	for k := range dst {
		a, b := on.on(k), on.on(k+1)
		next := x
		var nextShift float64
		switch {
		case b <= from:
		case b >= to:
			next = hi
		default:
			var steps int
			next, value, slope, steps = l.invert(b, x, x+(b-value)/slope, hi, 0x1p-50*scale)
			if err := e.spend(size * float64(steps)); err != nil {
				return err
			}
			nextShift = math.Abs(value-b) + lossDoubt*scale
		}
		var s lossInterval
		if next > x {
			var err error
			if s, err = l.integrate(e, x, next, a, m); err != nil {
				return err
			}
			s.excess = min(s.excess, -s.mass*math.Expm1(-on.width))
		}
		s.shift = max(shift, nextShift)
		dst[k] = s
		x, shift = next, nextShift
	}
	return nil
}

// legendreNodes and legendreWeights are the Gauss-Legendre rule with 6 points on [-1, 1].
var (
	legendreNodes = [...]float64{-.9324695142031520278, -.6612093864662645136, -.2386191860831969086,
		.2386191860831969086, .6612093864662645136, .9324695142031520278}
	legendreWeights = [...]float64{.1713244923791703450, .3607615730481386076, .4679139345726910473, .4679139345726910473,
		.3607615730481386076, .1713244923791703450}
)

// integrate returns the masses of the outputs x in [from, to] as an interval, the part of the law in an
// interval of losses that begins at a. It uses Gauss-Legendre quadrature on pieces of length w with
//
//	(|x| + m + 2) w <= 1/4,   m the largest |mean| of a component.
//
// The integrands are entire. Let t = x - x0 for the end x0 of a piece. On the ellipse rho = 32 we have |t| <= 8.5 w.
// The integrand of the mass is there at most exp(8.5 (|x0| + m) w + 36 w^2) < 15 times as large as on the piece, and
// the integrand of the excess at most 15 * 17 times. The error is at most 64/15 rho^-12 of the largest value there
// (Trefethen 2008, theorem 4.5), which is below 2^-48 of the integral.
//
// The rounding error is at most 2^-50 (8 + exponent) times the largest term, where exponent is the
// largest absolute exponent of the terms.
func (l mixtureLaw) integrate(e *effort, from, to, a, m float64) (lossInterval, error) {
	ea := math.Expm1(a)
	labour := l.size() * float64(len(legendreNodes))
	var out lossInterval
	for x := from; x < to; {
		if err := e.spend(labour); err != nil {
			return lossInterval{}, err
		}
		w := min(to-x, 0.25/(math.Abs(x)+m+3))
		if x+w == x {
			return lossInterval{}, errEffort
		}
		mid, half := x+w/2, w/2
		for i, node := range legendreNodes {
			mass, excess, term := l.density(mid+half*node, a, ea)
			weight := legendreWeights[i] * half
			out.mass += weight * mass
			out.excess += weight * excess
			out.err += weight * term
		}
		x += w
	}
	out.mass *= 1 / (math.Sqrt2 * math.SqrtPi)
	out.excess *= 1 / (math.Sqrt2 * math.SqrtPi)
	out.err *= 1 / (math.Sqrt2 * math.SqrtPi)
	out.excess = max(out.excess, 0)
	return out, nil
}

// density returns three numbers: mass = sqrt(2 pi) p, excess = sqrt(2 pi) (p - e^a q), and a bound
// on the error of excess. p and q are the densities of P and Q at x. The argument ea is e^a - 1.
func (l mixtureLaw) density(x, a, ea float64) (mass, excess, err float64) {
	p, sp, yp := ratio(l.p, x)
	q, sq, yq := ratio(l.q, x)
	exponent := max(yp, yq, math.Abs(a))
	if exponent < mixtureSafe && 1+p >= mixtureLeast && 1+q >= mixtureLeast {
		phi := math.Exp(-x * x / 2)
		mass = phi * (1 + p)
		excess = phi * (p - ea - (1+ea)*q)
		err = phi * max(sp, math.Abs(ea), (1+ea)*sq)
		return mass, excess, err * 0x1p-50 * (8 + exponent)
	}
	// The relative error of each term is the absolute error of its exponent.
	mass, excess, err = 0, 0, 0
	for _, b := range l.p {
		y := (x - b.mean) * (x - b.mean) / 2
		if term := b.weight * math.Exp(-y); term > 0 {
			mass += term
			err += term * (8 + y)
		}
	}
	var other float64
	for _, b := range l.q {
		y := a - (x-b.mean)*(x-b.mean)/2 + math.Log(b.weight)
		if term := math.Exp(y); term > 0 {
			other += term
			err += term * (8 + math.Abs(a) + math.Abs(y))
		}
	}
	return mass, mass - other, err * 0x1p-50
}

// sketch returns a rough copy of the law, for planning. It computes the masses by the midpoint rule.
func (l mixtureLaw) sketch(e *effort, tail float64) ([]sketchAtom, error) {
	lo, hi := l.reach(tail, tail)
	n := int(min(2000, max(16, 16*(hi-lo))))
	if err := e.spend(2 * l.size() * float64(n)); err != nil {
		return nil, err
	}
	step := (hi - lo) / float64(n)
	out := make([]sketchAtom, 0, n)
	for k := range n {
		x := lo + (float64(k)+.5)*step
		loss, _ := l.loss(x)
		r, _ := logRatio(l.p, x)
		out = append(out, sketchAtom{loss, step * math.Exp(r-x*x/2) / (math.Sqrt2 * math.SqrtPi)})
	}
	return out, nil
}
