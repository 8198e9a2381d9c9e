package optimize

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Run is the state of one run of a plan. It makes queries, counts charges, moves the iterate, and passes the iterate to
// the output rule and to the observer. It records the trace of what it did: how its noisy answers became steps and a
// result. The loop of an algorithm therefore needs to contain the paper's pseudocode only.
type Run struct {
	// W is a copy of the current iterate w_t, or, after a call of Extrapolate, of the extrapolated
	// point y_t. Loops read it.
	W []float64
	// Eta, if not nil, returns the step size for the gradient estimate g, which includes the regularizer's
	// gradient. noise is the standard deviation of the noise in a coordinate of g. If Eta is nil, the
	// plan's update rule states the step size.
	Eta func(g []float64, noise float64) float64
	// StepSizes, if not nil, replaces the step sizes of the plan's update rule, for runs that compute step
	// sizes from released numbers.
	StepSizes []float64

	// at is the iterate.
	at []float64
	// metric, if not zero, is the matrix that preconditions the run's gradient estimates and steps
	// (see In).
	metric query.Metric
	// direction, if not nil, returns the direction and the size of a step for an estimate. A step moves no
	// coordinate farther than most (see Bounded).
	direction func(g []float64) (direction []float64, eta float64)
	most      float64
	// rounds is the state of the run's rounds (see Round); nil for runs without rounds.
	rounds *rounds

	ctx     context.Context
	oracle  Oracle
	plan    *Settled
	observe func(Step)
	out     *collector
	cohorts *dealer
	// totals has, by the cohort's ID, the charge so far of each cohort's records. charged is the largest of
	// these charges.
	totals  map[uint64]float64
	charged float64
	trace   tracer
	// last is the previous iterate w_{t-1}. It is used in runs with momentum only.
	last []float64
	// pace shortens steps that overshoot. It is nil in runs whose law is not Guarded or whose steps are at
	// most 1/L1.
	pace     *Pace
	quarters quarters
}

// Begin starts a run of the plan at the problem's starting point.
func (s *Settled) Begin(ctx context.Context, o Oracle, observe func(Step)) *Run {
	r := &Run{
		W: s.problem.StartPoint(), at: s.problem.StartPoint(), ctx: ctx, oracle: o, plan: s, observe: observe,
		out: s.choice.begin(), totals: map[uint64]float64{},
	}
	if eta, safe := s.rule.StepSize, 1/s.problem.Smoothness(); s.rule.Guarded && eta > safe {
		r.pace = NewPace(eta, safe)
	}
	return r
}

// errEnd ends a run before its last step without being an error.
var errEnd = errors.New("end")

