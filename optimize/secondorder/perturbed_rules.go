package secondorder

import (
	"cmp"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

const perturbedName, orRule = "perturbed-gd", ", or left out for the rule"

// anchorShare is the share of the budget that all anchors of a run get together. fewestAnchors is the number of
// anchors that a period leaves at least.
const anchorShare, fewestAnchors = .8, 8

// settle replaces settings that are zero by the practical rule's values, or by the theorem's if c.Theorem is
// set. It returns an error if a setting is out of range.
func (c Perturbed) settle(p optimize.Problem) (*perturbedPlan, Perturbed, error) {
	if err := optimize.CheckSteps(perturbedName, c.Steps); err != nil {
		return nil, c, err
	}
	if c.Period < 0 || c.Period > optimize.MostSteps {
		return nil, c, fmt.Errorf("optimize: %s: period = %d: must be between 1 and %d, or left out for the rule's number",
			perturbedName,
			c.Period, optimize.MostSteps)
	}
	if c.Theorem {
		return c.byTheorem(p)
	}
	err := optimize.Fill(perturbedName,
		optimize.Setting{Name: "gap", Value: &c.Gap, Rule: p.Smoothness() / 10, Or: orRule},
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: p.StepScale(), Or: orRule})
	if err != nil {
		return nil, c, err
	}
	eta := p.StepSize(c.StepScale)
	if c.Steps == 0 {
		// More steps than twice gd's number let the noise move the iterate farther than the loss falls.
		c.Steps = p.GradientSteps(4, c.StepScale)
		if !p.Convex() {
			c.Steps = max(c.Steps, min(optimize.StepCount(16/(eta*c.Gap)), 2*c.Steps))
		}
	}
	if c.Period == 0 {
		n, t := p.Effective(), float64(c.Steps)
		c.Period = int(max(min(.02*n*n/(c.StepScale*c.StepScale*t), t/fewestAnchors), 1))
	}
	c.Output = c.Output.Or(optimize.TailAverage)
	plan := &perturbedPlan{ball: c.Ball, period: c.Period, anchors: (c.Steps + c.Period - 1) / c.Period,
		frozen: int(min(math.Ceil(8/(eta*c.Gap)), longestEscape))}
	share := anchorShare
	if plan.anchors == c.Steps {
		share = 1
	}
	plan.divide(p, share, c.Steps-plan.anchors)
	return plan, c, nil
}

// byTheorem sets the values of the proof of Ganesh et al. 2023 for the empirical risk, with all logarithms and
// unstated constants set to 1.
//
// Let an anchor's noise have the norm sigma and a difference's the norm lambda times its move. If A anchors
// share half of the budget and T differences the other, sigma^2 = 2 A (L0 a)^2 and lambda^2 = 2 T (L1 a)^2. In T
// = F0 L1/alpha^2 steps of size 1/L1 the objective falls by F0, and the squared moves have a sum of F0/L1. With
// an anchor after each sum of path, A = F0/(L1 path) of them. Noise of differences equals an anchor's where
// lambda^2 path = sigma^2, hence path = L0 alpha/L1^2, and sigma = alpha gives alpha^3 = F0 L0 L1 a^2.
func (c Perturbed) byTheorem(p optimize.Problem) (*perturbedPlan, Perturbed, error) {
	G, M, F, rho := p.Constants.Lipschitz, p.Smoothness(), p.Constants.InitialGap, p.Constants.HessianLipschitz
	for key, set := range map[string]bool{"gap": c.Gap != 0, "step scale": c.StepScale != 0, "period": c.Period != 0} {
		if set {
			return nil, c, fmt.Errorf("optimize: %s: %s: must not be set beside theorem, which settles it", perturbedName, key)
		}
	}
	if !optimize.Positive(rho) {
		return nil, c, fmt.Errorf("optimize: %s: Lipschitz constant of the Hessian = %v: must be finite and > 0 for theorem",
			perturbedName, rho)
	}
	alpha := accuracy(p)
	c.Steps = cmp.Or(c.Steps, int(max(min(math.Ceil(F*M/(alpha*alpha)), optimize.MostSteps), 1)))
	c.StepScale, c.Gap, c.Output = 1, math.Sqrt(rho*alpha), c.Output.Or(optimize.Random)
	path := G * alpha / (M * M)
	anchors := math.Ceil(F/(M*path)) + 1
	plan := &perturbedPlan{ball: c.Ball, path: path, small: alpha, anchors: int(min(anchors, float64(c.Steps))),
		frozen: int(min(math.Ceil(M/c.Gap), optimize.MostSteps))}
	plan.divide(p, .5, c.Steps-1)
	return plan, c, nil
}

// accuracy returns alpha, the bound of the proof on the gradient norm (see byTheorem).
func accuracy(p optimize.Problem) float64 {
	a, c := 2/p.Effective(), p.Constants
	return math.Cbrt(c.InitialGap*c.Lipschitz*p.Smoothness()*a*a) + c.Lipschitz*a
}

// divide gives the anchors the given share of the budget and the differences the rest, each kind in equal parts.
func (s *perturbedPlan) divide(p optimize.Problem, share float64, differences int) {
	s.anchor = p.Charge() * share / float64(s.anchors)
	if differences > 0 {
		s.difference = p.Charge() * (1 - share) / float64(differences)
	}
}

// populationScales bounds, up to a constant, how far the mean gradient and Hessian over n records are from their
// expectations over the records' distribution, at all points of norm at most R = sqrt(d), with probability 99% (Liu and
// Talwar 2025, Theorem C.1): L0 s and L1 s with s = sqrt(d log(R/(.01 r))/n). r = min(L0/L1, L1/rho) sqrt(d/n) is the
// distance over which either changes by as much; the paper's min(1, M/rho) is not a length. Without rho the Hessian's is 0.
func populationScales(p optimize.Problem) (gradient, hessian float64) {
	G, M, d := p.Constants.Lipschitz, p.DataSmoothness(), float64(p.Dim())
	far := G / M
	if rho := p.Constants.HessianLipschitz; rho > 0 && !math.IsInf(rho, 1) {
		far, hessian = min(far, M/rho), M
	}
	s := math.Sqrt(d / p.Records)
	s *= math.Sqrt(math.Log(max(math.Sqrt(d)/(.01*far*s), math.E)))
	return G * s, hessian * s
}
