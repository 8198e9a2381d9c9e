package optimize

import (
	"context"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/query"
)

// OnePassSTORM configures STORM (Cutkosky and Orabona 2019) in one pass over
// disjoint cohorts, with the gain that is best for noise and sampling together.
//
//	g_t = (1-K) g_{t-1} + mean over cohort t of [K clip(grad f(w_t; x), L0)
//	      + (1-K) clip(grad f(w_t; x) - grad f(w_{t-1}; x), ball)] + noise
//	w_{t+1} = w_t - eta (g_t + grad reg(w_t))
//
// With R the ball's radius, a record's vector lies within K L0 + (1-K) R of a
// public centre. A cohort of b fresh records, charged m, then has a mean squared
// error of at most (K L0 + (1-K) R)^2 v, v = d (2/b)^2/m + 1/b: the first part is
// noise, the second is which records were drawn. With P that of g_{t-1}, that of
// g_t is at most (1-K)^2 P + (K L0 + (1-K) R)^2 v, and K is where this is least.
//
// Each record is in one release only, so that every release has the whole
// budget.
//
// Guarantee: mu-GDP whatever the constants. Where nothing is clipped P bounds
// the mean squared distance of g_t from the gradient of the expected loss, step
// by step; a rate for the gradient norm is not proved.
//
// Deviations from Cutkosky and Orabona: the gain and the step size are not their
// schedules; cohort t has a size in proportion to sqrt(t); steps are those of
// OnePassSGD.
//
// The zero OnePassSTORM is the default rule: T as for OnePassSGD, the centred
// ball, the last iterate.
type OnePassSTORM struct {
	// Steps is T; StepScale is h in eta = h/L1 of the first step. See OnePassSGD
	// for their zero values.
	Steps     int
	StepScale float64
	Ball      Ball
	// EqualCohorts gives all steps equally many records.
	EqualCohorts bool
	// Output is the rule that picks the result; nil means Last.
	Output *Output
}

// OnePassSTORMPlan is a settled OnePassSTORM.
type OnePassSTORMPlan struct {
	problem Problem
	outline Outline
	sizes   []float64
	scatter scatter
	ball    Ball
	choice  choice
}

// Plan settles OnePassSTORM for a problem and a size.
func (c OnePassSTORM) Plan(p Problem, s Size) (*OnePassSTORMPlan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	if err := c.Ball.validate(); err != nil {
		return nil, err
	}
	h, output := c.StepScale, Last
	if h == 0 {
		h = p.onePassScale()
	}
	if c.Output != nil {
		output = *c.Output
	}
	if !positive(h) {
		return nil, fmt.Errorf("optimize: one-pass-storm: step scale = %v: must be finite and > 0", h)
	}
	sizes, err := passSizes("one-pass-storm", s, c.Steps, onePassSteps(s.Effective(p), h), c.EqualCohorts)
	if err != nil {
		return nil, err
	}
	choice, err := newChoice(output, len(sizes))
	if err != nil {
		return nil, err
	}
	plan := &OnePassSTORMPlan{problem: p, sizes: sizes, scatter: newScatter(p, s), ball: c.Ball, choice: choice}
	plan.outline = Outline{
		Algorithm: "one-pass-storm",
		Citation:  "one-pass private STORM with the best gain (after Cutkosky and Orabona 2019)",
		Steps:     len(sizes),
		StepSize:  p.stepSize(h),
		Clip:      p.Constants.Lipschitz,
		Charges:   passWords(sizes) + "; ball " + c.Ball.describe(),
		Output:    choice.describe(),
		Effective: s.Effective(p),
		Floor:     s.Floor(p),
		Passes:    1,
	}
	plan.outline.expect(plan.predict(s))
	return plan, nil
}

// mixed is the mean squared error of the next estimate with gain K: P is that of
// the last, v a unit vector's.
func mixed(K, P, l0, radius, v float64) float64 {
	r := K*l0 + (1-K)*radius
	return (1-K)*(1-K)*P + r*r*v
}

// predict follows the gain that the run will take.
func (s *OnePassSTORMPlan) predict(size Size) Forecast {
	p := s.problem
	l0, slope := p.Constants.Lipschitz, s.ball.slope(p)
	var P float64
	return p.passForecast(s.outline.StepSize, size, s.choice.passWeights(s.sizes), func(t int, move float64) (K, variance float64) {
		v, radius := s.scatter.of(s.sizes[t]), min(slope*move, 2*l0)
		K = 1
		if t > 0 {
			K = gain(P, l0, radius, 1/v)
		}
		variance = mixed(K, 0, l0, radius, v)
		P = (1-K)*(1-K)*P + variance
		return K, variance / float64(p.Dim)
	})
}

// Outline describes the plan.
func (s *OnePassSTORMPlan) Outline() Outline { return s.outline }

// Run carries the plan out.
func (s *OnePassSTORMPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p, out := s.problem, s.choice.begin()
	records := newDrawer(o, s.scatter.neighbours)
	l0 := p.Constants.Lipschitz
	w := p.start()
	pace := newPace(p, s.outline.StepSize)
	var prev, estimate []float64
	var P, charged float64
	for t, size := range s.sizes {
		cohort, err := records.draw(size)
		if err != nil {
			return out.result(w), stepError("one-pass-storm", t, err)
		}
		K, radius, v := 1.0, 0.0, s.scatter.of(cohort.Size())
		terms := []query.Term{query.GradientAt(cohort, w, l0)}
		if t > 0 {
			difference := s.ball.difference(p, cohort, w, prev)
			radius = difference.Ball().Radius
			K = gain(P, l0, radius, 1/v)
			terms = mix(terms[0], difference, K)
		}
		answer, err := ask(ctx, o, s.scatter.charge, terms...)
		if err != nil {
			return out.result(w), stepError("one-pass-storm", t, err)
		}
		grad := answer.Mean
		charged = max(charged, answer.Charge)
		P = mixed(K, P, l0, radius, v)
		for j, x := range estimate {
			grad[j] += (1 - K) * x
		}
		estimate = slices.Clone(grad)
		p.addRegularizer(grad, w)
		prev = slices.Clone(w)
		out.step(p, w, grad, pace.next(grad), size)
		if observe != nil {
			observe(Step{Number: t + 1, Of: len(s.sizes), GradientNorm: norm(grad), Charged: charged, W: w})
		}
	}
	return out.result(w), nil
}
