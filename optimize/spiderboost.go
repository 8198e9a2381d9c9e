package optimize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// SpiderBoost configures Private SpiderBoost on all records (Arora, Bassily,
// González, Guzmán, Menart and Ullah 2023, Algorithm 1).
//
//	if t mod q = 0:  g  = mean_i clip(grad f(w_t; x_i), L0) + noise
//	else:            g += mean_i clip(grad f(w_t; x_i) - grad f(w_{t-1}; x_i), ball) + noise
//	w_{t+1} = w_t - eta (g + grad reg(w_t))
//
// Guarantee: mu-GDP whatever the constants. For an L1-smooth loss and the
// theorem's settings a uniformly random iterate has expected gradient norm
// O((sqrt(F0 L1 L0) a)^(2/3) + L0 a), a = 2 sqrt(d)/(n mu) (Theorem 1 and 9).
//
// Deviations from the paper: anchors and differences share one budget, where
// Algorithm 1 calibrates each to all of it, and sensitivities are those of
// replaced records, which doubles the norms it uses; the loop runs T times, not
// T+1; Theorem 9's q has a stray L1^2; differences are clipped, to the centred
// ball by default, so that L1 is enforced; an iterate equal to the one before is
// given an anchor, since its difference says nothing, which is charged as a
// difference and joins the estimate by inverse variances rather than replace
// it; the regularizer's gradient is added exactly and never estimated.
//
// The zero SpiderBoost has practical constants, measured to be better by far
// than the theorem's: T = .1 (G0/L0)^(2/3) N^(4/3)/h up to 1000, anchors with .8
// of the budget every q = .02 N^2/(h^2 T) steps (at least 8 of them), the tail
// average as output.
type SpiderBoost struct {
	// Theorem takes the settings of Theorem 9 and a random iterate for those
	// fields that are zero.
	Theorem bool
	// Steps is T; Period is q; AnchorShare is the anchors' share of the budget;
	// StepScale is h in eta = h/L1.
	Steps       int
	Period      int
	AnchorShare float64
	StepScale   float64
	Ball        Ball
	// Output is the rule that picks the result. With Theorem set, TailAverage
	// stands for Random; use Last or Smallest for another.
	Output Output
}

// SpiderBoostPlan is a settled SpiderBoost.
type SpiderBoostPlan struct {
	problem            Problem
	outline            Outline
	steps, period      int
	anchor, difference float64 // charges
	ball               Ball
	choice             choice
	// schedule is set where batches are sampled.
	schedule *account.Schedule
}

// Plan settles SpiderBoost for a problem and a size.
func (c SpiderBoost) Plan(p Problem, s Size) (*SpiderBoostPlan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	if err := c.Ball.validate(); err != nil {
		return nil, err
	}
	c = c.settle(p, s)
	switch {
	case c.Steps < 1 || c.Steps > mostSteps:
		return nil, fmt.Errorf("optimize: spiderboost: steps = %d: must be between 0 (the rule's number) and %d", c.Steps, mostSteps)
	case c.Period < 1:
		return nil, fmt.Errorf("optimize: spiderboost: period = %d: must be >= 1, or 0 for the rule's", c.Period)
	case !(c.AnchorShare > 0 && c.AnchorShare < 1):
		return nil, fmt.Errorf("optimize: spiderboost: anchor share = %v: must be > 0 and < 1, or 0 for the rule's", c.AnchorShare)
	case !positive(c.StepScale):
		return nil, fmt.Errorf("optimize: spiderboost: step scale = %v: must be finite and > 0", c.StepScale)
	}
	choice, err := newChoice(c.Output, c.Steps)
	if err != nil {
		return nil, err
	}
	anchors := (c.Steps + c.Period - 1) / c.Period
	differences := c.Steps - anchors
	budget := s.Mu * s.Mu * usable
	plan := &SpiderBoostPlan{problem: p, steps: c.Steps, period: c.Period, ball: c.Ball, choice: choice}
	if differences == 0 {
		plan.anchor = budget / float64(anchors)
	} else {
		plan.anchor = budget * c.AnchorShare / float64(anchors)
		plan.difference = budget * (1 - c.AnchorShare) / float64(differences)
	}
	plan.outline = Outline{
		Algorithm: "spiderboost",
		Citation:  "Private SpiderBoost (Arora et al. 2023, Algorithm 1)",
		Steps:     c.Steps,
		StepSize:  p.stepSize(c.StepScale),
		Clip:      p.Constants.Lipschitz,
		Charges: fmt.Sprintf("%d anchors, one every %d steps, share %.3g; %d differences the rest, ball %s",
			anchors, c.Period, plan.anchor*float64(anchors)/budget, differences, c.Ball.describe()),
		Output:    choice.describe(),
		Effective: s.Effective(p),
		Floor:     s.Floor(p),
		Passes:    float64(c.Steps),
	}
	plan.outline.expect(plan.predict(s))
	return plan, nil
}

