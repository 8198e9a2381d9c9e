package kl

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// Geometric is gradient descent with noise in proportion to the gradient norm that the KL condition predicts. It is a
// practical variant of KL Spider (Menart, Ullah, Arora, Bassily and Guzmán 2024, Algorithm 1). Phi_t is the excess risk
// F(w_t) - min F that the plan assumes at step t. a, c and h are the settings NoiseScale, Shrink and StepScale.
//
//	Phi_0 = F0,  Phi_{t+1} = Phi_t/(1 + (c-1) (Phi_t/F0)^((2-kappa)/kappa))
//	g_t = mean_i clip(grad f(w_t; x_i), L0) + noise of norm a Phi_t^(1/kappa)/gamma
//	w_{t+1} = Proj(w_t - (h/L1) (g_t + grad reg(w_t)))
//	until the charges sum to mu^2;  return sum_t m_t w_t / sum_t m_t,  m_t = Phi_t^(-2/kappa)
//
// By the KL condition, a point of excess risk Phi has a gradient of norm at least Phi^(1/kappa)/gamma. A step tolerates
// noise in proportion to this norm. Early steps, at large Phi, therefore cost almost nothing. With a = 10 the noise is
// larger than the gradient in each single step, and the average of the iterates removes it.
//
// Guarantee: mu-GDP whatever the constants. No rate is proved. In measurements the method was as good
// as averaged gradient descent with a tuned number of steps (lab/results/theorems.md).
//
// Deviations from Algorithm 1:
//   - Every step releases a gradient of all records (the paper's anchor). The length of the step is h/L1
//     times the norm of the released gradient. For kappa = 2 the paper has T_k = 1 and never uses gradient
//     differences. For kappa < 2 the paper divides Phi by c once in every T_k = (F0/Phi)^((2-kappa)/kappa)
//     steps. Here Phi falls a little in every step.
//   - The default of c is 1.02. The theorem's c - 1 is about 10^-4.
//   - The result is an average of the iterates. The theorem's result is the last iterate.
//   - All charges are public and fixed before the run. They are scaled so that their sum is mu^2. The
//     number of steps is the first one at which the charges before scaling sum to mu^2 or more, within two
//     limits. The lower limit is 2/log(q), where q = c^(2/kappa) is the ratio of the first two charges. The
//     upper limit is 1000, or 2000 for kappa < 2, where the excess risk falls only as a power of the number
//     of steps. If neither limit applies, scaling reduces the sum by less than the last charge.
//   - If no condition is stated (by the settings or the problem), one is assumed. It may be false, so that the
//     first steps are not made with little of the budget: a fifth of it is shared equally by all steps, and there
//     are at most as many steps as the rule of firstorder.GD chooses.
type Geometric struct {
	// KL is the KL condition that the plan assumes.
	KL optimize.KL `yaml:",inline"`
	// Shrink is c > 1, the factor by which the first step divides the target excess risk Phi; later steps divide by
	// less if kappa is below 2. Zero means 1.02.
	Shrink float64 `yaml:"shrink"`
	// NoiseScale is the norm of the noise, divided by the smallest gradient norm at excess risk Phi. Zero means 10. If
	// Steps is set, NoiseScale must be zero.
	NoiseScale float64 `yaml:"noise_scale"`
	// Steps is the number of steps. If it is set, the noise falls until the rest of the budget pays for all remaining
	// steps at the current noise, and at least until step kappa/log c. Zero means the number at which steps with noise
	// scale NoiseScale have used the budget: at least kappa/log c, at most 1000, and at most 2000 for kappa < 2. If no
	// KL condition is stated, zero means at most the number of gd's rule.
	Steps int `yaml:"steps"`
	// StepScale is h in eta = h/L1. Zero means 16 for networks, 4 for rank-one losses and for records of
	// several rows, and 1 for other losses. With zero, steps that overshoot are shortened, but not below 1/L1.
	StepScale float64 `yaml:"step_scale"`
	// Output is the rule that picks the result; zero means Average.
	Output optimize.Output `yaml:"output"`
}

