package kl

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Adaptive is adaptive noisy gradient descent (Menart, Ullah, Arora, Bassily and Guzmán 2024,
// Algorithm 3). The method needs no KL condition. At each iterate it releases the norm N_t of the
// gradient, and then the gradient with noise in proportion to N_t.
//
//	2  while the privacy filter admits the step's charge
//	3      N_t = ||mean_i clip(grad f(w_t; x_i), L0) + grad reg(w_t)|| + noise, one number
//	4      g_t = mean_i clip(grad f(w_t; x_i), L0) + noise of sigma_t = max(N_t/sqrt(k d), sigma_min)
//	5      w_{t+1} = Proj(w_t - eta (g_t + grad reg(w_t)))
//	6      charge both releases
//
// Guarantee: mu-GDP whatever the constants. The privacy filter is fully adaptive: a charge may depend on earlier
// releases. With the theorem's settings, under the KL condition with kappa in [1, 2], the last iterate has excess risk
// O~((sqrt(d)/(n mu))^(2 kappa/(4-kappa)) + (1/(n mu))^(kappa/2)) (Menart et al. 2024, Theorem 4). Without the KL
// condition, an iterate drawn by the exponential mechanism (the output selected) is a stationary point: its gradient
// norm is O(sqrt(F0 L1/T)) and no more than O((sqrt(d)/(n mu))^(1/2)) (Menart et al. 2024, Theorem 5).
//
// Deviations from the paper:
//   - In line 3 the noise is one number, since the norm is one number. The paper prints a noise vector
//     there.
//   - Charges are for replace-one neighbours. This doubles the sensitivities in line 6. Charges are
//     computed exactly in Gaussian DP.
//   - The privacy filter tests before a step whether the step's charge fits. Line 2 of the paper
//     tests only the charges of the earlier steps.
//   - The steps above are the adaptive part. By default they are charged at most a tenth of the budget. A
//     final phase of gradient descent, the landing, spends the rest. As in firstorder.GD, step t of the
//     landing is charged in proportion to t, and the result is the average of the landing's later half of
//     iterates. Without the landing the result was measured to be 3 to 370 times worse.
//   - sigma_min is the noise of a gradient that is charged all that is left of the adaptive part's budget.
//     Without a landing, a gradient with noise sigma_min is the last release. With a landing, this gradient
//     is not released, and the rest of the adaptive part's budget goes to the landing.
//   - The charge of a gradient is at least an eighth of the charge of a norm.
//   - N_t includes the regularizer's gradient, since the step follows the gradient of the whole objective.
type Adaptive struct {
	// Proportion is k. The noise of the gradient in step t has norm N_t/sqrt(k), where N_t is the gradient norm that
	// the step has released. Zero means 1; with the setting Theorem, zero means log(n sqrt(rho)/failure).
	Proportion float64 `yaml:"proportion"`
	// NormCharge is the charge of one released gradient norm, as a share of the budget. Zero means 5e-4. With
	// the setting Theorem, zero means the charge of a norm whose noise has standard deviation L0/(sqrt(n)
	// rho^(1/4)), and at most .5.
	NormCharge float64 `yaml:"norm_charge"`
	// Landing is the share of the budget that is kept for the landing, the final gradient descent. Zero means
	// .9. With the setting Theorem, zero means no landing.
	Landing float64 `yaml:"landing"`
	// LandingSteps is the number of steps of the landing, the final gradient descent. Zero means the number
	// that the rule of algorithm gd gives, but at most 2000. Without a landing it must be zero.
	LandingSteps int `yaml:"landing_steps"`
	// StepScale is h in eta = h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of
	// several rows, and 1 for other losses. With zero, steps that overshoot are shortened, but not below 1/L1.
	// With the setting Theorem, zero means 1/2.
	StepScale float64 `yaml:"step_scale"`
	// Theorem uses the settings of Theorem 4 of Menart et al. (2024) for the fields that are zero.
	Theorem bool `yaml:"theorem"`
	// Failure is beta, the probability with which the theorem may fail. Zero means .05. Without the setting
	// Theorem it must be zero.
	Failure float64 `yaml:"failure"`
	// Output is the rule that picks the result. Zero means Average, over the later half of the landing. With
	// the setting Theorem and no landing, zero means Last. Rule Smallest compares the released norms before
	// the landing and the norms of the gradient estimates in the landing.
	Output optimize.Output `yaml:"output"`
}

// adaptivePlan is the plan of an [Adaptive] for one problem.
type adaptivePlan struct {
	optimize.Settled
	proportion float64
	norm       float64 // charge of one norm
	part       float64 // charge of the adaptive part, all its norms and gradients together
	steps      int     // largest number of steps of the adaptive part
	landing    int     // number of steps of the landing
}

// Plan implements [optimize.Algorithm].
func (c Adaptive) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	guarded := c.StepScale == 0
	c, err := c.settle(p)
	if err != nil {
		return nil, err
	}
	plan := &adaptivePlan{proportion: c.Proportion, norm: c.NormCharge * p.Charge(), part: (1 - c.Landing) * p.Charge(),
		landing: c.LandingSteps}
	// Each step of the adaptive part is charged at least norm (1+leastGradient). This limits the number of its
	// steps.
	plan.steps = int(min(max(plan.part/(plan.norm*(1+leastGradient)), 1), float64(optimize.MostSteps-c.LandingSteps)))
	words := fmt.Sprintf("as the run goes, %.3g of mu^2 for a norm N and the charge of noise of norm N/sqrt(%.3g), "+
		"at most %d times", c.NormCharge, c.Proportion, plan.steps)
	if plan.landing > 0 {
		words += fmt.Sprintf("; the last %d steps share the rest, at least %.3g of mu^2, in proportion to their number",
			plan.landing, c.Landing)
	}
	T := plan.steps + plan.landing
	law := optimize.UpdateRule{Guarded: guarded, Importance: make([]float64, T), Answer: plan.answer}
	for t := range T {
		switch {
		case plan.landing == 0:
			law.Importance[t] = 1
		case t >= plan.steps:
			law.Importance[t] = plan.weight(t - plan.steps)
		}
	}
	made, err := forecast.Finish(plan, &plan.Settled, optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "adaptive-gd",
			Citation:  "adaptive noisy gradient descent (Menart et al. 2024, Algorithm 3)",
			Steps:     T,
			StepSize:  p.StepSize(c.StepScale),
			Charges:   words,
			Passes:    float64(T + plan.steps),
		},
		Workload:   optimize.Workload{}.Count(query.Norm, float64(plan.steps), 1).Count(query.Gradient, float64(T), 1),
		UpdateRule: law,
		Output:     c.Output,
	})
	if err == nil && c.Theorem && p.KL.Known() && p.KL.Kappa <= 2 {
		beta, _ := failure("", true, c.Failure)
		plan.Promises("Theorem 4 (Menart et al. 2024)", optimize.OfExcess, p.Constants.InitialGap,
			func(p optimize.Problem) float64 { return adaptiveBound(p, p.KL, beta) })
	}
	return made, err
}