// settle fills in the rules' values.
func (c SpiderBoost) settle(p Problem, s Size) SpiderBoost {
	n := s.Effective(p)
	g0 := p.initialGradient()
	if c.Theorem {
		a := 2 / n
		if c.StepScale == 0 {
			c.StepScale = .5
		}
		if c.Steps == 0 {
			t := math.Pow(math.Sqrt(p.Constants.Range*p.Smoothness())/(p.Constants.Lipschitz*a*a), 2./3)
			c.Steps = int(min(max(t, 1/a, 1), mostSteps))
		}
		if c.Period == 0 {
			c.Period = int(min(max(1/(float64(c.Steps)*a*a), 1), float64(c.Steps)))
		}
		if c.AnchorShare == 0 {
			c.AnchorShare = .5
		}
		if c.Output == TailAverage {
			c.Output = Random
		}
		return c
	}
	if c.StepScale == 0 {
		c.StepScale = p.defaultStepScale()
	}
	if c.Steps == 0 {
		c.Steps = varianceReducedSteps(g0, p, n, c.StepScale)
	}
	if c.Period == 0 {
		t := float64(c.Steps)
		c.Period = int(max(min(.02*n*n/(c.StepScale*c.StepScale*t), t/8), 1))
	}
	if c.AnchorShare == 0 {
		c.AnchorShare = .8
	}
	return c
}

// varianceReducedSteps is the rule for the number of steps of the methods that
// estimate by differences: .1 (G0/L0)^(2/3) N^(4/3)/h, at most 1000.
func varianceReducedSteps(g0 float64, p Problem, n, h float64) int {
	return stepCount(.1 * math.Pow(g0/p.Constants.Lipschitz, 2./3) * math.Pow(n, 4./3) / h)
}

// charge is that of step t, counted from 0.
func (b *SpiderBoostPlan) charge(t int) float64 {
	if t%b.period == 0 {
		return b.anchor
	}
	return b.difference
}

// Outline describes the plan.
func (b *SpiderBoostPlan) Outline() Outline { return b.outline }

// Run carries the plan out.
func (b *SpiderBoostPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p, out := b.problem, b.choice.begin()
	w := p.start()
	var prev, estimate []float64
	var charged, variance float64
	for t := range b.steps {
		batch, err := b.batch(o)
		if err != nil {
			return out.result(w), stepError("spiderboost", t, err)
		}
		term, m := query.GradientAt(batch, w, p.Constants.Lipschitz), b.charge(t)
		if t%b.period != 0 && !slices.Equal(w, prev) {
			term = b.ball.difference(p, batch, w, prev)
		}
		answer, err := ask(ctx, o, m, term)
		if err != nil {
			return out.result(w), stepError("spiderboost", t, err)
		}
		fresh := answer.Sigma * answer.Sigma
		switch {
		case t%b.period == 0:
			estimate, variance = answer.Mean, fresh
		case term.Kind() == query.Difference:
			for j, v := range answer.Mean {
				estimate[j] += v
			}
			variance += fresh
		default:
			k := variance / (variance + fresh)
			for j, v := range answer.Mean {
				estimate[j] += k * (v - estimate[j])
			}
			variance *= 1 - k
		}
		grad := slices.Clone(estimate)
		p.addRegularizer(grad, w)
		out.visit(w, m, norm(grad))
		prev = slices.Clone(w)
		descend(w, grad, b.outline.StepSize)
		p.project(w)
		charged += answer.Charge
		if observe != nil {
			observe(Step{Number: t + 1, Of: b.steps, GradientNorm: norm(grad), Charged: charged, W: w})
		}
	}
	return out.result(w), nil
}
