package kl

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Spider is KL Spider (Menart, Ullah, Arora, Bassily and Guzmán 2024, Algorithm 1) for losses under
// the KL condition with kappa in [1, 2]. It runs in rounds. Round k tries to bring the excess risk
// below the target Phi_k, which falls from round to round.
//
//	5   for k = 1..K
//	6       Phi_k = max(Phi_{k-1}/c, the least that noise allows)
//	7       T_k = (F0/Phi_k)^((2-kappa)/kappa)
//	8       g = mean_i clip(grad f(w; x_i), L0) + noise                          an anchor
//	10      while t < T_k and ||g|| >= (7/8) Phi_k^(1/kappa)/gamma
//	11-12       w' = Proj(w - h Phi_k^(1/kappa)/(gamma L1) g/||g||),  h = 1/4
//	13-14       g += mean_i clip(grad f(w'; x_i) - grad f(w; x_i), ball) + noise   a difference
//	19  return the last iterate
//
// Guarantee: mu-GDP whatever the constants. With the theorem's settings the excess risk is O~((gamma
// L0 sqrt(d (1 + gamma^2 L1 F0^-((2-kappa)/kappa)))/(n mu))^kappa) with probability 1-beta (Menart et
// al. 2024, Theorem 1), which is optimal up to logarithms.
//
// Deviations from the paper:
//   - Theorem 1 claims a privacy loss of rho, but Lemma 8 proves 2 rho. Under replace-one this is 17/8 of
//     mu^2: 2 for anchors and 1/8 for differences. Here mu^2 is divided between anchors and differences in
//     the proportion 2 to 1/8.
//   - A round starts at the current iterate. Line 17 of the paper prints the previous iterate.
//   - The loop ends at t = T_k, as the paper's proof counts, not one step later. No difference is released
//     after a round's last step.
//   - Differences are clipped, by default to the ball centred on the curvature interval (see
//     [optimize.DifferenceBall]), so that L1 is enforced.
//   - The regularizer's gradient is added exactly. It counts in ||g|| and in L1.
//   - The round ends if the projection leads back to the point at which a step began.
//   - T_k is rounded up, and a run has at most 10^6 steps.
//
// The zero Spider has constants found by a search: Descent b = 1/8, StepScale h = 1, targets below the noise of a
// round, half of a round's budget for its first gradient (the anchor), and an average with more weight on the last
// rounds. If a round ends early, later rounds spend the rest of its budget. With Theorem this rest stays unspent.
type Spider struct {
	// KL is the KL condition that the plan assumes. Its kappa must be at most 2.
	KL optimize.KL `yaml:",inline"`
	// Theorem uses the settings of Theorem 1 of Menart et al. (2024) for the fields that are zero. The zero
	// Output then means Last.
	Theorem bool `yaml:"theorem"`
	// Failure is beta, the probability with which the theorem may fail. Zero means .05. Without the setting
	// Theorem it must be zero.
	Failure float64 `yaml:"failure"`
	// Rounds is K, the number of rounds. Zero means the smallest number that brings the target excess risk from F0 to
	// its least value. With the setting Theorem, zero means the theorem's number.
	Rounds int `yaml:"rounds"`
	// Descent is the number b in the factor c = 1 + b F0^((2-kappa)/kappa)/(gamma^2 L1). Each round divides
	// the target excess risk by c. b is the decrease that a round asks for, as a multiple of the amount by
	// which the round's steps would lower the objective without noise. Zero means 1/8, or 1/64 with the
	// setting Theorem. The largest value is 1000.
	Descent float64 `yaml:"descent"`
	// Threshold sets the least target excess risk. At this target, the KL condition's lower bound on the
	// gradient norm is Threshold times the norm of the noise in an anchor (the first gradient of a round).
	// Zero means .1, or 32 sqrt(log(1/beta')) with the setting Theorem.
	Threshold float64 `yaml:"threshold"`
	// AnchorShare is the share of a round's budget that pays for the anchor, the round's first gradient. A
	// round without gradient differences spends its whole budget on the anchor. Zero means .5, or 16/17 with
	// the setting Theorem.
	AnchorShare float64 `yaml:"anchor_share"`
	// StepScale is h: in a round with target Phi_k, a step is h Phi_k^(1/kappa)/(gamma L1) long. Zero means 1,
	// or 1/4 with the setting Theorem.
	StepScale float64 `yaml:"step_scale"`
	// Ball is the ball to which gradient differences are clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// Output is the rule that picks the result. Zero means Average, with the weight Phi_k^(-2/kappa) for the
	// iterates of round k. With the setting Theorem, zero means Last.
	Output optimize.Output `yaml:"output"`
}

