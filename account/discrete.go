package account

import (
	"fmt"
	"math"
)

// discreteGaussian is an integer plus N_Z(0, sigma^2), whose probabilities are
// proportional to exp(-y^2/(2 sigma^2)) on the integers (Canonne, Kamath &
// Steinke 2020).
type discreteGaussian struct {
	sigma       float64
	sensitivity int
}

// Limits of the discrete Gaussian: beyond discreteSigmaMost there are more
// atoms than a grid has cells; below the least, Z is computed as a sum.
const (
	discreteSigmaMost       = 1 << 15
	discreteSensitivityMost = 1 << 20
)

// NewDiscreteGaussian returns the mechanism that adds discrete Gaussian noise
// of parameter sigma to one integer, which moves by at most sensitivity between
// neighbouring tables. sigma is the parameter of the law, not its standard
// deviation, which is smaller below 1.
//
// The pair is N_Z(sensitivity, sigma^2) against N_Z(0, sigma^2). It dominates
// shifts by 0 <= k <= sensitivity: the likelihood ratio of a shift is monotone,
// so that H(u) is the supremum over t of P(Y >= t-k) - u P(Y >= t), which
// increases with k for every t; and the law is symmetric, so that both signs and
// both directions are the same.
//
// A vector of integers is several such mechanisms, one a coordinate, each with
// its own sensitivity: a Euclidean sensitivity alone does not decide the law of
// the loss.
func NewDiscreteGaussian(sigma float64, sensitivity int) (Mechanism, error) {
	if !(sigma > 0 && sigma <= discreteSigmaMost) {
		return nil, fmt.Errorf("account: sigma = %v: must be > 0 and <= %d for a discrete Gaussian", sigma, discreteSigmaMost)
	}
	if sensitivity < 1 || sensitivity > discreteSensitivityMost {
		return nil, fmt.Errorf("account: sensitivity = %d: must be a whole number within [1, %d]", sensitivity, discreteSensitivityMost)
	}
	if err := positive("sigma over sensitivity", sigma/float64(sensitivity)); err != nil {
		return nil, err
	}
	return discreteGaussian{sigma, sensitivity}, nil
}

func (m discreteGaussian) String() string {
	return fmt.Sprintf("discrete gaussian(sigma %v, sensitivity %d)", m.sigma, m.sensitivity)
}

func (m discreteGaussian) laws() [2]law {
	l := newDiscreteLaw(m.sigma, m.sensitivity)
	return [2]law{l, l}
}
func (discreteGaussian) oneDirection() bool { return true }
func (discreteGaussian) relation() Relation { return 0 }

// renyi is that of the Gaussian, which it does not exceed (Canonne, Kamath &
// Steinke 2020, proposition 5).
func (m discreteGaussian) renyi(order float64) (float64, error) {
	return mulUp(order, m.rho()), nil
}

// rho is the zCDP parameter, rounded up.
func (m discreteGaussian) rho() float64 {
	mu := divUp(float64(m.sensitivity), m.sigma)
	return mulUp(mu, mu) / 2
}

func (m discreteGaussian) grouped(k int) (Mechanism, error) {
	return NewDiscreteGaussian(m.sigma, k*m.sensitivity)
}

// discreteLaw has one atom for every integer y: at the loss shift (2y+shift)/
// (2 sigma^2), of mass exp(-y^2/(2 sigma^2))/z, where y is the output minus
// shift.
type discreteLaw struct{ sigma, shift, z float64 }

func newDiscreteLaw(sigma float64, shift int) discreteLaw {
	return discreteLaw{sigma, float64(shift), discreteNormaliser(sigma)}
}

