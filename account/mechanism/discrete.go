package mechanism

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// discreteGaussian is the mechanism that adds discrete Gaussian noise N_Z(0, sigma^2) to an integer. The probability
// that the noise is the integer y is proportional to exp(-y^2/(2 sigma^2)) (Canonne, Kamath & Steinke 2020).
type discreteGaussian struct {
	sigma       float64
	sensitivity int
}

// discreteSigmaMost and discreteSensitivityMost are the largest sigma and the largest sensitivity of the discrete
// Gaussian. For a larger sigma the privacy loss has more atoms than its discretised distribution has cells.
const (
	discreteSigmaMost       = 1 << 15
	discreteSensitivityMost = 1 << 20
)

// newDiscreteGaussian returns the mechanism that adds discrete Gaussian noise of parameter sigma to
// one integer. The integer changes by at most sensitivity between neighbouring tables. sigma is the
// parameter of the law, in (0, 2^15]; the standard deviation is smaller than sigma if sigma is
// below 1. sensitivity must be in [1, 2^20]. sigma/sensitivity must be in [0.02, 1e7].
//
// The dominating pair is N_Z(sensitivity, sigma^2) against N_Z(0, sigma^2). It dominates the pair for every smaller
// shift k, 0 <= k <= sensitivity. For noise Y, the likelihood ratio of a shift is monotone. The hockey stick H(u) is
// therefore the supremum over t of P(Y >= t-k) - u P(Y >= t), which increases with k for every t. The law is symmetric,
// so both signs of a shift and both orders of the pair give the same H.
//
// For a vector of integers, compose one such mechanism for each coordinate, with the sensitivity of
// that coordinate. The Euclidean sensitivity of the vector does not determine the law of the loss.
func newDiscreteGaussian(sigma float64, sensitivity int) (Mechanism, error) {
	if !(sigma > 0 && sigma <= discreteSigmaMost) {
		return nil, fmt.Errorf("account: sigma = %v: must be > 0 and <= %d for a discrete Gaussian", sigma, discreteSigmaMost)
	}
	if sensitivity < 1 || sensitivity > discreteSensitivityMost {
		return nil, fmt.Errorf("account: sensitivity = %d: must be a whole number within [1, %d]", sensitivity,
			discreteSensitivityMost)
	}
	if err := positive("sigma over sensitivity", sigma/float64(sensitivity)); err != nil {
		return nil, err
	}
	return discreteGaussian{sigma, sensitivity}, nil
}

func (m discreteGaussian) String() string {
	return fmt.Sprintf("discrete gaussian(sigma %v, sensitivity %d)", m.sigma, m.sensitivity)
}

func (m discreteGaussian) laws() []lossLaw  { return []lossLaw{newDiscreteLaw(m.sigma, m.sensitivity)} }
func (discreteGaussian) relation() Relation { return 0 }

// renyi returns the Renyi divergence of the Gaussian with the same sigma and sensitivity. The divergence of the
// discrete Gaussian is not larger (Canonne, Kamath & Steinke 2020, proposition 5).
func (m discreteGaussian) renyi(order float64) (float64, error) {
	return round.MulUp(order, m.rho()), nil
}

// rho returns the rho for which the mechanism is rho-zCDP, rounded up.
func (m discreteGaussian) rho() float64 {
	mu := round.DivUp(float64(m.sensitivity), m.sigma)
	return round.MulUp(mu, mu) / 2
}

func (m discreteGaussian) grouped(k int) (Mechanism, error) {
	return newDiscreteGaussian(m.sigma, k*m.sensitivity)
}

// discreteLaw is the law of the privacy loss of the discrete Gaussian mechanism. It has one atom for
// every integer y, where y is the output minus shift. The loss of the atom is (2y+shift) shift/(2
// sigma^2). Its mass is exp(-y^2/(2 sigma^2))/z, where z is the sum of these exponentials.
type discreteLaw struct{ sigma, shift, z float64 }

