package secondorder

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Perturbed configures noisy gradient descent with perturbations on all records (Ganesh, Liu, Oh
// and Thakurta 2023, Algorithm 1 with Gaussian oracles). It is the alternative to Spider that needs
// no Hessian-vector products.
//
//	where the path since the last anchor is long, or a perturbation is due, an anchor:
//	    g  = mean_i clip(grad f(w_t; x_i), L0) + noise
//	else a difference:
//	    g += mean_i clip(grad f(w_t; x_i) - grad f(w_{t-1}; x_i), ball) + noise
//	where the last g was small, and nothing was added for Gamma steps:
//	    w_{t+1} = Proj(w_t - (h/L1) (g + grad reg(w_t) + zeta)),  zeta ~ N(0, s^2 I)
//	else the same without zeta
//
// Guarantee: mu-GDP whatever the constants. The numbers of anchors and differences are limited, and
// the charges of all of them sum to mu^2. The paper proves the rate alpha = O~((sqrt(d)/(n
// epsilon))^(2/3)) for the empirical risk, a random iterate and its own settings. Its proof for the
// population risk has a flaw (Liu and Talwar 2025, section 1.1).
//
// Deviations from the paper:
//   - Anchors and differences share one budget: .8 of it for up to 8 anchors, the rest for the
//     differences, with equal charges. After the last anchor only differences are released.
//   - The path is long when the differences since the anchor have as much noise as the anchor. In
//     the paper's terms, kappa is set where both errors are equal.
//   - An estimate is small if its norm is at most 1.5 times the norm of its noise. Gamma is
//     min(8/(eta gap), 60), and s is the noise of an anchor.
//   - zeta is added to one step only. It is not part of the estimates that differences extend.
//   - Differences are clipped, by default to the centred ball, so that L1 is enforced.
//   - The regularizer's gradient is added exactly and never estimated.
//   - The result is the last iterate, not a random one.
//
// The zero Perturbed is the default rule.
type Perturbed struct {
	// Gap sets which eigenvalues of the Hessian the run must escape: those below -Gap. Gamma and
	// Steps follow from it. Zero means a tenth of the smoothness L1.
	Gap float64 `yaml:"gap"`
	// Steps is T. Zero means the larger of gd's rule and 16/(eta gap), at most 1000.
	Steps int `yaml:"steps"`
	// StepScale is h in eta = h/L1. Zero means 4 for rank-one losses, with shorter steps where 4
	// would overshoot, and 1 for other losses.
	StepScale float64 `yaml:"step_scale"`
	// Ball is the ball to which gradient differences are clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// Output is the rule that picks the result; zero means Last.
	Output optimize.Output `yaml:"output"`
}

const (
	// anchorShare is the share of the budget for mostPerturbedAnchors anchors.
	anchorShare          = .8
	mostPerturbedAnchors = 8
)

// perturbedPlan is a Perturbed with every setting resolved for a problem.
type perturbedPlan struct {
	optimize.Settled
	anchor, difference float64 // charges
	frozen             int     // Gamma
	ball               optimize.DifferenceBall
}

// Plan resolves the settings of Perturbed for a problem. It fails if the problem is not valid or a
// setting is out of range.
func (c Perturbed) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	const name = "perturbed-gd"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := c.Ball.Validate(); err != nil {
		return nil, err
	}
	if err := optimize.CheckSteps(name, c.Steps); err != nil {
		return nil, err
	}
	guarded := c.StepScale == 0
	for _, v := range []struct {
		key   string
		value *float64
		rule  float64
	}{{"gap", &c.Gap, p.Smoothness() / 10}, {"step scale", &c.StepScale, p.StepScale()}} {
		if *v.value == 0 {
			*v.value = v.rule
		}
		if !optimize.Positive(*v.value) {
			return nil, fmt.Errorf("optimize: %s: %s = %v: must be finite and > 0, or 0 for the rule", name, v.key, *v.value)
		}
	}
	eta := p.StepSize(c.StepScale)
	if c.Steps == 0 {
		c.Steps = max(p.GradientSteps(4, c.StepScale), optimize.StepCount(16/(eta*c.Gap)))
	}
	anchors := min(mostPerturbedAnchors, c.Steps)
	plan := &perturbedPlan{
		anchor: p.Charge() * anchorShare / float64(anchors), difference: p.Charge() * (1 - anchorShare) / float64(c.Steps),
		frozen: int(min(math.Ceil(8/(eta*c.Gap)), longestEscape)), ball: c.Ball,
	}
	period := (c.Steps + anchors - 1) / anchors
	importance := make([]float64, c.Steps)
	for t := range importance {
		importance[t] = 1
	}
	var err error
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: name,
			Citation:  "noisy gradient descent with perturbations (Ganesh et al. 2023, Algorithm 1)",
			Steps:     c.Steps,
			StepSize:  eta,
			Charges: fmt.Sprintf("up to %d anchors, share %.3g, where the path since the last is long or the estimate is small; differences the rest, ball %s; after a small estimate a perturbation as long as an anchor's noise, not for %d steps after another",
				anchors, anchorShare, c.Ball, plan.frozen),
			Passes: float64(2 * c.Steps),
		},
		Needs: optimize.Needs{Seed: true},
		Law: optimize.Law{
			Guarded: guarded, Importance: importance, Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz,
			// The forecast assumes that anchors are evenly spaced.
			Answer: func(t int, radius, _ float64) (K float64, fresh optimize.Variance) {
				charge := plan.difference
				if t%period == 0 {
					K, radius, charge = 1, p.Constants.Lipschitz, plan.anchor
				}
				s := p.Neighbours() * radius / p.Records
				return K, optimize.Variance{Noise: s * s / charge}
			},
		},
		Output: c.Output.Or(optimize.Last),
	})
	if err != nil {
		return nil, err
	}
	plan.Expect(forecast.Of(p, plan.Law()))
	return plan, nil
}

