package kl

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// condition returns the KL condition that a plan goes by: the one given to the
// algorithm, or the problem's, or else that of strong convexity with the least
// curvature there is, known or assumed by predictions.
func condition(given optimize.KL, p optimize.Problem) (optimize.KL, error) {
	if err := given.Validate(); err != nil {
		return given, err
	}
	if given.Known() {
		return given, nil
	}
	if p.KL.Known() {
		return p.KL, nil
	}
	m := convexity(p)
	if !(m > 0) {
		m = leastAssumed(p)
	}
	return optimize.KL{Kappa: 2, Gamma: 1 / math.Sqrt(2*m)}, nil
}

// convexity is the modulus of strong convexity of the objective, as far as it is
// known; at most 0 where it is not strongly convex.
func convexity(p optimize.Problem) float64 {
	lo, _ := p.Curvature()
	return lo + regularizerConvexity(p)
}

func regularizerConvexity(p optimize.Problem) float64 {
	if p.Regularizer == nil {
		return 0
	}
	return p.Regularizer.Convexity()
}

// leastAssumed is the least curvature that predictions assume.
func leastAssumed(p optimize.Problem) float64 {
	least := math.Inf(1)
	for _, e := range forecast.Assumed(p) {
		least = min(least, e.Eigenvalue)
	}
	return least
}

// longest is the most steps that rules take for losses of kappa below 2: without noise
// the excess falls like T^(-kappa/(2-kappa)) there, so that time still counts where
// optimize.RuleSteps are enough for kappa 2.
const longest = 2 * optimize.RuleSteps

// noise is the standard deviation, a coordinate, of the mean gradient of all
// records released at a charge.
func noise(p optimize.Problem, charge float64) float64 {
	return p.Neighbours() * p.Constants.Lipschitz / (p.Records * math.Sqrt(charge))
}

// chargeFor is the charge at which a mean gradient has noise of a standard deviation.
func chargeFor(p optimize.Problem, sigma float64) float64 {
	s := p.Neighbours() * p.Constants.Lipschitz / (p.Records * sigma)
	return s * s
}

// rootRho is n sqrt(rho) where the paper's sensitivities are of replaced records,
// and what has the same noise under add-or-remove.
func rootRho(p optimize.Problem) float64 {
	return p.Effective() * math.Sqrt(float64(p.Dim())) / math.Sqrt2
}

// failure checks the probability with which a theorem may fail; 0 means .05.
func failure(algorithm string, theorem bool, beta float64) (float64, error) {
	switch {
	case !theorem && beta != 0:
		return 0, fmt.Errorf("optimize: %s: failure = %v: is the theorem's, which is not asked for", algorithm, beta)
	case beta == 0:
		return defaultFailure, nil
	case !(beta > 0 && beta < 1):
		return 0, fmt.Errorf("optimize: %s: failure = %v: must be > 0 and < 1, or 0 for .05", algorithm, beta)
	}
	return beta, nil
}

// defaultFailure is the probability with which theorems may fail.
const defaultFailure = .05

// positiveOr checks a setting, of which zero means the rule's value.
func positiveOr(algorithm, field string, x, rule float64) (float64, error) {
	if x == 0 {
		x = rule
	}
	if !optimize.Positive(x) {
		return 0, fmt.Errorf("optimize: %s: %s = %v: must be finite and > 0", algorithm, field, x)
	}
	return x, nil
}

// shareOr is positiveOr for shares of the whole.
func shareOr(algorithm, field string, x, rule float64) (float64, error) {
	if x == 0 {
		x = rule
	}
	if !(x > 0 && x < 1) {
		return 0, fmt.Errorf("optimize: %s: %s = %v: must be > 0 and < 1, or 0 for the rule's", algorithm, field, x)
	}
	return x, nil
}