// spiderRound has the target excess risk phi of a round and the largest number of the round's steps.
type spiderRound struct {
	phi   float64
	steps int // T_k, the largest number of steps
}

// spiderPlan is the plan of a [Spider] for one problem.
type spiderPlan struct {
	optimize.Settled
	known  optimize.KL
	rounds []spiderRound
	// share is the share of a round's budget that pays for its first gradient (the anchor). move is h/(gamma
	// L1): in a round with target phi, a step is move phi^(1/kappa) long.
	share, move float64
	ball        optimize.DifferenceBall
	// saves means that the unused budget of a round stays unspent and does not go to later rounds.
	saves bool
}

// Plan implements [optimize.Algorithm]. It returns an error if the KL condition's exponent kappa is above 2.
func (c Spider) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), c.Ball.Validate()); err != nil {
		return nil, err
	}
	const name = "kl-spider"
	known, err := condition(c.KL, p)
	if err != nil {
		return nil, err
	}
	if known.Kappa > 2 {
		return nil, fmt.Errorf("optimize: %s: kappa = %v: must be at most 2 (proximal-point takes more)", name, known.Kappa)
	}
	stated := c
	if c, err = c.settle(name, p, known); err != nil {
		return nil, err
	}
	plan := &spiderPlan{known: known, rounds: c.rounds(p, known), share: c.AnchorShare, ball: c.Ball, saves: c.Theorem}
	plan.move = c.StepScale / (known.Gamma * p.Smoothness())
	K, T := len(plan.rounds), 0
	for _, k := range plan.rounds {
		T += k.steps
	}
	last := plan.rounds[K-1]
	how := "later ones get their unused parts"
	if plan.saves {
		how = "their unused parts stay unspent"
	}
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: name,
			Citation:  "KL Spider (Menart et al. 2024, Algorithm 1)",
			Steps:     T,
			StepSize:  plan.length(last) / known.Gradient(last.phi),
			Charges: fmt.Sprintf("%d rounds, an equal part each, targets %.3g to %.3g (%.3g times an anchor's noise), of it "+
				"%.3g for an anchor and the rest for up to %d differences, ball %s; %s; %s",
				K, plan.rounds[0].phi, last.phi, c.Threshold, plan.share, last.steps-1, c.Ball, how, words(known)),
			Passes: float64(T),
		},
		Workload:   optimize.Workload{}.Count(query.Gradient, float64(K), 1).Count(query.Difference, float64(T-K), 1),
		UpdateRule: optimize.UpdateRule{Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz},
		Output:     c.Output,
		// The average is over the points from which steps start. With a single step, the average is the run's
		// starting point.
		Properties: optimize.Properties{Unmoved: T == 1 && c.Output != optimize.Last},
	})
	if err != nil {
		return nil, err
	}
	// The forecast excess risk is the last round's target. The forecast gradient norm is the smallest that the
	// KL condition allows at this excess risk.
	f := optimize.Forecast{Gradient: known.Gradient(last.phi), Excess: last.phi}
	f.Population = math.Hypot(f.Gradient, p.Constants.Lipschitz/math.Sqrt(p.Records))
	plan.Expect(f)
	if c.Theorem {
		plan.Promises("Theorem 1 (Menart et al. 2024)", optimize.OfExcess, p.Constants.InitialGap,
			func(p optimize.Problem) float64 {
				set, err := stated.settle(name, p, known)
				if err != nil {
					return math.Inf(1)
				}
				return set.bound(p, known, float64(set.Rounds))
			})
	}
	return plan, nil
}