// Steps calls body for each step t = 0, 1, ... of the plan and returns the run's result. If body returns an
// error, Steps ends the run and adds the algorithm's name and the number of steps made so far to the error. After the last
// step it releases the curvature at the result, if the plan has a charge for it.
func (r *Run) Steps(body func(t int) error) (Result, error) {
	result, err := r.Loop(func() error {
		for t := range r.plan.summary.Steps {
			if err := body(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && r.plan.curvature > 0 {
		err = r.Failed(r.see(&result))
	}
	return result, err
}

// Loop calls body once and returns the run's result. body makes all steps of the plan.
func (r *Run) Loop(body func() error) (Result, error) {
	err := body()
	if errors.Is(err, errEnd) {
		return r.early(), nil
	}
	return r.Result(), r.Failed(err)
}

// Until calls body once and returns the run's result. It is for runs in which the charges of queries, and
// therefore the number of steps, depend on released numbers. Such a run is complete when body returns nil,
// or when the privacy filter rejects a query because the budget is used up.
func (r *Run) Until(body func() error) (Result, error) {
	err := body()
	if over := new(account.BudgetError); err == nil || errors.As(err, &over) {
		res := r.Result()
		res.Complete = true
		return res, nil
	}
	return r.Result(), r.Failed(err)
}

// Left returns the charge that the plan may still use on a record, by the run's own count. The oracle
// may allow more, since a part of the budget can be reserved for releases outside the plan.
func (r *Run) Left() float64 { return r.plan.problem.Charge() - r.charged }

// Failed adds the algorithm's name and the number of steps made so far to an error. It returns nil if
// err is nil.
func (r *Run) Failed(err error) error {
	if err == nil {
		return nil
	}
	return stepError(r.plan.summary.Algorithm, r.out.seen, err)
}

// All returns the cohort of all records.
func (r *Run) All() query.Cohort { return r.oracle.All() }

// Sample draws the next Poisson sample of the schedule that the oracle follows.
func (r *Run) Sample() (query.Cohort, error) { return r.oracle.Sample() }

// Draw draws a cohort of the given size from the records that are in no cohort yet.
func (r *Run) Draw(size float64) (query.Cohort, error) {
	if r.cohorts == nil {
		r.cohorts = newDealer(r.oracle, r.plan.problem)
	}
	return r.cohorts.draw(size)
}

// Ask releases the noisy weighted sum of the terms and charges the given part of the budget mu^2. If the
// problem has a smoothing, terms of kinds that can be smoothed are smoothed first.
func (r *Run) Ask(charge float64, terms ...query.Term) (Answer, error) {
	q, err := query.New(charge, r.smoothed(terms)...)
	if err != nil {
		return Answer{}, err
	}
	a, err := r.oracle.Ask(r.ctx, q)
	if err == nil {
		r.charge(q.Cohort(), a.Charge)
	}
	return newAnswer(a, gradientsOf(terms)), err
}

// smoothed returns the query terms smoothed as the problem's loss is. The terms are unchanged if the problem has no
// smoothing. A term is unchanged if it already has a smoothing or is of a kind that cannot be smoothed.
func (r *Run) smoothed(terms []query.Term) []query.Term {
	s := r.plan.problem.Smoothing
	if !s.On() {
		return terms
	}
	terms = slices.Clone(terms)
	for i, t := range terms {
		if t.Kind().Facts().Smooths && !t.Smoothing().On() {
			terms[i] = t.Smoothed(s)
		}
	}
	return terms
}

// Stable makes one pass of stochastic gradient descent inside the oracle and releases the result with
// noise (see Oracle.Stable).
func (r *Run) Stable(q query.Stable) (Answer, error) {
	a, err := r.oracle.Stable(r.ctx, q)
	if err == nil {
		r.charge(q.Cohort(), a.Charge)
	}
	return newAnswer(a, math.NaN()), err
}

// charge adds a charge to the run's count of the total charge of the records of the cohort c.
func (r *Run) charge(c query.Cohort, charge float64) {
	if charge > 0 {
		r.totals[c.ID()] += charge
		r.charged = max(r.charged, r.totals[c.ID()])
	}
}

// Use states how a step uses a gradient estimate, and the weight of the iterate in the result.
type Use struct {
	// Weight is the weight of the iterate in the result if the result is an average of iterates.
	Weight float64
	// Measured is the norm of the gradient at the iterate, if this norm was released separately; otherwise
	// zero. The output rule Smallest compares iterates by Measured if it is above zero, and by the norm of
	// the gradient estimate if it is zero.
	Measured float64
	// Coins, if not nil, are public random numbers. The run adds them, each multiplied by Deviation, to the estimate
	// for this step only. They must have mean 0 and standard deviation 1 and be independent of all releases. The run's
	// trace counts the variance of these numbers in later estimates too, which overstates the noise.
	Coins     []float64
	Deviation float64
}

// Regularized returns the gradient estimate plus the regularizer's gradient at W. If the run has a preconditioner (see
// In), the regularizer's gradient is multiplied by the preconditioner, as the estimate already is.
func (r *Run) Regularized(estimate []float64) []float64 { return r.regularized(estimate, r.W, 1) }

// regularized returns the gradient estimate plus weight times the regularizer's gradient at the point at.
// In a run with a preconditioner, the regularizer's gradient is multiplied by the preconditioner too.
func (r *Run) regularized(estimate, at []float64, weight float64) []float64 {
	g := append([]float64(nil), estimate...)
	if r.plan.problem.Regularizer == nil {
		return g
	}
	if r.metric.Dim() == 0 && weight == 1 {
		r.plan.problem.AddRegularizer(g, at)
		return g
	}
	more := make([]float64, len(at))
	r.plan.problem.AddRegularizer(more, at)
	if r.metric.Dim() > 0 {
		more = r.metric.Times(more)
	}
	vector.Add(g, weight, more)
	return g
}

// Follow asks, at the given charge, for the gradient of the cohort's records at the current point, and takes a step
// against it.
func (r *Run) Follow(charge float64, records query.Cohort, u Use) error {
	answer, err := r.Ask(charge, query.GradientAt(records, r.W, r.plan.problem.Constants.Lipschitz))
	if err != nil {
		return err
	}
	r.Descend(r.Estimate(answer), u)
	return nil
}

// Extrapolate repeats the last move, multiplied by the momentum that the plan's update rule has for step t:
// it moves the iterate from w_t to y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1})).
func (r *Run) Extrapolate(t int) {
	beta := r.plan.rule.Momentum(t)
	r.trace.momentum(beta)
	w := append([]float64(nil), r.at...)
	for j, v := range r.last {
		r.at[j] += beta * (w[j] - v)
	}
	r.last = w
	r.plan.problem.Project(r.at)
	copy(r.W, r.at)
}

// Descend makes the step w_{t+1} = Proj(W - eta (estimate + k grad reg(W))), where reg is the regularizer. k is the
// number of gradients that the estimate adds up: 1 for an answer about one gradient and for averages of such answers.
// If the run has a preconditioner or is Bounded, the step goes along the direction that the preconditioner or the
// function of Bounded gives. If the run has rounds, Descend makes a step of the current round.
func (r *Run) Descend(e *Estimate, u Use) {
	keep, back, noise := r.mixed(e)
	estimate, noise := e.shaken(u, noise)
	total := r.trace.total(keep, back, noise)
	if r.rounds != nil {
		eta, length := r.rounds.descend(r, estimate, e.weight(), u, math.Sqrt(total))
		r.trace.step(keep, back, noise, eta)
		e.used = r.out.seen
		r.show(r.out.seen, length)
		return
	}
	g := r.regularized(estimate, r.at, e.weight())
	length := Norm(g) / scale(e.weight())
	direction, eta := r.towards(g, math.Sqrt(total))
	judged := length
	if u.Measured > 0 {
		judged = u.Measured
	}
	if !r.out.reached {
		r.out.visit(r.at, u.Weight, judged)
	}
	r.move(direction, eta)
	r.plan.problem.Project(r.at)
	if r.out.reached {
		r.out.visit(r.at, u.Weight, judged)
	}
	copy(r.W, r.at)
	r.quarters.visit(r, g, keep, total)
	r.trace.step(keep, back, noise, eta)
	e.used = r.out.seen
	r.show(r.out.seen, length)
}

// towards returns the direction and the size of the next step for the gradient estimate g, which includes the
// regularizer's gradient. noise is the standard deviation of the noise in a coordinate of g.
func (r *Run) towards(g []float64, noise float64) (direction []float64, eta float64) {
	direction, eta = g, r.plan.rule.Eta(r.out.seen)
	if r.StepSizes != nil {
		eta = r.StepSizes[r.out.seen]
	}
	switch {
	case r.direction != nil:
		return r.direction(append([]float64(nil), g...))
	case r.metric.Dim() > 0:
		direction = r.metric.Times(g)
	case r.Eta != nil:
		eta = r.Eta(append([]float64(nil), g...), noise)
	case r.pace != nil:
		eta = r.pace.Next(g, noise)
	}
	return direction, eta
}

// move subtracts eta*direction from the iterate. If Bounded set a limit for the run, a coordinate
// that would move farther moves by this limit.
func (r *Run) move(direction []float64, eta float64) {
	if r.direction == nil {
		Descend(r.at, direction, eta)
		return
	}
	for j, v := range direction {
		r.at[j] -= min(max(eta*v, -r.most), r.most)
	}
}

// Look passes the iterate, with the norm of the gradient estimate e at it, to the output rule Smallest. No
// step is made from e.
func (r *Run) Look(e *Estimate) {
	r.out.look(r.at, Norm(r.regularized(e.g, r.at, e.weight()))/scale(e.weight()))
}

// scale returns the number by which the norm of an estimate is divided to get the norm of one gradient, if
// the estimate adds up weight gradients. The number is weight, or 1 if weight is not above 0.
func scale(weight float64) float64 {
	if weight > 0 {
		return weight
	}
	return 1
}

// Reach records a step of a loop that moves the iterate and computes the result itself: the new iterate w,
// the norm of the gradient estimate, the noise of the last answer and the step size eta. The run does not
// know how such a loop combines answers, so it states the noise of the result only if the loop calls Bound.
// Loops that let the run move the iterate and compute the result call Descend instead.
func (r *Run) Reach(w []float64, gradientNorm, noise, eta float64) {
	copy(r.at, w)
	copy(r.W, w)
	r.trace.step(0, 1, noise, eta)
	r.trace.moved()
	r.out.seen++
	r.show(r.out.seen, gradientNorm)
}

func (r *Run) show(number int, gradientNorm float64) {
	if r.observe != nil {
		noise := math.Sqrt(r.trace.last() * float64(len(r.W)))
		r.observe(Step{Number: number, Of: r.plan.summary.Steps, GradientNorm: gradientNorm, Noise: noise, Charged: r.charged,
			W: r.W})
	}
}

// Taken returns the number of steps made.
func (r *Run) Taken() int { return r.out.seen }

// End makes the current iterate the result of a run that stops before its last step; output describes this result in
// words. The loop's body must return the error that End returns, which stops the run and is not reported as a failure.
func (r *Run) End(gradientNorm float64, output string) error {
	r.show(r.out.seen+1, gradientNorm)
	r.out.ended = output
	return errEnd
}

func (r *Run) early() Result {
	res := Result{W: append([]float64(nil), r.at...), Steps: r.out.seen, Output: r.out.ended, Complete: true}
	return r.stated(res, nil, nil, r.out.seen+1)
}

// Result applies the output rule and returns the result.
func (r *Run) Result() Result {
	res := r.out.result(r.at)
	res.Late = r.quarters.result()
	return r.stated(res, r.out.weightsOf(), nil, r.out.chosen())
}

// ResultAt returns the result w of a loop that moves the iterate itself (see Reach).
func (r *Run) ResultAt(w []float64, complete bool) Result {
	res := Result{W: w, Steps: r.out.seen, Output: r.plan.summary.Output, Complete: complete}
	return r.stated(res, nil, nil, 0)
}

// stated returns the result with the run's trace (see tracer).
func (r *Run) stated(res Result, weights []float64, rounds []int, chosen int) Result {
	p := r.plan.problem
	res.Trace = r.trace.finish(p.StartPoint(), res.W, p.startNoise, weights, rounds, chosen)
	return res
}

// In sets the metric of the run, a matrix that preconditions gradients, and records the released second moment of the
// rows from which it was computed, or nil. After In, gradient estimates are estimates of the metric times the gradient,
// and a step goes along the metric times an estimate.
func (r *Run) In(m query.Metric, from *Moment) {
	r.metric = m
	r.trace.metric(m, from)
}

// Slope records the root mean square slope of the loss that the run released last. It is for runs whose metric is
// computed from a second moment (see In).
func (r *Run) Slope(rms float64) { r.trace.slope(rms) }

// Bounded makes the function direction choose the direction and the size of each step. The function may
// combine gradient estimates in any way. In each step a coordinate moves by at most move; a longer move is
// cut to move. The run's trace can therefore bound the noise of the result.
func (r *Run) Bounded(move float64, direction func(g []float64) (direction []float64, eta float64)) {
	r.most, r.direction = move, direction
	r.trace.bound(move)
}

// Bound declares that the run's steps are not linear functions of its gradient estimates, and that a step
// moves each coordinate by at most move. Bound does not enforce this limit.
func (r *Run) Bound(move float64) { r.trace.bound(move) }

// Norm returns the Euclidean norm of v. It overflows only if the norm itself is too large for a
// float64.
func Norm(v []float64) float64 { return vector.Norm(v) }

// Descend sets w to w - eta g.
func Descend(w, g []float64, eta float64) { vector.Add(w, -eta, g) }
