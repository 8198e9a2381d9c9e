package optimize

import (
	"context"
	"fmt"
)

// Algorithm is an algorithm with its settings. A setting that is zero follows the algorithm's rule.
type Algorithm interface {
	// Plan makes the plan: it computes everything that does not depend on data. Composing a schedule of
	// samples may take long; Plan stops when the context is done.
	Plan(ctx context.Context, p Problem) (Plan, error)
}

// Plan is an algorithm for which everything that does not depend on data is computed.
type Plan interface {
	// Summary describes the run that the plan will make. It is public.
	Summary() Summary
	// Needs lists the methods that the plan calls on its oracle.
	Needs() Needs
	// Properties returns the facts, other than forecasts, by which plans are chosen.
	Properties() Properties
	// Run runs the plan. observe, if not nil, is called with released numbers after each step. On an
	// error the result holds what the run had reached, which is as public as the result of a finished
	// run.
	Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error)
}

// Properties are the facts, other than forecasts, by which plans are chosen.
type Properties struct {
	// Averaged says that the result is an average of iterates.
	Averaged bool
	// OnePass says that each record takes part in one release at most.
	OnePass bool
	// Sampled says that releases are computed on Poisson samples.
	Sampled bool
	// EndsEarly says that the run may stop before its last step, with an iterate that it found.
	EndsEarly bool
	// Convex says that the guarantee holds for convex objectives only.
	Convex bool
	// Unmoved says that the result is the start whatever is released: the plan averages the points at
	// which it releases answers, and there is one such point, the start.
	Unmoved bool
	// Escapes says that the run leaves saddles with the help of Hessian-vector products.
	Escapes bool
	// Restarted says that the run restarts from its own results, on objectives that it regularizes.
	Restarted bool
}

// Forecast is the accuracy expected of a plan: root mean squares over the random bits of the run, on
// the quadratic that predictions assume (see package forecast). It is used only to choose between
// plans.
type Forecast struct {
	// Gradient is the norm of the gradient of the mean loss over the records.
	Gradient float64 `json:"gradient_norm"`
	// Population is the norm of the gradient of the expected loss over the distribution from which the
	// records were drawn. The records' gradients are assumed to have standard deviation L0.
	Population float64 `json:"population_gradient_norm"`
	// Excess is the mean loss minus its minimum.
	Excess float64 `json:"excess_risk"`
}

// Step holds the facts of a step that may be shown: public or released numbers.
type Step struct {
	Number, Of int
	// GradientNorm is the norm of the noisy gradient estimate that the step used. Noise is the root
	// mean square of the norm of its noise, 0 if unknown.
	GradientNorm, Noise float64
	// Charged is the largest charge of any record so far in the run.
	Charged float64
	// W is the iterate reached, a released point. The caller must neither keep nor change it.
	W []float64
}

// Settled holds the common parts of all plans. A plan embeds it and adds its loop.
type Settled struct {
	problem    Problem
	summary    Summary
	needs      Needs
	properties Properties
	law        Law
	choice     choice
}

// Draft is the input of Settle.
type Draft struct {
	Problem Problem
	// Settle completes the summary: Clip and Output, unless given, are set from the problem and from
	// Output below; Effective and Floor are set from the problem.
	Summary    Summary
	Needs      Needs
	Properties Properties
	Law        Law
	// Output is the rule that chooses the result.
	Output Output
}

// Settle makes the common part of a plan from a draft. An invalid output rule is an error.
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

// Problem returns the problem that the plan is for.
func (s *Settled) Problem() Problem { return s.problem }

// Summary describes the plan.
func (s *Settled) Summary() Summary { return s.summary }

// Needs lists the methods that the plan calls on its oracle.
func (s *Settled) Needs() Needs { return s.needs }

// Properties returns the facts, other than forecasts, by which plans are chosen.
func (s *Settled) Properties() Properties { return s.properties }

// Law returns the law by which releases become steps.
func (s *Settled) Law() Law { return s.law }

// Expect sets the forecast in the summary.
func (s *Settled) Expect(f Forecast) {
	s.summary.Predicted, s.summary.Population, s.summary.Excess = f.Gradient, f.Population, f.Excess
}

// EndsEarly marks a plan whose run stops at the first iterate of some kind, so that the result may be
// another than the output rule's. output describes that result.
func (s *Settled) EndsEarly(output string) {
	s.summary.Output, s.properties.Averaged, s.properties.EndsEarly = output, false, true
}

func stepError(algorithm string, t int, err error) error {
	return fmt.Errorf("%s: step %d: %w", algorithm, t, err)
}