// settle returns c with each setting that is zero replaced by the default rule's value. If a setting
// is out of range, it returns an error that names the setting, its value and its limits.
func (c Spider) settle(name string, p optimize.Problem, known optimize.KL) (Spider, error) {
	beta, err := failure(name, c.Theorem, c.Failure)
	if err = cmp.Or(err, optimize.CheckCount(name, "rounds", c.Rounds)); err != nil {
		return c, err
	}
	descent, threshold, share, scale := .125, .1, .5, 1.
	if c.Theorem {
		descent, threshold, share, scale = 1./64, 1, 16./17, .25
		c.Output = c.Output.Or(optimize.Last)
	}
	c.Output = c.Output.Or(optimize.Average)
	if err := optimize.Fill(name, optimize.Setting{Name: "descent", Value: &c.Descent, Rule: descent}); err != nil {
		return c, err
	}
	if c.Descent > mostDescent {
		return c, fmt.Errorf("optimize: %s: descent = %v: must be at most %v", name, c.Descent, mostDescent)
	}
	rise := c.rise(p, known)
	err = optimize.Fill(name, optimize.Setting{Name: "anchor share", Value: &c.AnchorShare, Rule: share, Below: 1},
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: scale})
	if err != nil {
		return c, err
	}
	if c.Rounds == 0 && c.Theorem { // line 3
		log := math.Log(p.Constants.InitialGap) +
			known.Kappa*math.Log(p.Effective()/(math.Sqrt2*known.Gamma*p.Constants.Lipschitz))
		c.Rounds = int(min(max(math.Ceil((1+1/rise)*log), 1), optimize.MostSteps))
	}
	if c.Theorem && c.Threshold == 0 {
		// line 3: beta' = (beta/K)(gamma L0 sqrt(K d)/(n sqrt(rho) F0^(1/kappa)))^(2-kappa)
		K := float64(c.Rounds)
		ratio := math.Sqrt2 * math.Sqrt(K) * p.Constants.Lipschitz / (p.Effective() * known.Gradient(p.Constants.InitialGap))
		// line 6, with the noise that anchors have in this implementation
		threshold = 32 * math.Sqrt(max(math.Log(K/beta)-(2-known.Kappa)*math.Log(ratio), 1))
	}
	err = optimize.Fill(name, optimize.Setting{Name: "threshold", Value: &c.Threshold, Rule: threshold})
	if err == nil && c.Rounds == 0 {
		c.Rounds = c.roundRule(p, known)
	}
	return c, err
}

// roundRule returns the smallest number of rounds that bring the target from the initial gap F0 down to the
// least target that noise allows. The least target rises with the number of rounds, since each round then
// has less budget and more noise.
func (c Spider) roundRule(p optimize.Problem, known optimize.KL) int {
	return 1 + sort.Search(optimize.MostSteps-1, func(k int) bool {
		K := float64(k + 1)
		return K*math.Log1p(c.rise(p, known)) >= math.Log(p.Constants.InitialGap/c.least(p, known, K))
	})
}

// rise returns c - 1 for the factor c by which each round divides the target excess risk (Menart et al. 2024,
// Algorithm 1, line 2).
func (c Spider) rise(p optimize.Problem, known optimize.KL) float64 {
	return c.Descent * math.Pow(p.Constants.InitialGap, 2/known.Kappa-1) / (known.Gamma * known.Gamma * p.Smoothness())
}

