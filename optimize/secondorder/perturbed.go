package secondorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Perturbed is noisy gradient descent with perturbations on all records (Ganesh, Liu, Oh and Thakurta 2023,
// Algorithm 1 with Gaussian oracles; Liu and Talwar 2025, Appendix C, compare it with theirs for the population
// risk). Unlike [Spider], Perturbed needs no Hessian-vector products. An anchor is a newly released gradient of
// all records. A difference is a released gradient difference between two successive iterates. Added to the
// estimate g, it updates g to the current iterate.
//
//	if an anchor is due:
//	    g  = mean_i clip(grad f(w_t; x_i), L0) + noise
//	else a difference:
//	    g += mean_i clip(grad f(w_t; x_i) - grad f(w_{t-1}; x_i), ball) + noise
//	if the last estimate was small, and the last Gamma steps had no perturbation:
//	    w_{t+1} = Proj(w_t - (h/L1) (g + grad reg(w_t) + zeta)),  zeta ~ N(0, s^2 I)
//	else the same without zeta
//
// Guarantee: mu-GDP whatever the constants. The numbers of anchors and differences are limited, and the
// charges of all anchors and differences sum to at most mu^2. The paper proves that a random iterate has a
// gradient norm of O~((sqrt(d)/(n epsilon))^(2/3)) for the empirical risk, with the paper's settings, which
// Theorem gives up to their logarithms. The paper's proof for the population risk has a flaw (Liu and Talwar
// 2025, section 1.1). By Theorem C.1 of Liu and Talwar gradient and Hessian of the population are within
// O~(sqrt(d/n)) of those on the records, at every point of a bounded set.
//
// Deviations from the paper, with the practical rule and with Theorem:
//   - The budget mu^2 is divided between anchors and differences, in equal parts within each kind. The paper
//     gives the whole budget to each.
//   - Differences are clipped, by default to the ball centred on the curvature interval (see
//     [optimize.DifferenceBall]), which enforces L1.
//   - zeta is added to one step only. The later differences update the estimate without zeta. s is the
//     standard deviation of the anchor's noise.
//   - The regularizer's gradient is added exactly and never estimated.
//
// Deviations of the practical rule:
//   - Every q-th step releases an anchor, as in firstorder.SpiderBoost. In the paper an anchor is due after a
//     path of a certain length, so that a run may have used all of them before its end; differences alone then
//     add up noise that grows with the steps, and steps that grow with the noise. A perturbed step is one with an
//     anchor: a perturbation waits for the next.
//   - An estimate is small if its norm, with the regularizer's gradient added, is at most 1.5 times the
//     root mean square norm of its noise. Gamma is min(8/(eta gap), 60), where gap is the setting Gap.
//   - The result is the average of the second half of the iterates, over the noise of several anchors. The paper's
//     is a random iterate.
//
// Deviations with Theorem:
//   - The settings are those of a proof as the paper's for all records, with each logarithm and unstated
//     constant set to 1, and with a = 2 sqrt(d)/(n mu) for the noise: accuracy alpha = (F0 L0 L1 a^2)^(1/3) + L0
//     a, steps of size 1/L1, F0 L1/alpha^2 of them, an anchor where the squared lengths of the moves since the
//     last have the sum L0 alpha/L1^2, perturbations where the norm of an estimate is at most alpha, and Gamma =
//     L1/sqrt(rho alpha), where rho is the Hessian's Lipschitz constant. Half of the budget is for anchors, as
//     many as moves can need until the objective has fallen by F0.
//   - A perturbation is added to the estimate at hand. With an anchor for each, as in the paper, escapes would
//     need F0 sqrt(rho/alpha^3) anchors, more than moves need where alpha is below rho (L0/L1)^2.
//   - A run that has used all of its anchors ends where it needs one more. In the theorem's event it needs none.
//
// The zero Perturbed selects every setting by the practical rule in the field's comment.
type Perturbed struct {
	// Theorem means that settings that are zero have the values of the proof of Ganesh et al. (2023) for the
	// empirical risk, with logarithms and unstated constants set to 1. The loss must then state a Lipschitz
	// constant of its Hessian, and Gap, Period and StepScale must be zero.
	Theorem bool `yaml:"theorem"`
	// Gap says which saddle points the run must leave: those where the Hessian has an eigenvalue below -Gap.
	// The defaults of Gamma, the least number of steps between perturbations, and of Steps depend on Gap. Zero
	// means a tenth of the smoothness L1.
	Gap float64 `yaml:"gap"`
	// Steps is T. Zero means the number that the rule of algorithm gd gives. If the objective is not convex, zero
	// means at least 16/(eta Gap), but at most twice the number of gd's rule and at most 1000. With Theorem, zero
	// means F0 L1/alpha^2, where alpha is the accuracy of the proof.
	Steps int `yaml:"steps"`
	// Period is q: every q-th step releases a gradient (an anchor), the other steps release gradient
	// differences. Zero means .02 N^2/(h^2 T), at most T/8.
	Period int `yaml:"period"`
	// StepScale is h in eta = h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of several rows,
	// and 1 for other losses. With zero, steps that overshoot are shortened, but not below 1/L1. With Theorem, zero
	// means 1.
	StepScale float64 `yaml:"step_scale"`
	// Ball is the ball to which gradient differences are clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// Output is the rule that picks the result; zero means TailAverage, or Random with Theorem.
	Output optimize.Output `yaml:"output"`
}

// perturbedPlan is the plan of a [Perturbed] for one problem. All settings have values.
type perturbedPlan struct {
	optimize.Settled
	anchors            int     // the most anchors that a run releases
	anchor, difference float64 // privacy charge of each anchor and of each difference
	frozen             int     // Gamma: the least number of steps between perturbations
	ball               optimize.DifferenceBall
	// period is the number of steps from an anchor to the next. With Theorem it is 0, and an anchor is due where
	// the squared lengths of the moves since the last have the sum path.
	period int
	path   float64
	// small is the norm up to which an estimate is small. It is 0 without Theorem: the noise of the estimate then
	// decides.
	small float64
}

// Plan implements [optimize.Algorithm].
func (c Perturbed) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), c.Ball.Validate()); err != nil {
		return nil, err
	}
	guarded := c.StepScale == 0 && !c.Theorem
	plan, c, err := c.settle(p)
	if err != nil {
		return nil, err
	}
	differences := c.Steps - 1
	if plan.period > 0 {
		differences = c.Steps - plan.anchors
	}
	// The forecast assumes evenly spaced anchors. With Theorem their number depends on the path.
	period := (c.Steps + plan.anchors - 1) / plan.anchors
	made, err := forecast.Finish(plan, &plan.Settled, optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: perturbedName,
			Citation:  "noisy gradient descent with perturbations (Ganesh et al. 2023, Algorithm 1)",
			Steps:     c.Steps,
			StepSize:  p.StepSize(c.StepScale),
			Charges:   plan.words(p, c.Ball),
			Passes:    float64(plan.anchors + 2*differences),
		},
		Needs: optimize.Needs{Seed: true},
		Workload: optimize.Workload{}.Count(query.Gradient, float64(plan.anchors), 1).
			Count(query.Difference, float64(differences), 1),
		UpdateRule: optimize.UpdateRule{
			Guarded: guarded, Importance: slices.Repeat([]float64{1}, c.Steps), Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz,
			Answer: func(t int, radius, _ float64) (K float64, fresh optimize.Variance) {
				charge := plan.difference
				if t%period == 0 {
					K, radius, charge = 1, p.Constants.Lipschitz, plan.anchor
				}
				s := p.Neighbours() * radius / p.Records
				return K, optimize.Variance{Noise: s * s / charge}
			},
		},
		Output: c.Output,
	})
	if err == nil && c.Theorem {
		plan.Promises("the proof of Ganesh et al. 2023 for the empirical risk", optimize.OfGradient, p.MostStart(), accuracy)
	}
	return made, err
}

