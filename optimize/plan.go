package optimize

import (
	"cmp"
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Algorithm is an algorithm with its settings. A setting that is zero has the algorithm's default.
type Algorithm interface {
	// Plan makes the plan for the problem p: it computes everything that does not depend on records. The
	// calibration of a schedule of Poisson samples may take long. If the context is done before the
	// calibration ends, Plan returns an error.
	Plan(ctx context.Context, p Problem) (Plan, error)
}

// Plan is an algorithm with everything computed that does not depend on records.
type Plan interface {
	// Summary describes the run that the plan will make. It is public.
	Summary() Summary
	// Needs lists the methods that the plan calls on its oracle.
	Needs() Needs
	// Properties returns facts by which package choose orders plans, in addition to their forecasts.
	Properties() Properties
	// Workload says which queries a run of the plan makes.
	Workload() Workload
	// Run runs the plan. observe, if not nil, is called with released numbers after each step. On an
	// error, the result has the last iterate, which is as public as the result of a complete run.
	Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error)
}

// Properties are facts by which package choose orders plans, in addition to their forecasts.
type Properties struct {
	// Averaged means that the result is an average of iterates.
	Averaged bool
	// OnePass means that each record takes part in at most one release.
	OnePass bool
	// Sampled means that releases are computed on Poisson samples.
	Sampled bool
	// EndsEarly means that the run may stop before its last step and return an iterate that satisfies
	// a condition.
	EndsEarly bool
	// Convex means that the plan is for convex objectives only.
	Convex bool
	// Unmoved means that the result is the starting point, whatever is released. This happens if the plan
	// averages the points at which it releases answers, and releases answers at the starting point only.
	Unmoved bool
	// Escapes means that the run releases Hessian-vector products in order to leave saddle points.
	Escapes bool
	// Restarted means that the run consists of several runs. Each of these starts at the result of the run
	// before it, and minimises an objective to which the algorithm adds a regularizer of its own.
	Restarted bool
}

// Forecast is the expected accuracy of a plan's result. Its numbers are root mean squares over the
// random bits of the run, on the quadratic objective that package forecast assumes. They are used
// only to choose between plans.
type Forecast struct {
	// Gradient is the norm of the gradient of the mean loss over the records.
	Gradient float64 `json:"gradient_norm"`
	// Population is the norm of the gradient of the expected loss over the distribution from which the
	// records were drawn. The gradients of records are assumed to deviate from their mean by L0 (root
	// mean square norm).
	Population float64 `json:"population_gradient_norm"`
	// Excess is the mean loss minus its minimum.
	Excess float64 `json:"excess_risk"`
}

// Step has the facts of a step that an observer may see. They are public or released numbers.
type Step struct {
	Number, Of int
	// GradientNorm is the norm of the noisy gradient estimate that the step used. Noise is the root
	// mean square norm of its noise; 0 if unknown.
	GradientNorm, Noise float64
	// Charged is the largest charge of any record so far in the run.
	Charged float64
	// W is the iterate after the step, a released point. The caller must neither keep nor change it.
	W []float64
}

// Settled is the part of a plan that all algorithms share. A plan embeds Settled and adds a method Run.
type Settled struct {
	problem    Problem
	summary    Summary
	needs      Needs
	properties Properties
	workload   Workload
	rule       UpdateRule
	choice     choice
}

// Draft has what an algorithm computed for its plan. Settle makes the common part of the plan from
// it.
type Draft struct {
	Problem Problem
	// Summary describes the plan. Settle completes it. If Clip is zero, Settle sets it to the Lipschitz
	// constant of the problem. If the summary's Output is empty, Settle sets it to a description of the
	// field Output below. Settle always sets Effective and Floor from the problem.
	Summary    Summary
	Needs      Needs
	Properties Properties
	// Workload says which queries a run makes. If it names none, Settle states a gradient for each step, of
	// Summary.Passes passes together. If it has no smoothing, Settle gives it the problem's.
	Workload   Workload
	UpdateRule UpdateRule
	// Output is the rule that chooses the result.
	Output Output
}

// Settle makes the common part of a plan from a draft. It returns an error if the draft's output rule
// is invalid.
func Settle(d Draft) (Settled, error) {
	p := d.Problem
	s := Settled{problem: p, summary: d.Summary, needs: d.Needs, properties: d.Properties, workload: d.Workload, rule: d.UpdateRule}
	if len(s.workload.Kinds) == 0 {
		s.workload = Workload{Kinds: map[query.Kind]Load{query.Gradient: {float64(d.Summary.Steps), d.Summary.Passes}}}
	}
	if !s.workload.Smoothing.On() {
		s.workload.Smoothing = p.Smoothing
	}
	if d.Needs.Schedule != nil {
		s.workload.Samples = float64(d.Summary.Steps)
	}
	var err error
	if s.choice, err = newChoice(d.Output, s.summary.Steps, d.UpdateRule.OnePass, p.PublicCoins(0x0a17, 0)); err != nil {
		return Settled{}, err
	}
	s.summary.Clip = cmp.Or(s.summary.Clip, p.Constants.Lipschitz)
	if s.summary.Output == "" {
		s.summary.Output = s.choice.describe()
		s.properties.Averaged = s.choice.rule == TailAverage || s.choice.rule == Average
		s.needs.PublicCoins = s.choice.rule == Random
	}
	s.needs.Seed = s.needs.Seed || s.needs.PublicCoins
	s.summary.Effective, s.summary.Floor = p.Effective(), p.Floor()
	s.rule.StepSize = cmp.Or(s.rule.StepSize, s.summary.StepSize)
	if s.rule.Importance != nil {
		s.rule.weights = s.choice.weights(s.rule.Importance)
		s.properties.Unmoved = s.properties.Unmoved || s.properties.Averaged && s.rule.weights[0] == 1
	}
	return s, nil
}

// Problem returns the problem for which the plan was made.
func (s *Settled) Problem() Problem { return s.problem }

// Summary describes the plan.
func (s *Settled) Summary() Summary { return s.summary }

// Needs lists the methods that the plan calls on its oracle.
func (s *Settled) Needs() Needs { return s.needs }

// Properties returns facts by which package choose orders plans, in addition to their forecasts.
func (s *Settled) Properties() Properties { return s.properties }

// Workload says which queries a run of the plan makes.
func (s *Settled) Workload() Workload { return s.workload }

// UpdateRule returns the plan's update rule, which states how releases become steps and a result.
func (s *Settled) UpdateRule() UpdateRule { return s.rule }

// Expect sets the plan's forecast in the summary.
func (s *Settled) Expect(f Forecast) {
	s.summary.Predicted, s.summary.Population, s.summary.Excess = f.Gradient, f.Population, f.Excess
}

// EndsEarly marks a plan whose run may stop at the first iterate that satisfies a condition. The result of
// the run may then differ from the result of the output rule. output describes the result in words.
func (s *Settled) EndsEarly(output string) {
	s.summary.Output, s.properties.Averaged, s.properties.EndsEarly = output, false, true
}

func stepError(algorithm string, t int, err error) error {
	return fmt.Errorf("%s: step %d: %w", algorithm, t, err)
}