// Plan implements [optimize.Algorithm].
func (c Geometric) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	const name = "kl-geometric"
	known, err := condition(c.KL, p)
	if err != nil {
		return nil, err
	}
	guarded := c.StepScale == 0
	err = optimize.Fill(name, optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: p.StepScale()})
	if err != nil {
		return nil, err
	}
	charges, weights, err := c.rules(name, p, known, c.StepScale)
	if err != nil {
		return nil, err
	}
	T := len(charges)
	return forecast.Plan(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: name,
			Citation:  "gradient descent with noise that falls with the excess risk (after Menart et al. 2024, Algorithm 1)",
			Steps:     T,
			StepSize:  p.StepSize(c.StepScale),
			Charges: fmt.Sprintf("growing from %.3g to %.3g of mu^2; %s", charges[0]/(p.Mu*p.Mu),
				charges[T-1]/(p.Mu*p.Mu), words(known)),
			Passes: float64(T),
		},
		UpdateRule: optimize.UpdateRule{Guarded: guarded, Importance: weights,
			Answer: optimize.Fresh(func(t int) float64 {
				sigma := noise(p, charges[t])
				return sigma * sigma
			})},
		Output: c.Output.Or(optimize.Average),
		Step: func(run *optimize.Run, t int) error {
			return run.Follow(charges[t], run.All(), optimize.Use{Weight: weights[t]})
		},
	})
}

// rules returns the charge of each step and the weight of its iterate in an average. If the assumed excess risk at a
// step is Phi, its weight is proportional to Phi^(-2/kappa). If a KL condition is stated, the charges are in
// proportion to the weights, so that the step's noise has a norm proportional to Phi^(1/kappa); otherwise steps
// share a part of the budget equally. The charges sum to mu^2. rules returns an error if a setting is out of range.
func (c Geometric) rules(name string, p optimize.Problem, known optimize.KL, h float64) (charges, weights []float64,
	err error) {
	stated := c.KL.Known() || p.KL.Known()
	c.Shrink = cmp.Or(c.Shrink, 1.02)
	if !(c.Shrink >= 1+0x1p-20 && c.Shrink <= 2) {
		return nil, nil, fmt.Errorf("optimize: %s: shrink = %v: must be > 1 + 2^-20 and <= 2, or left out for 1.02",
			name, c.Shrink)
	}
	err = optimize.CheckSteps(name, c.Steps)
	if err == nil && c.Steps > 0 && c.NoiseScale != 0 {
		err = fmt.Errorf("optimize: %s: noise scale = %v: must be 0 beside a number of steps, which settles it", name, c.NoiseScale)
	}
	err = cmp.Or(err, optimize.Fill(name, optimize.Setting{Name: "noise scale", Value: &c.NoiseScale, Rule: 10}))
	if err != nil {
		return nil, nil, err
	}
	F0 := p.Constants.InitialGap
	most := float64(c.Steps)
	if c.Steps == 0 {
		most = optimize.RuleSteps
		if known.Kappa < 2 {
			most = longest
		}
		if !stated {
			most = min(most, float64(p.StepsUpTo(int(most), 4, h)))
		}
	}
	fewest := min(math.Ceil(known.Kappa/math.Log(c.Shrink)), most)
	first := chargeFor(p, c.NoiseScale*known.Gradient(F0)/math.Sqrt(float64(p.Dim())))
	var sum float64
	for Φ := F0; float64(len(weights)) < most &&
		(c.Steps > 0 || float64(len(weights)) < fewest || sum*first < p.Charge()); {
		m := math.Pow(Φ/F0, -2/known.Kappa)
		weights, sum = append(weights, m), sum+m
		if t := float64(len(weights)); c.Steps > 0 && t >= fewest && (sum+(most-t)*m)*first >= p.Charge() {
			continue // the budget pays for the remaining steps at this noise: Phi no longer falls
		}
		Φ /= 1 + (c.Shrink-1)*math.Pow(Φ/F0, max(2/known.Kappa-1, 0))
	}
	even := 0.
	if !stated {
		even = alike
	}
	for t, m := range weights {
		charges = append(charges, p.Charge()*((1-even)*m/sum+even/float64(len(weights))))
		weights[t] = m / sum
	}
	return charges, weights, nil
}

// alike is the share of the budget that all steps divide equally if no KL condition is stated. Geometric charges
// alone give the first steps noise of many times the largest gradient. The iterate then starts far from where the
// condition that is assumed in place of a stated one holds, and does not come back.
const alike = .2

// words returns the text that states, in the plan's summary, the KL condition k that the plan assumes.
func words(k optimize.KL) string {
	return fmt.Sprintf("taken: F - min F <= (%.3g ||grad F||)^%.3g", k.Gamma, k.Kappa)
}