func (s *perturbedPlan) words(p optimize.Problem, ball optimize.DifferenceBall) string {
	due := fmt.Sprintf("one every %d steps", s.period)
	if s.period == 0 {
		due = fmt.Sprintf("where the squared moves since the last have the sum %.3g", s.path)
	}
	words := fmt.Sprintf("up to %d anchors, %s, share %.3g; differences the rest, ball %s; after a small estimate a "+
		"perturbation as long as an anchor's noise, not for %d steps after another",
		s.anchors, due, s.anchor*float64(s.anchors)/p.Charge(), ball, s.frozen)
	gradient, hessian := populationScales(p)
	words += fmt.Sprintf("; over the records' distribution the gradient is longer by about %.2g at most", gradient)
	if hessian > 0 {
		words += fmt.Sprintf(", and an eigenvalue of the Hessian lower by %.2g", hessian)
	}
	return words
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
		first,
		more float64 // noise variances per coordinate: of the last anchor, and of the sum of the differences since then
		drift  float64 // sum of the squared lengths of the moves since the last anchor
		frozen int     // number of steps until a perturbation is allowed
		small  bool
	)
	left := s.anchors
	step := func(t int) error {
		perturb, still := small && frozen <= 0, slices.Equal(run.W, prev)
		if t > 0 {
			drift += square(run.W, prev)
		}
		due := t == 0 || drift >= s.path
		if s.period > 0 {
			due = t%s.period == 0
			perturb = perturb && due
		}
		switch {
		case due && left == 0:
			return errAnchors
		case due:
			a, err := run.Ask(s.anchor, query.GradientAt(run.All(), run.W, p.Constants.Lipschitz))
			if err != nil {
				return err
			}
			estimate, first, more, drift, left = run.Estimate(a), a.Sigma*a.Sigma, 0, 0, left-1
		case !still: // after a step of length 0 the difference is exactly 0 and needs no query
			a, err := run.Ask(s.difference, s.ball.Difference(p, run.All(), run.W, prev))
			if err != nil {
				return err
			}
			estimate = run.Mix(estimate, 1, a, 1)
			more += a.Sigma * a.Sigma
		}
		norm := optimize.Norm(run.Regularized(estimate.Vector()))
		small = norm <= 1.5*math.Sqrt(float64(p.Dim())*(first+more))
		if s.small > 0 {
			small = norm <= s.small
		}
		prev, frozen = slices.Clone(run.W), frozen-1
		use := optimize.Use{Weight: 1}
		if perturb {
			frozen = s.frozen
			use.Coins, use.Deviation = make([]float64, p.Dim()), math.Sqrt(first)
			for j := range use.Coins {
				use.Coins[j] = coins.NormFloat64()
			}
		}
		run.Descend(estimate, use)
		return nil
	}
	if s.period > 0 {
		return run.Steps(step)
	}
	return run.Until(func() error {
		for t := range s.Summary().Steps {
			if err := step(t); errors.Is(err, errAnchors) {
				return nil
			} else if err != nil {
				return err
			}
		}
		return nil
	})
}

// errAnchors ends a run with Theorem that needs an anchor and has released all. It is no failure.
var errAnchors = errors.New("no anchor is left")

// square returns the squared distance between two points.
func square(w, v []float64) float64 {
	d := optimize.Apart(w, v)
	return d * d
}

const perturbedName, orRule = "perturbed-gd", ", or left out for the rule"

// anchorShare is the share of the budget that all anchors of a run get together. fewestAnchors is the number of
// anchors that a period leaves at least.
const anchorShare, fewestAnchors = .8, 8

// settle replaces settings that are zero by the practical rule's values, or by the theorem's if c.Theorem is
// set. It returns an error if a setting is out of range.
func (c Perturbed) settle(p optimize.Problem) (*perturbedPlan, Perturbed, error) {
	err := cmp.Or(optimize.CheckSteps(perturbedName, c.Steps), optimize.CheckCount(perturbedName, "period", c.Period))
	if err != nil {
		return nil, c, err
	}
	if c.Theorem {
		return c.byTheorem(p)
	}
	err = optimize.Fill(perturbedName,
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
