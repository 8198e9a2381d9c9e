package kl

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// condition returns the KL condition that a plan assumes. The algorithm's own setting, the parameter given,
// comes first. If it is not set, condition returns the condition of the problem p. If the problem has none,
// condition returns the condition that strong convexity with modulus m implies: kappa = 2 and gamma =
// 1/sqrt(2m). Here m is the objective's known modulus if this is positive, and otherwise the smallest
// curvature that forecasts assume (see leastAssumed). condition returns an error if the setting given is
// not valid.
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

// convexity returns the known modulus of strong convexity of the objective: a lower bound on the curvature
// of loss plus regularizer. It is 0 or negative if the objective is not known to be strongly convex.
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

// leastAssumed returns the smallest eigenvalue of the Hessian that forecasts assume (see
// [forecast.Assumed]).
func leastAssumed(p optimize.Problem) float64 {
	least := math.Inf(1)
	for _, e := range forecast.Assumed(p) {
		least = min(least, e.Eigenvalue)
	}
	return least
}

// longest is the largest default number of steps T for kappa below 2, and for the landing of [Adaptive].
// For kappa below 2 the excess risk without noise falls only like T^(-kappa/(2-kappa)), and more steps
// help. For kappa = 2, optimize.RuleSteps steps are enough.
const longest = 2 * optimize.RuleSteps

// noise returns the standard deviation, per coordinate, of the noise in the mean gradient of all records
// when the gradient is released at the given charge. It is Delta/sqrt(charge), where Delta is the
// sensitivity of the mean gradient.
func noise(p optimize.Problem, charge float64) float64 {
	return p.Neighbours() * p.Constants.Lipschitz / (p.Records * math.Sqrt(charge))
}

// chargeFor returns the charge at which the released mean gradient of all records has noise of standard
// deviation sigma per coordinate. It is the inverse of noise.
func chargeFor(p optimize.Problem, sigma float64) float64 {
	s := p.Neighbours() * p.Constants.Lipschitz / (p.Records * sigma)
	return s * s
}

// rootRho returns n sqrt(rho) for n records, where rho = mu^2/2 is the budget in zCDP, if neighbours are by
// replace-one, as in the paper (Menart et al. 2024). Under add-or-remove it returns 2 n sqrt(rho), since a
// sensitivity is half as large there.
func rootRho(p optimize.Problem) float64 {
	return p.Effective() * math.Sqrt(float64(p.Dim())) / math.Sqrt2
}

// failure returns the probability beta with which a theorem may fail: the setting beta, or .05 if beta is
// 0. It returns an error if beta is neither 0 nor in (0, 1), or if beta is set but theorem is false.
func failure(algorithm string, theorem bool, beta float64) (float64, error) {
	switch {
	case !theorem && beta != 0:
		return 0, fmt.Errorf("optimize: %s: failure = %v: is the theorem's, which is not asked for", algorithm, beta)
	case beta == 0:
		return defaultFailure, nil
	case !(beta > 0 && beta < 1):
		return 0, fmt.Errorf("optimize: %s: failure = %v: must be > 0 and < 1, or left out for .05", algorithm, beta)
	}
	return beta, nil
}

const defaultFailure = .05