// Run carries the plan out.
func (s *perturbedPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	p, run := s.Problem(), s.Begin(ctx, o, observe)
	// The perturbations are public and independent of the records.
	coins := p.PublicCoins(0x9e27b, uint64(len(run.W)))
	var (
		prev         []float64
		estimate     *optimize.Estimate
		noise        float64 // standard deviation of the anchor's noise, per coordinate
		first, drift float64 // noise variances per coordinate: of the anchor, and of all differences since
		frozen       int     // steps until the next perturbation
		small        bool
	)
	left := min(mostPerturbedAnchors, s.Summary().Steps)
	return run.Steps(func(t int) error {
		perturb, still := small && frozen <= 0 && left > 0, slices.Equal(run.W, prev)
		switch {
		case left > 0 && (t == 0 || perturb || still || drift >= first):
			a, err := run.Ask(s.anchor, query.GradientAt(run.All(), run.W, p.Constants.Lipschitz))
			if err != nil {
				return err
			}
			noise, estimate, first, drift, left = a.Sigma, run.Estimate(a), a.Sigma*a.Sigma, 0, left-1
		case !still: // if the iterate has not moved, a difference carries no information
			a, err := run.Ask(s.difference, s.ball.Difference(p, run.All(), run.W, prev))
			if err != nil {
				return err
			}
			estimate = run.Mix(estimate, 1, a, 1)
			drift += a.Sigma * a.Sigma
		}
		small = optimize.Norm(run.Regularized(estimate.Vector())) <= 1.5*math.Sqrt(float64(p.Dim())*(first+drift))
		prev, frozen = slices.Clone(run.W), frozen-1
		use := optimize.Use{Weight: 1}
		if perturb { // here the estimate is a fresh anchor
			frozen = s.frozen
			use.Coins, use.Deviation = make([]float64, p.Dim()), noise
			for j := range use.Coins {
				use.Coins[j] = coins.NormFloat64()
			}
		}
		run.Descend(estimate, use)
		return nil
	})
}