// settle returns c with each setting that is zero replaced by the default rule's value. If a setting
// is out of range, it returns an error that names the setting, its value and its limits.
func (c Adaptive) settle(p optimize.Problem) (Adaptive, error) {
	const name = "adaptive-gd"
	beta, err := failure(name, c.Theorem, c.Failure)
	if err != nil {
		return c, err
	}
	proportion, charge, scale := 1., 5e-4, p.StepScale()
	if c.Theorem {
		// A norm with noise of standard deviation sigma = L0/(sqrt(n) rho^(1/4)) has the charge (Delta/sigma)^2,
		// where Delta is the norm's sensitivity. The variable charge is this charge divided by mu^2 = 2 rho.
		n := rootRho(p)
		proportion, scale = max(math.Log(n/beta), 1), .5
		charge = min(math.Pow(p.Neighbours(), 2)/(p.Records*p.Mu*math.Sqrt2), .5)
	}
	err = optimize.Fill(name, optimize.Setting{Name: "proportion", Value: &c.Proportion, Rule: proportion},
		optimize.Setting{Name: "norm charge", Value: &c.NormCharge, Rule: charge, Below: 1},
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: scale})
	if err != nil {
		return c, err
	}
	if c.LandingSteps < 0 || c.LandingSteps > optimize.MostSteps/2 {
		return c, fmt.Errorf("optimize: %s: landing steps = %d: must be between 1 and %d, or left out for gd's number", name,
			c.LandingSteps, optimize.MostSteps/2)
	}
	if c.Theorem && c.Landing == 0 {
		if c.LandingSteps != 0 {
			return c, fmt.Errorf("optimize: %s: landing steps = %d: must be left out where there is no landing",
				name, c.LandingSteps)
		}
		c.Output = c.Output.Or(optimize.Last)
		return c, nil
	}
	c.LandingSteps = cmp.Or(c.LandingSteps, p.StepsUpTo(longest, 4, c.StepScale))
	c.Output = c.Output.Or(optimize.Average)
	return c, optimize.Fill(name, optimize.Setting{Name: "landing", Value: &c.Landing, Rule: .9, Below: 1})
}

