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

// discreteSigmaMost and discreteSensitivityMost bound the parameters of the discrete Gaussian.
// Beyond discreteSigmaMost there are more atoms than a grid has cells.
const (
	discreteSigmaMost       = 1 << 15
	discreteSensitivityMost = 1 << 20
)

// NewDiscreteGaussian returns the mechanism that adds discrete Gaussian noise of parameter sigma to
// one integer. The integer changes by at most sensitivity between neighbouring tables. sigma is the
// parameter of the law, in (0, 2^15]; the standard deviation is smaller than sigma if sigma is
// below 1. sensitivity must be in [1, 2^20]. sigma/sensitivity must be in [0.02, 1e7].
//
// The dominating pair is N_Z(sensitivity, sigma^2) against N_Z(0, sigma^2). It dominates every
// shift by k with 0 <= k <= sensitivity: the likelihood ratio of a shift is monotone, so that H(u)
// is the supremum over t of P(Y >= t-k) - u P(Y >= t), which increases with k for every t. The law
// is symmetric, so that both signs of a shift and both directions give the same H.
//
// A vector of integers is one such mechanism for each coordinate, with the sensitivity of that
// coordinate. A Euclidean sensitivity of the vector does not determine the law of the loss.
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

// renyi returns the Renyi divergence of the Gaussian with the same sigma and sensitivity. The
// divergence of the discrete Gaussian is not larger (Canonne, Kamath & Steinke 2020, proposition
// 5).
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

// discreteLaw has one atom for every integer y, the output minus shift. The atom has the loss shift
// (2y+shift)/(2 sigma^2) and the mass exp(-y^2/(2 sigma^2))/z.
type discreteLaw struct{ sigma, shift, z float64 }

func newDiscreteLaw(sigma float64, shift int) discreteLaw {
	return discreteLaw{sigma, float64(shift), discreteNormaliser(sigma)}
}

// discreteNormaliser returns the sum of exp(-y^2/(2 sigma^2)) over all integers y. For sigma >= 1
// it uses the dual series of Poisson's summation formula, which converges faster there:
//
//	sigma sqrt(2 pi) (1 + 2 sum over n >= 1 of exp(-2 pi^2 sigma^2 n^2)).
//
// Two terms of this series leave out less than e^-(18 pi^2) < 2^-256 of the sum.
func discreteNormaliser(sigma float64) float64 {
	if sigma >= 1 {
		s := 2 * math.Pi * math.Pi * sigma * sigma
		return sigma * math.Sqrt(2*math.Pi) * (1 + 2*(math.Exp(-s)+math.Exp(-4*s)))
	}
	var sum float64
	for y := 9.0; y > 0; y-- { // the terms from e^(-50) on are left out
		sum += math.Exp(-y * y / (2 * sigma * sigma))
	}
	return 1 + 2*sum
}

// at returns the loss and the mass of the atom y. y^2/(2 sigma^2) is computed in twice the
// precision of float64, because exp turns its absolute error into a relative one.
func (l discreteLaw) at(y float64) (loss, mass float64) {
	v := ddProd(2*l.sigma, l.sigma)
	t := y * y / v.hi // y^2 is exact: |y| is below 2^25
	rest := (math.FMA(-t, v.hi, y*y) - t*v.lo) / v.hi
	return l.shift * (2*y + l.shift) / v.hi, math.Exp(-t) * (1 - rest) / l.z
}

// reach returns a range of y outside which the mass is at most below and above. For whole m >= 1,
// P(Y >= m) <= P(N(0, sigma^2) >= m-1) <= exp(-(m-1)^2/(2 sigma^2))/2.
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

// anchor is the loss of the most likely output, so that this atom is on the lattice.
func (l discreteLaw) anchor(float64) float64 {
	loss, _ := l.at(0)
	return loss
}

// period is the distance between the atoms for sigma <= 8, so that all of them are on the lattice.
// For larger sigma the atoms are too dense, and period is 0.
func (l discreteLaw) period() float64 {
	if l.sigma > 8 {
		return 0
	}
	return l.shift / (l.sigma * l.sigma)
}

// slabs adds every atom to its slab: an atom at the loss s in [a, b) has the excess mass (1 -
// e^(a-s)).
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
		// An atom next to a lattice point is moved onto it. The field shift holds the largest such
		// distance.
		if rest := loss - on.on(k); rest > snap {
			s.excess -= mass * math.Expm1(-rest)
			s.err += 0x1p-48 * scale * mass // bounds the rounding errors of both losses
		}
	}
	return nil
}

func (l discreteLaw) labour(slabs, below, above float64) float64 {
	lo, hi := l.reach(below, above)
	return slabs + 6*(hi-lo)
}

// sketch replaces each stride of atoms by one atom.
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
