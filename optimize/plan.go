package optimize

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Algorithm is an algorithm with its settings. A setting that is zero has the algorithm's default.
type Algorithm interface {
	// Plan makes the plan for the problem p: it computes everything that does not depend on records, and gives every
	// zero setting the value of its rule. It returns an error if p is not valid or a setting is out of range. The
	// calibration of a schedule of Poisson samples may take long. If the context is done before it ends, Plan returns
	// an error.
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

// Forecast is the expected accuracy of a plan's result. Its numbers are root mean squares over the random bits of the
// run, on the quadratic objective that package forecast assumes. They are used only to choose between plans.
type Forecast struct {
	// Gradient is the norm of the gradient of the mean loss over the records.
	Gradient float64 `json:"gradient_norm"`
	// Population is the norm of the gradient of the expected loss over the distribution from which the records were
	// drawn. The gradients of records are assumed to deviate from their mean by L0 (root mean square norm).
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

// Settled is the part of a plan that all algorithms share. It is the whole plan if its draft has a Step. Other plans embed
// Settled and have a method Run of their own.
type Settled struct {
	problem    Problem
	summary    Summary
	needs      Needs
	properties Properties
	workload   Workload
	rule       UpdateRule
	choice     choice
	begin      func(*Run) func(int) error
	curvature  float64 // charge of the curvature at the result; 0 if it is not released
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
	// Charges, if not nil, are the charges of steps of which each releases the mean gradient of all records. Settle then
	// states the number of steps, the noise and the importance of each, and makes the steps if Begin is nil.
	Charges []float64
	// Curvature is the charge of the curvature at the result (Problem.CurvatureCharge); 0 if it is not released.
	Curvature float64
	// Output is the rule that chooses the result.
	Output Output
	// Step makes step t of a run whose steps share nothing but the run; nil for other plans.
	Step func(r *Run, t int) error
	// Begin prepares a run whose steps share more, and returns the function that makes step t.
	Begin func(r *Run) func(t int) error
}

// charged completes a draft with Charges.
func (d *Draft) charged() {
	if d.Charges == nil {
		return
	}
	p, steps, rule := d.Problem, len(d.Charges), &d.UpdateRule
	moved := p.Neighbours() * p.Constants.Lipschitz / p.Records
	d.Summary.Steps, d.Summary.Passes = steps, cmp.Or(d.Summary.Passes, float64(steps))
	rule.Importance, rule.Answer = d.Charges, Fresh(func(t int) float64 { return moved * moved / d.Charges[t] })
	if d.Begin != nil {
		return
	}
	d.Step = func(r *Run, t int) error {
		if rule.Momentum != nil {
			r.Extrapolate(t)
		}
		return r.Follow(d.Charges[t], r.All(), Use{Weight: d.Charges[t]})
	}
}

// Settle makes the common part of a plan from a draft. It returns an error if the draft's output rule
// is invalid.
func Settle(d Draft) (Settled, error) {
	p := d.Problem
	d.charged()
	if len(d.Workload.Kinds) == 0 {
		d.Workload = Workload{Smoothing: d.Workload.Smoothing, Kinds: map[query.Kind]Load{query.Gradient: {float64(d.Summary.Steps), d.Summary.Passes}}}
	}
	d.seeing()
	s := Settled{problem: p, workload: d.Workload, summary: d.Summary, needs: d.Needs, properties: d.Properties, rule: d.UpdateRule,
		begin: d.Begin, curvature: d.Curvature}
	if d.Step != nil {
		s.begin = func(r *Run) func(int) error { return func(t int) error { return d.Step(r, t) } }
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

// Run runs the plan of a draft with Step or Begin.
func (s *Settled) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	r := s.Begin(ctx, o, observe)
	return r.Steps(s.begin(r))
}

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

// Names of the quantities that theorems bound.
const (
	OfGradient = "gradient norm"
	OfExcess   = "excess risk"
)

// MostStart returns a bound on the gradient norm at the starting point: the smaller of L0 and sqrt(2 L1 F0). The
// regularizer's gradient at the start must be 0.
func (p Problem) MostStart() float64 { return min(p.Constants.Lipschitz, p.InitialGradient()) }

// mostRecords is the largest number of records for which Promises evaluates a bound.
const mostRecords = 1e18

// Promises sets the promise of a theorem in the plan's summary. bound returns the theorem's bound for a problem, with
// constants that the theorem does not state set to 1, and must fall with the problem's number of records. start is a
// bound that the starting point satisfies.
func (s *Settled) Promises(theorem, of string, start float64, bound func(Problem) float64) {
	at := func(records float64) float64 {
		p := s.problem
		p.Records = records
		if b := bound(p); b <= math.MaxFloat64 {
			return b
		}
		return math.MaxFloat64 // also for NaN
	}
	promise := runrecord.Promise{Theorem: theorem, Of: of, Bound: at(s.problem.Records), Start: start}
	low, high := 1., mostRecords
	if at(high) < start {
		for high > 1.001*low {
			if mid := math.Sqrt(low * high); at(mid) < start {
				high = mid
			} else {
				low = mid
			}
		}
		promise.From = high
	}
	s.summary.Promise = promise
}

// Workload says which queries a plan makes, by kind, and on how many records: what the time of a run follows
// from. It is public. It counts as follows.
//
//   - A query about all records is one pass over them. A query about a part of them counts as that part of a pass.
//   - A query of several terms counts once for each term, and a selection once for each candidate.
//   - A pass of stochastic gradient descent (Oracle.Stable) counts as a query for a gradient.
//
// Sizes of Poisson samples and, under add-or-remove, of drawn cohorts are random. A workload has their means. Of a
// run that may end early, or that leaves out queries whose answers are known, it has the most that the run makes.
type Workload struct {
	// Kinds has the load of each kind of which the plan makes queries.
	Kinds map[query.Kind]Load
	// Metrics is the number of metrics in which gradients are measured. The first query in a metric computes the
	// length of every row in it, in a further pass.
	Metrics float64
	// Block is the number of features in the block of such a metric if queries for squares of features precede it.
	Block int
	// Samples is the number of Poisson samples that are drawn, each with a coin for every record.
	Samples float64
	// Smoothing is the smoothing of the loss in queries of kinds that allow one. If radii fall during a run, its
	// radius is in the middle.
	Smoothing query.Smoothing
}

// Load is a number of queries and the number of passes over all records that they take together.
type Load struct{ Queries, Passes float64 }

// Count returns the workload with queries added: count queries of the kind k, each about the given share of the
// records. Workload w stays as it is.
func (w Workload) Count(k query.Kind, count, share float64) Workload {
	return w.Plus(Workload{Kinds: map[query.Kind]Load{k: {count, count * share}}})
}

// Plus returns the workload of both runs, w and v. It has the smoothing of w, or of v if w has none.
func (w Workload) Plus(v Workload) Workload {
	sum := Workload{Kinds: maps.Clone(w.Kinds), Metrics: w.Metrics + v.Metrics, Block: max(w.Block, v.Block),
		Samples: w.Samples + v.Samples, Smoothing: w.Smoothing}
	if !sum.Smoothing.On() {
		sum.Smoothing = v.Smoothing
	}
	if sum.Kinds == nil {
		sum.Kinds = map[query.Kind]Load{}
	}
	for k, more := range v.Kinds {
		if had := sum.Kinds[k]; had.Queries+more.Queries > 0 {
			sum.Kinds[k] = Load{had.Queries + more.Queries, had.Passes + more.Passes}
		}
	}
	return sum
}

// on returns the workload of a run on the given share of the records.
func (w Workload) on(share float64) Workload {
	kinds := map[query.Kind]Load{}
	for k, l := range w.Kinds {
		kinds[k] = Load{l.Queries, l.Passes * share}
	}
	w.Kinds = kinds
	return w
}

// UpdateRule states how the releases (noisy answers) of a plan become steps and a result. The loops of algorithms
// compute the weights K below from the law, and forecasts simulate the law. A run records the law that it
// actually followed as [Trace]. Certificates store this record and reports read it. UpdateRule is not the limit
// on a run's releases that a store of budgets keeps under the JSON key law: that limit is budget.Limit.
//
// Step t, counted from 0, uses the estimate
//
//	g_t = (1-K_t) g_{t-Back(t)} + release t,   w_{t+1} = Proj(y_t - eta g_t)
//	y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1}))
//
// of the gradient at y_t, where release t is made. Without momentum y_t is w_t. The result is a
// weighted average of y_0, ..., y_{T-1} and w_T, where T is the number of steps.
type UpdateRule struct {
	// StepSize is the size eta of all steps.
	StepSize float64
	// StepSizes, if not nil, gives each step its own size in place of StepSize.
	StepSizes []float64
	// OnePass means that each release uses records that no earlier release used. A release then estimates
	// the gradient of the expected loss over the records' distribution. An average of iterates is over the
	// points to which steps lead, not over the points at which answers are released. Forecasts assume that
	// steps that overshoot are shortened (see [Pace]).
	OnePass bool
	// Guarded means that steps that overshoot are shortened, down to size 1/L1 (see [Pace]). 1/L1 is the longest step
	// that is stable on every table. A default rule that chooses longer steps must set Guarded. If Guarded is set, the
	// only earlier estimate that an estimate may contain is the previous step's.
	Guarded bool
	// Importance is the weight of each step's iterate if the result is an average of iterates. The weight
	// is usually the step's charge.
	Importance []float64
	// A difference of gradients at two points is clipped to a ball. Slope is the radius of this ball if the points have
	// distance 1, and MostRadius is the largest radius at any distance. Both are 0 if no differences are released.
	Slope, MostRadius float64
	// Back returns the number of steps from step t back to the step whose estimate step t corrects. nil means that Back
	// is 1 for all steps. A difference of gradients is then between two points that are Back(t) steps apart, and the
	// radius of its ball is Slope times the distance of these points, at most MostRadius.
	Back func(t int) int
	// Momentum returns the factor by which step t repeats the last move w_t - w_{t-1} before its release.
	// It is 0 at t = 0, since there is no earlier move. nil means no momentum.
	Momentum func(t int) float64
	// Metric describes the preconditioner of the run; nil means none. Metric maps an eigenvalue of the
	// data's Hessian to the squared length of the preconditioner times a unit eigenvector with this
	// eigenvalue. The preconditioner is assumed to have the same eigenvectors as the Hessian.
	Metric func(eigenvalue float64) float64
	// Answer describes the release of step t. It returns the weight K of the new gradient in the step's
	// estimate, and fresh, the variance of the release per coordinate. radius is the radius of the ball to
	// which differences are clipped, and last is the error variance of the estimate that step t continues.
	Answer func(t int, radius, last float64) (K float64, fresh Variance)

	weights []float64
}

// Variance is the variance of a noisy answer about the exact value, per coordinate. Noise is the variance of the
// privacy noise. Sampling is an upper bound on the variance that comes from the random choice of records.
type Variance struct{ Noise, Sampling float64 }

// Fresh is the field Answer of an UpdateRule whose steps use new gradients alone. noise returns the variance of the noise
// in the answer of step t.
func Fresh(noise func(t int) float64) func(t int, radius, last float64) (K float64, fresh Variance) {
	return func(t int, _, _ float64) (float64, Variance) { return 1, Variance{Noise: noise(t)} }
}

// Total returns Noise + Sampling.
func (v Variance) Total() float64 { return v.Noise + v.Sampling }

// Weights returns the weights in the result of y_0, ..., y_{T-1}, w_T: the points at which the T
// answers are released, and the last iterate. The output rule Smallest determines its weights only in
// the run, so for it Weights returns the weights of the rule Last.
func (l UpdateRule) Weights() []float64 { return l.weights }

// Eta returns the size of step t.
func (l UpdateRule) Eta(t int) float64 {
	if l.StepSizes != nil {
		return l.StepSizes[t]
	}
	return l.StepSize
}

// Radius returns the radius of the ball to which a difference of gradients is clipped, for two points
// at the given distance.
func (l UpdateRule) Radius(distance float64) float64 { return min(l.Slope*distance, l.MostRadius) }

// Gain returns the weight K in [0, 1] of a new gradient that minimises the variance of the next
// estimate,
//
//	(1-K)^2 P + (K s_a + (1-K) s_d)^2/m.
//
// P is the variance of the last estimate, s_a the sensitivity of a gradient, s_d the sensitivity of a
// difference of gradients, and m the charge of the step. K is the gain of a scalar Kalman filter.
func Gain(P, sa, sd, m float64) float64 {
	k := (P - sd*(sa-sd)/m) / (P + (sa-sd)*(sa-sd)/m)
	if math.IsNaN(k) { // P = 0 and s_a = s_d: every gain has the same variance
		return 0
	}
	return min(max(k, 0), 1)
}
