package optimize

import (
	"fmt"
	"math"
)

// KL is what may be publicly known of how fast a loss rises away from its
// minimum, the condition of Kurdyka and Lojasiewicz as Menart et al. 2024 write it:
//
//	F(w) - min F <= (Gamma ||grad F(w)||)^Kappa   wherever a run goes.
//
// Kappa 2 is the condition of Polyak and Lojasiewicz, which strong convexity with
// modulus m implies with Gamma = 1/sqrt(2m); Kappa 1 is sharp. The zero KL says that
// nothing is known. Accuracy rests on it, and privacy never.
type KL struct {
	// Kappa is kappa in F(w) - min F <= (gamma ||grad F(w)||)^kappa, at least 1.
	// Zero, with gamma: what the problem says of it, else what strong convexity or,
	// failing that, the curvature that predictions assume implies.
	Kappa float64 `yaml:"kappa"`
	// Gamma is gamma in F(w) - min F <= (gamma ||grad F(w)||)^kappa. It is given
	// with kappa.
	Gamma float64 `yaml:"gamma"`
}

// Known reports whether anything is.
func (k KL) Known() bool { return k != KL{} }

// Validate checks what is known.
func (k KL) Validate() error {
	switch {
	case !k.Known():
		return nil
	case !(k.Kappa >= 1 && k.Kappa <= mostKappa):
		return fmt.Errorf("optimize: kl: kappa = %v: must be between 1 and %v, and given with gamma", k.Kappa, mostKappa)
	case !Positive(k.Gamma):
		return fmt.Errorf("optimize: kl: gamma = %v: must be finite and > 0, and given with kappa", k.Gamma)
	}
	return nil
}

// mostKappa is beyond any loss worth the name: at it, a gradient of half the
// length means a thousandth of the excess.
const mostKappa = 10

// Excess returns the most that F(w) - min F is where the gradient has a norm.
func (k KL) Excess(gradient float64) float64 { return math.Pow(k.Gamma*gradient, k.Kappa) }

// Gradient returns the least norm of the gradient where F(w) - min F is excess.
func (k KL) Gradient(excess float64) float64 { return math.Pow(excess, 1/k.Kappa) / k.Gamma }
