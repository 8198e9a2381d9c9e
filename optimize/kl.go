package optimize

import (
	"fmt"
	"math"
)

// KL is public knowledge of how fast the objective F rises away from its minimum: the
// Kurdyka-Lojasiewicz (KL) condition in the form of Menart et al. 2024,
//
//	F(w) - min F <= (Gamma ||grad F(w)||)^Kappa   at every point that a run visits.
//
// Kappa 2 is the Polyak-Lojasiewicz condition. Strong convexity with modulus m implies it with Gamma =
// 1/sqrt(2m). Kappa 1 means a sharp minimum. The zero KL means that nothing is known. A wrong condition
// costs accuracy, not privacy.
type KL struct {
	// Kappa is kappa in F(w) - min F <= (gamma ||grad F(w)||)^kappa, at least 1. If kappa and gamma are
	// both zero, the values of the problem are used. If the problem states none, the values that strong
	// convexity implies are used. If the objective is not known to be strongly convex, the values that
	// follow from the curvature assumed by predictions are used.
	Kappa float64 `yaml:"kappa"`
	// Gamma is gamma in F(w) - min F <= (gamma ||grad F(w)||)^kappa. It must be given together with
	// kappa.
	Gamma float64 `yaml:"gamma"`
}

// Known reports whether k states a condition: whether it is not the zero KL.
func (k KL) Known() bool { return k != KL{} }

// Validate returns an error unless both fields are zero, or kappa is in [1, 10] and gamma is finite and
// above 0.
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

// mostKappa is the largest exponent kappa that is accepted. With kappa 10, halving the gradient norm
// would divide the excess loss by about a thousand, which holds for no useful loss.
const mostKappa = 10

// Excess returns the largest excess loss F(w) - min F that the condition allows at a point w with the
// given gradient norm.
func (k KL) Excess(gradient float64) float64 { return math.Pow(k.Gamma*gradient, k.Kappa) }

// Gradient returns the smallest gradient norm that the condition allows at a point w with the given
// excess loss F(w) - min F.
func (k KL) Gradient(excess float64) float64 { return math.Pow(excess, 1/k.Kappa) / k.Gamma }
