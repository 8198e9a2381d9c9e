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

// Perturbed is noisy gradient descent with perturbations on all records (Ganesh, Liu, Oh and Thakurta 2023,
// Algorithm 1 with Gaussian oracles). Unlike [Spider], Perturbed needs no Hessian-vector products. An
// anchor is a newly released gradient of all records. A difference is a released gradient difference
// between two successive iterates. Added to the estimate g, it updates g to the current iterate.
//
//	if the path since the last anchor is long, or a perturbation is due, an anchor:
//	    g  = mean_i clip(grad f(w_t; x_i), L0) + noise
//	else a difference:
//	    g += mean_i clip(grad f(w_t; x_i) - grad f(w_{t-1}; x_i), ball) + noise
//	if the last estimate was small, and the last Gamma steps had no perturbation:
//	    w_{t+1} = Proj(w_t - (h/L1) (g + grad reg(w_t) + zeta)),  zeta ~ N(0, s^2 I)
//	else the same without zeta
//
// Guarantee: mu-GDP whatever the constants. The numbers of anchors and differences are limited, and the
// charges of all anchors and differences sum to at most mu^2. The paper proves that a random iterate has a
// gradient norm of O~((sqrt(d)/(n epsilon))^(2/3)) for the empirical risk, with the paper's settings. The
// paper's proof for the population risk has a flaw (Liu and Talwar 2025, section 1.1).
//
// Deviations from the paper:
//   - The budget mu^2 is divided. Up to 8 anchors share .8 of it equally. The differences share the rest
//     equally. After the last anchor there are only differences and no perturbations.
//   - The path counts as long when the differences since the last anchor have together at least the noise
//     variance of the anchor. In the paper's terms, the threshold kappa is set to the path length at which
//     both errors are equal.
//   - An estimate is small if its norm, with the regularizer's gradient added, is at most 1.5 times the
//     root mean square norm of its noise. Gamma is min(8/(eta gap), 60), where gap is the setting Gap,
//     and s is the standard deviation of an anchor's noise.
//   - zeta is added to one step only. The later differences update the estimate without zeta.
//   - Differences are clipped, by default to the ball centred on the curvature interval (see
//     [optimize.DifferenceBall]), which enforces L1.
//   - The regularizer's gradient is added exactly and never estimated.
//   - The result is the last iterate, not a random one.
//
// The zero Perturbed selects every setting by the rule in the field's comment.
type Perturbed struct {
	// Gap says which saddle points the run must leave: those where the Hessian has an eigenvalue below -Gap.
	// The defaults of Gamma, the least number of steps between perturbations, and of Steps depend on Gap. Zero
	// means a tenth of the smoothness L1.
	Gap float64 `yaml:"gap"`
	// Steps is T. Zero means 16/(eta gap), or the number that the rule of algorithm gd gives, whichever is
	// larger, but at most 1000.
	Steps int `yaml:"steps"`
	// StepScale is h in eta = h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of
	// several rows, and 1 for other losses. With zero, steps that overshoot are shortened, but not below 1/L1.
	StepScale float64 `yaml:"step_scale"`
	// Ball is the ball to which gradient differences are clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// Output is the rule that picks the result; zero means Last.
	Output optimize.Output `yaml:"output"`
}

const (
	// anchorShare is the share of the budget that all anchors of a run get together.
	// mostPerturbedAnchors is the largest number of anchors.
	anchorShare          = .8
	mostPerturbedAnchors = 8
)

// perturbedPlan is the plan of a [Perturbed] for one problem. All settings have values.
type perturbedPlan struct {
	optimize.Settled
	anchor, difference float64 // privacy charge of each anchor and of each difference
	frozen             int     // Gamma: the least number of steps between perturbations
	ball               optimize.DifferenceBall
}

// Plan replaces each zero setting of Perturbed by its rule's value for the problem p and returns the
// plan. Plan returns an error if p is not valid or a setting is out of range.
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
			Charges: fmt.Sprintf("up to %d anchors, share %.3g, where the path since the last is long or the estimate is "+
				"small; differences the rest, ball %s; after a small estimate a perturbation as long as an anchor's noise, not "+
				"for %d steps after another",
				anchors, anchorShare, c.Ball, plan.frozen),
			Passes: float64(2 * c.Steps),
		},
		Needs: optimize.Needs{Seed: true},
		Workload: optimize.Workload{}.Count(query.Gradient, float64(anchors), 1).
			Count(query.Difference, float64(c.Steps-1), 1),
		Law: optimize.Law{
			Guarded: guarded, Importance: importance, Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz,
			// The forecast assumes evenly spaced anchors, one every period steps.
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

// Run makes the queries to the oracle o and the steps of the plan. Run calls observe after each step.
func (s *perturbedPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result,
	error) {
	p, run := s.Problem(), s.Begin(ctx, o, observe)
	// The perturbations zeta come from public random bits and do not depend on the records.
	coins := p.PublicCoins(0x9e27b, uint64(len(run.W)))
	var (
		prev     []float64
		estimate *optimize.Estimate
		noise    float64 // standard deviation of the last anchor's noise, per coordinate
		first,
		drift float64 // noise variances per coordinate: of the last anchor, and of the sum of the differences since then
		frozen int // number of steps until a perturbation is allowed
		small  bool
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
		case !still: // after a step of length 0 the difference is exactly 0 and needs no query
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
		if perturb { // a perturbed step always uses an anchor released in the same step
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