// discreteNormaliser returns the sum of exp(-y^2/(2 sigma^2)) over all integers,
// by Poisson's summation where the dual series is the shorter one:
//
//	sigma sqrt(2 pi) (1 + 2 sum over n >= 1 of exp(-2 pi^2 sigma^2 n^2)).
//
// Two terms of it leave out less than e^-(18 pi^2), 2^-256, of the sum.
func discreteNormaliser(sigma float64) float64 {
	if sigma >= 1 {
		s := 2 * math.Pi * math.Pi * sigma * sigma
		return sigma * math.Sqrt(2*math.Pi) * (1 + 2*(math.Exp(-s)+math.Exp(-4*s)))
	}
	var sum float64
	for y := 9.0; y > 0; y-- { // e^(-50) is left out
		sum += math.Exp(-y * y / (2 * sigma * sigma))
	}
	return 1 + 2*sum
}

// at returns the loss and the mass of the atom y. y^2/(2 sigma^2) is taken to
// twice the precision, since exp multiplies its error.
func (l discreteLaw) at(y float64) (loss, mass float64) {
	v := ddProd(2*l.sigma, l.sigma)
	t := y * y / v.hi // y^2 is exact: |y| is below 2^25
	rest := (math.FMA(-t, v.hi, y*y) - t*v.lo) / v.hi
	return l.shift * (2*y + l.shift) / v.hi, math.Exp(-t) * (1 - rest) / l.z
}

// reach bounds y: P(Y >= m) <= P(N(0, sigma^2) >= m-1) <= exp(-(m-1)^2/
// (2 sigma^2))/2 for whole m >= 1.
func (l discreteLaw) reach(below, above float64) (lo, hi float64) {
	far := func(tail float64) float64 {
		return math.Ceil(1 + l.sigma*math.Sqrt(max(0, -2*math.Log(2*tail))))
	}
	return -far(below), far(above)
}

func (l discreteLaw) span(below, above float64) (lo, hi float64) {
	a, b := l.reach(below, above)
	lo, _ = l.at(a)
	hi, _ = l.at(b)
	return lo, hi
}

func (discreteLaw) largest() float64 { return math.Inf(1) }

// anchor puts an atom on the lattice: that of the output's most likely value.
func (l discreteLaw) anchor(float64) float64 {
	loss, _ := l.at(0)
	return loss
}

// period has all atoms on the lattice where they are few.
func (l discreteLaw) period() float64 {
	if l.sigma > 8 {
		return 0
	}
	return l.shift / (l.sigma * l.sigma)
}

// slabs: an atom at the loss s in [a, b) has the excess mass (1 - e^(a-s)).
func (l discreteLaw) slabs(e *effort, dst []slab, on lattice, below, above float64) error {
	lo, hi := l.reach(below, above)
	if err := e.spend(l.labour(float64(len(dst)), below, above)); err != nil {
		return err
	}
	from, to := l.span(below, above)
	scale := max(math.Abs(from), math.Abs(to))
	snap := exponentialSnap * scale
	for k := range dst {
		dst[k] = slab{shift: 2 * snap}
	}
	for y := lo; y <= hi; y++ {
		loss, mass := l.at(y)
		k := min(max(0, int(math.Floor((loss-on.offset+snap)/on.width))-on.first), len(dst)-1)
		s := &dst[k]
		s.mass += mass
		// An atom next to a lattice point is put on it: shift says how far.
		if rest := loss - on.on(k); rest > snap {
			s.excess -= mass * math.Expm1(-rest)
			s.err += 0x1p-48 * scale * mass // of both losses
		}
	}
	return nil
}

func (l discreteLaw) labour(slabs, below, above float64) float64 {
	lo, hi := l.reach(below, above)
	return slabs + 6*(hi-lo)
}

// sketch takes one atom for a stride of them.
func (l discreteLaw) sketch(e *effort, tail float64) ([]sketchAtom, error) {
	lo, hi := l.reach(tail, tail)
	if err := e.spend(4 * min(hi-lo, 4000)); err != nil {
		return nil, err
	}
	stride := max(1, math.Floor((hi-lo)/2000))
	var out []sketchAtom
	for y := lo; y <= hi; y += stride {
		if loss, mass := l.at(y); mass > 0 {
			out = append(out, sketchAtom{loss, mass * stride})
		}
	}
	return out, nil
}
