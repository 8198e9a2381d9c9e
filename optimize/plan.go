package optimize

import (
	"context"
	"fmt"
)

// Algorithm is an algorithm with its settings. What is left zero follows the
// algorithm's rule.
type Algorithm interface {
	// Plan settles everything that can be settled without data. It may take long
	// where a schedule is composed, and ends when the context does.
	Plan(ctx context.Context, p Problem) (Plan, error)
}

// Plan is an algorithm with everything settled that can be settled without data.
type Plan interface {
	// Summary says what will run. It is public.
	Summary() Summary
	// Needs says what the oracle must serve.
	Needs() Needs
	// Properties say what kind of plan it is.
	Properties() Properties
	// Run carries the plan out. observe, if not nil, is called after each step
	// with released numbers. On an error the result holds what had been reached
	// by then, which is as releasable as a finished run's.
	Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error)
}

// Properties are what choices between plans rest on beside forecasts.
type Properties struct {
	// Averaged says that the result is an average of iterates.
	Averaged bool
	// OnePass says that each record is in one release at most.
	OnePass bool
	// Sampled says that releases are on Poisson samples.
	Sampled bool
	// EndsEarly says that the run may end before all its steps, with an iterate
	// it found.
	EndsEarly bool
	// Convex says that the guarantee is for convex objectives only.
	Convex bool
	// Unmoved says that the result is the start, whatever is released: the average of
	// the points where a single question is asked.
	Unmoved bool
	// Escapes says that the run leaves saddles by products of the Hessian.
	Escapes bool
	// Restarted says that the run starts again from its own results on
	// objectives that it regularizes.
	Restarted bool
}

// Forecast is what a plan may be expected to reach, root mean squares over its
// coins, on the quadratic that predictions assume (see package forecast). Nothing
// but choices between plans rests on it.
type Forecast struct {
	// Gradient is the norm of the gradient of the mean loss over the records.
	Gradient float64 `json:"gradient_norm"`
	// Population is that of the expected loss over the distribution the records
	// were drawn from: records' gradients are taken to scatter by L0.
	Population float64 `json:"population_gradient_norm"`
	// Excess is the mean loss less its minimum.
	Excess float64 `json:"excess_risk"`
}

// Step is what may be shown of a step: public or released numbers.
type Step struct {
	Number, Of int
	// GradientNorm is the norm of the noisy gradient estimate used, and Noise the
	// length that noise alone would give it, root mean square; 0 if that is not known.
	GradientNorm, Noise float64
	// Charged is the most that the run has charged a record so far.
	Charged float64
	// W is the iterate reached, a released point. It must be neither kept nor
	// changed.
	W []float64
}

// Settled is what plans have in common. A plan embeds it and adds its loop.
type Settled struct {
	problem    Problem
	summary    Summary
	needs      Needs
	properties Properties
	law        Law
	choice     choice
}

// Draft is what Settle makes a plan of.
type Draft struct {
	Problem Problem
	// Summary is completed: clip, output, effective size and floor are those of
	// the problem and of Output, unless given.
	Summary    Summary
	Needs      Needs
	Properties Properties
	Law        Law
	// Output is the rule that picks the result.
	Output Output
}

// Settle makes what plans have in common.
func Settle(d Draft) (Settled, error) {
	p := d.Problem
	s := Settled{problem: p, summary: d.Summary, needs: d.Needs, properties: d.Properties, law: d.Law}
	var err error
	if s.choice, err = newChoice(d.Output, s.summary.Steps, d.Law.OnePass, p.PublicCoins(0x0a17, 0)); err != nil {
		return Settled{}, err
	}
	if s.summary.Clip == 0 {
		s.summary.Clip = p.Constants.Lipschitz
	}
	if s.summary.Output == "" {
		s.summary.Output = s.choice.describe()
		s.properties.Averaged = s.choice.rule == TailAverage || s.choice.rule == Average
		s.needs.PublicCoins = s.choice.rule == Random
	}
	s.needs.Seed = s.needs.Seed || s.needs.PublicCoins
	s.summary.Effective, s.summary.Floor = p.Effective(), p.Floor()
	if s.law.StepSize == 0 {
		s.law.StepSize = s.summary.StepSize
	}
	if s.law.Importance != nil {
		s.law.weights = s.choice.weights(s.law.Importance)
		s.properties.Unmoved = s.properties.Unmoved || s.properties.Averaged && s.law.weights[0] == 1
	}
	return s, nil
}

// Problem returns what the plan is for.
func (s *Settled) Problem() Problem { return s.problem }

// Summary describes the plan.
func (s *Settled) Summary() Summary { return s.summary }

// Needs says what the plan asks of its oracle.
func (s *Settled) Needs() Needs { return s.needs }

// Properties say what kind of plan it is.
func (s *Settled) Properties() Properties { return s.properties }

// Law returns how releases become steps.
func (s *Settled) Law() Law { return s.law }

// Expect fills in what the plan is expected to reach.
func (s *Settled) Expect(f Forecast) {
	s.summary.Predicted, s.summary.Population, s.summary.Excess = f.Gradient, f.Population, f.Excess
}

// EndsEarly says in words that the result may be another than the output rule's:
// the first iterate of some kind, at which the run ends.
func (s *Settled) EndsEarly(output string) {
	s.summary.Output, s.properties.Averaged, s.properties.EndsEarly = output, false, true
}

func stepError(algorithm string, t int, err error) error {
	return fmt.Errorf("%s: step %d: %w", algorithm, t, err)
}
