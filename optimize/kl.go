package optimize

import (
	"fmt"
	"math"
)

// KL is public knowledge of how fast a loss rises away from its minimum: the Kurdyka-Lojasiewicz (KL)
// condition as Menart et al. 2024 write it,
//
//	F(w) - min F <= (Gamma ||grad F(w)||)^Kappa   at every point that a run visits.
//
// Kappa 2 is the Polyak-Lojasiewicz condition. Strong convexity with modulus m implies it with Gamma =
// 1/sqrt(2m). Kappa 1 means a sharp minimum. The zero KL means that nothing is known. Accuracy depends
// on the condition; privacy does not.
type KL struct {
	// Kappa is kappa in F(w) - min F <= (gamma ||grad F(w)||)^kappa, at least 1. Zero, together with
	// gamma 0, means the problem's own values, else the values that strong convexity implies, else the
	// values that the curvature assumed by predictions implies.
	Kappa float64 `yaml:"kappa"`
	// Gamma is gamma in F(w) - min F <= (gamma ||grad F(w)||)^kappa. It must be given together with
	// kappa.
	Gamma float64 `yaml:"gamma"`
}

// Known reports whether k is other than the zero KL.
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

// mostKappa is the largest kappa accepted. At kappa 10 half the gradient norm means about a thousandth
// of the excess, which no useful loss has.
const mostKappa = 10

// Excess returns the largest F(w) - min F at a point whose gradient has the given norm.
func (k KL) Excess(gradient float64) float64 { return math.Pow(k.Gamma*gradient, k.Kappa) }

// Gradient returns the least gradient norm at a point where F(w) - min F equals excess.
func (k KL) Gradient(excess float64) float64 { return math.Pow(excess, 1/k.Kappa) / k.Gamma }