// mostDescent is the largest value of the setting Descent. No round can lower the objective by as
// much as this value asks.
const mostDescent = 1e3

// least returns the smallest target excess risk that noise allows if the budget is divided equally among K
// rounds (see the setting Threshold). It is at most the initial gap F0.
func (c Spider) least(p optimize.Problem, known optimize.KL, K float64) float64 {
	return min(c.bound(p, known, K), p.Constants.InitialGap)
}

// bound is least without the limit F0.
func (c Spider) bound(p optimize.Problem, known optimize.KL, K float64) float64 {
	anchor := noise(p, c.AnchorShare*p.Charge()/K) * math.Sqrt(float64(p.Dim()))
	return known.Excess(c.Threshold * anchor)
}

// rounds returns the target and the number of steps of each round (Menart et al. 2024, Algorithm 1,
// lines 6 and 7).
func (c Spider) rounds(p optimize.Problem, known optimize.KL) []spiderRound {
	F0 := p.Constants.InitialGap
	least, Φ, left := c.least(p, known, float64(c.Rounds)), F0, optimize.MostSteps
	var list []spiderRound
	for k := range c.Rounds {
		Φ = max(Φ/(1+c.rise(p, known)), least)
		T := math.Ceil(math.Pow(F0/Φ, 2/known.Kappa-1))
		steps := int(min(T, float64(left-(c.Rounds-1-k)))) // leaves one step to each later round
		left -= steps
		list = append(list, spiderRound{phi: Φ, steps: steps})
	}
	return list
}

// length returns the length of a step in round k (Menart et al. 2024, Algorithm 1, line 11).
func (s *spiderPlan) length(k spiderRound) float64 { return s.move * math.Pow(k.phi, 1/s.known.Kappa) }

// Run makes the rounds of the plan. Each round may spend an equal part of the budget, or with the default
// settings an equal part of the budget that earlier rounds have left.
func (s *spiderPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	run := s.Begin(ctx, o, observe)
	var path float64
	return run.Until(func() error {
		for k, round := range s.rounds { // line 5
			part := s.Problem().Charge() / float64(len(s.rounds))
			if !s.saves {
				part = run.Left() / float64(len(s.rounds)-k)
			}
			steps, err := s.round(run, round, part)
			path += float64(steps) * s.length(round)
			if run.Taken() > 0 {
				run.Bound(path / float64(run.Taken()))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// round makes one round at a charge of at most part, and returns the number of steps made. The round ends early if the
// norm of the gradient estimate, regularizer included, is below (7/8) phi^(1/kappa)/gamma. By the KL condition the
// round's target phi is then nearly reached. The round also ends early if a step does not move the iterate.
func (s *spiderPlan) round(run *optimize.Run, k spiderRound, part float64) (steps int, err error) {
	p := s.Problem()
	length, least := s.length(k), s.known.Gradient(k.phi)
	anchor, difference := part, 0.
	if k.steps > 1 {
		anchor, difference = part*s.share, part*(1-s.share)/float64(k.steps-1)
	}
	run.Eta = func(g []float64, _ float64) float64 { return length / optimize.Norm(g) }       // line 11
	answer, err := run.Ask(anchor, query.GradientAt(run.All(), run.W, p.Constants.Lipschitz)) // line 8
	if err != nil {
		return 0, err
	}
	g, use := run.Estimate(answer), optimize.Use{Weight: math.Pow(least, -2)}
	for optimize.Norm(run.Regularized(g.Vector())) >= 7./8*least { // line 10
		w := slices.Clone(run.W)
		run.Descend(g, use) // line 12
		if steps++; steps == k.steps || slices.Equal(w, run.W) {
			return steps, nil
		}
		if answer, err = run.Ask(difference, s.ball.Difference(p, run.All(), run.W, w)); err != nil { // line 13
			return steps, err
		}
		g = run.Mix(g, 1, answer, 1) // line 14
	}
	run.Look(g)
	return steps, nil
}