func newDiscreteLaw(sigma float64, shift int) discreteLaw {
	return discreteLaw{sigma, float64(shift), discreteNormaliser(sigma)}
}

// discreteNormaliser returns the sum of exp(-y^2/(2 sigma^2)) over all integers y. For sigma >= 1
// it uses the dual series of Poisson's summation formula, which converges faster for these sigma:
//
//	sigma sqrt(2 pi) (1 + 2 sum over n >= 1 of exp(-2 pi^2 sigma^2 n^2)).
//
// The terms n = 1 and n = 2 are used. The terms left out are less than e^-(18 pi^2) < 2^-256 of the
// sum.
func discreteNormaliser(sigma float64) float64 {
	if sigma >= 1 {
		s := 2 * math.Pi * math.Pi * sigma * sigma
		return sigma * math.Sqrt(2*math.Pi) * (1 + 2*(math.Exp(-s)+math.Exp(-4*s)))
	}
	var sum float64
	for y := 9.0; y > 0; y-- { // the terms with |y| >= 10 are below e^(-50) and are left out
		sum += math.Exp(-y * y / (2 * sigma * sigma))
	}
	return 1 + 2*sum
}

// at returns the loss and the mass of the atom that belongs to the integer y. y^2/(2 sigma^2) is computed in
// double-double arithmetic, because an absolute error of the argument of exp becomes a relative error of the result.
func (l discreteLaw) at(y float64) (loss, mass float64) {
	v := ddProd(2*l.sigma, l.sigma)
	t := y * y / v.hi // y^2 is exact: |y| is below 2^25
	rest := (math.FMA(-t, v.hi, y*y) - t*v.lo) / v.hi
	return l.shift * (2*y + l.shift) / v.hi, math.Exp(-t) * (1 - rest) / l.z
}

// reach returns a range [lo, hi] of the noise y. The noise is below lo with probability at most
// below, and above hi with probability at most above. For whole m >= 1, P(Y >= m) <= P(N(0,
// sigma^2) >= m-1) <= exp(-(m-1)^2/(2 sigma^2))/2.
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

// anchor returns the loss of the most likely output, so that this loss is one of the points of the
// grid (the lattice) for the law.
func (l discreteLaw) anchor(float64) float64 {
	loss, _ := l.at(0)
	return loss
}

// period returns the distance between the losses of neighbouring atoms if sigma <= 8. The grid for the law (the
// lattice) then contains all atoms. For larger sigma the atoms are too dense for such a grid, and period returns 0.
func (l discreteLaw) period() float64 {
	if l.sigma > 8 {
		return 0
	}
	return l.shift / (l.sigma * l.sigma)
}

// slabs adds every atom to the interval that contains the atom's loss. A [lossInterval] is the part of the law
// whose losses lie between two neighbouring lattice points. Its excess is P - e^a Q, where a is the
// loss at which the interval begins. An atom of mass m and loss s adds m (1 - e^(a-s)) to the excess.
func (l discreteLaw) slabs(e *effort, dst []lossInterval, on lattice, below, above float64) error {
	lo, hi := l.reach(below, above)
	if err := e.spend(l.labour(float64(len(dst)), below, above)); err != nil {
		return err
	}
	from, to := l.span(below, above)
	scale := max(math.Abs(from), math.Abs(to))
	snap := exponentialSnap * scale
	for k := range dst {
		dst[k] = lossInterval{shift: 2 * snap}
	}
	for y := lo; y <= hi; y++ {
		loss, mass := l.at(y)
		k := min(max(0, int(math.Floor((loss-on.offset+snap)/on.width))-on.first), len(dst)-1)
		s := &dst[k]
		s.mass += mass
		// An atom whose loss is next to a lattice point is moved onto that point. The interval's field shift
		// holds the largest distance moved.
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

// sketch returns a rough copy of the law, for planning. It leaves out a probability mass of at most tail at
// either end. From the rest it keeps evenly spaced atoms, about 2000 to 4000, or all atoms if there are
// fewer. A kept atom also stands for the skipped atoms after it: its mass is multiplied by the spacing.
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