// adaptiveBound returns the bound of Theorem 4 of Menart et al. 2024 on the excess risk, with the theorem's constant
// set to 1.
func adaptiveBound(p optimize.Problem, known optimize.KL, beta float64) float64 {
	n, k, L0, L1 := rootRho(p), known.Kappa, p.Constants.Lipschitz, p.Smoothness()
	log, square := math.Log(n/beta), known.Gamma*known.Gamma
	most := (1 + 8*square*L1) * (math.Log(p.Constants.InitialGap) + 2*k/(4-k)*math.Log(n/(known.Gamma*L0)))
	if !(most > 0 && log > 0) {
		return math.Inf(1)
	}
	bound := math.Pow(known.Gamma*L0*math.Sqrt(float64(p.Dim())*log*most)/n, 2*k/(4-k)) +
		math.Pow(max(square, 1)*L0*L0*log/(min(L1, 1)*n), k/2)
	if k < 2 {
		return bound + math.Pow(most/n, k/(2-k))
	} else if most > n {
		return math.Inf(1)
	}
	return bound
}

// answer implements [optimize.UpdateRule].Answer: it returns the assumed noise variance, per coordinate, of the
// gradient released in step t. For the adaptive part it assumes the largest number of steps, all with equal
// charges. Steps from a.steps on are those of the landing (the final gradient descent).
func (a *adaptivePlan) answer(t int, _, _ float64) (K float64, fresh optimize.Variance) {
	p := a.Problem()
	charge := a.part/float64(a.steps) - a.norm
	if t >= a.steps {
		charge = (p.Charge() - a.part) * a.share(t-a.steps)
	}
	sigma := noise(p, max(charge, a.norm*leastGradient))
	return 1, optimize.Variance{Noise: sigma * sigma}
}

// Run makes steps of the adaptive part until [adaptivePlan.step] makes no further step. Run then makes the steps of the
// landing, a final gradient descent. The landing spends all of the budget that is left, in fixed proportions.
func (a *adaptivePlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result,
	error) {
	run := a.Begin(ctx, o, observe)
	return run.Until(func() error {
		for range a.steps { // line 2
			taken, err := a.step(run)
			if err != nil {
				return err
			}
			if !taken {
				break
			}
		}
		left := run.Left()
		for t := range a.landing {
			if err := run.Follow(left*a.share(t), run.All(), optimize.Use{Weight: a.weight(t)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// share returns the charge of step t of the landing (the final gradient descent) as a share of the
// landing's charge.
func (a *adaptivePlan) share(t int) float64 {
	T := float64(a.landing)
	return 2 * float64(t+1) / (T * (T + 1))
}

// weight returns the weight that the iterate at step t of the landing (the final gradient descent) has in
// the average. The weight is t+1, and 0 in the first half of the landing.
func (a *adaptivePlan) weight(t int) float64 {
	if 2*(t+1) < a.landing {
		return 0
	}
	return float64(t + 1)
}

// step makes one step of the adaptive part: it releases the norm of the gradient and then the gradient. If
// the rest of the adaptive part's budget does not pay for a norm and a gradient of the least charge, step
// releases nothing and returns false. If a landing (the final gradient descent) follows and the gradient
// would cost all of that rest, step releases only the norm and returns false.
func (a *adaptivePlan) step(run *optimize.Run) (taken bool, err error) {
	p := a.Problem()
	left := run.Left() - (p.Charge() - a.part) - a.norm
	least := a.norm * leastGradient
	if !(left >= least) {
		return false, nil
	}
	answer, err := run.Ask(a.norm, p.NormAt(run.All(), run.W, p.Constants.Lipschitz)) // line 3
	if err != nil {
		return false, err
	}
	N := max(answer.Mean[0], 0)
	charge, use := left, optimize.Use{Measured: N}
	if σ := N / math.Sqrt(a.proportion*float64(p.Dim())); σ > noise(p, left) { // line 4
		charge = max(chargeFor(p, σ), least)
	} else if a.landing > 0 {
		return false, nil
	}
	if a.landing == 0 {
		use.Weight = 1
	}
	return true, run.Follow(charge, run.All(), use) // line 5
}

// leastGradient is the smallest charge of a gradient, divided by the charge of the norm that is released
// before the gradient. A smaller charge would save almost nothing.
const leastGradient = 1. / 8
