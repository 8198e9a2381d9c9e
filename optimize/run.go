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

// Run is the state of a plan that is being run. It makes queries, counts charges, moves the iterate,
// passes the iterate to the output rule and to the observer, and records the law as it was run. An
// algorithm's loop needs only the lines of the paper's pseudocode.
type Run struct {
	// W is a copy of the iterate: w_t, or y_t after a call of Extrapolate. Loops read it.
	W []float64
	// Eta, if not nil, returns the step size for the full gradient estimate g, regularizer included,
	// and the standard deviation of the noise in a coordinate of g. nil means the law's step size.
	Eta func(g []float64, noise float64) float64
	// StepSizes, if not nil, replaces the law's step sizes, for runs whose releases lead to other sizes
	// than planned.
	StepSizes []float64

	// at is the iterate.
	at []float64
	// metric, if not zero, is the preconditioner in which steps are made (see In).
	metric query.Metric
	// direction, if not nil, returns the direction of a step in place of the estimate, and the step
	// size. No coordinate moves farther than the law's Move (see Bounded).
	direction func(g []float64) (direction []float64, eta float64)
	// rounds is nil for runs without rounds (see Round).
	rounds *rounds
	// unstated says that the law cannot express the noise of the run. own says that the loop moves the
	// iterate by itself.
	unstated, own bool

	ctx     context.Context
	oracle  Oracle
	plan    *Settled
	observe func(Step)
	out     *collector
	cohorts *dealer
	// totals holds the charge so far of a record in each cohort.
	totals  map[uint64]float64
	charged float64
	law     Realised
	// last is w_{t-1}, for runs with momentum only.
	last []float64
	// pace is nil except in guarded runs.
	pace *Pace
	// variances holds the variance of a coordinate's noise in the estimate of each step.
	variances []float64
	late      late
}

// Begin starts a run at the problem's start.
func (s *Settled) Begin(ctx context.Context, o Oracle, observe func(Step)) *Run {
	r := &Run{
		W: s.problem.StartPoint(), at: s.problem.StartPoint(), ctx: ctx, oracle: o, plan: s, observe: observe,
		out: s.choice.begin(), totals: map[uint64]float64{},
	}
	if eta, safe := s.law.StepSize, 1/s.problem.Smoothness(); s.law.Guarded && eta > safe {
		r.pace = NewPace(eta, safe)
	}
	return r
}

// errEnd stops a run before its last step without being a failure.
var errEnd = errors.New("end")

// Steps runs body for each step of the plan and returns the result. An error names the step at which it
// occurred.
func (r *Run) Steps(body func(t int) error) (Result, error) {
	return r.Loop(func() error {
		for t := range r.plan.summary.Steps {
			if err := body(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// Loop is Steps for loops that count their steps themselves.
func (r *Run) Loop(body func() error) (Result, error) {
	err := body()
	if errors.Is(err, errEnd) {
		return r.early(), nil
	}
	return r.Result(), r.Failed(err)
}

// Until is Loop for runs whose charges, and therefore whose number of steps, depend on releases. Such a
// run is complete when the body returns nil or when the privacy filter rejects a query.
func (r *Run) Until(body func() error) (Result, error) {
	err := body()
	if over := new(account.BudgetError); err == nil || errors.As(err, &over) {
		res := r.Result()
		res.Complete = true
		return res, nil
	}
	return r.Result(), r.Failed(err)
}

// Left returns the charge that the plan may still spend on a record, by the run's own count. The
// privacy filter of the session may allow more, which is reserved for other releases.
func (r *Run) Left() float64 { return r.plan.problem.Charge() - r.charged }

// Failed adds to an error the number of steps made before it. It returns nil for nil.
func (r *Run) Failed(err error) error {
	if err == nil {
		return nil
	}
	return stepError(r.plan.summary.Algorithm, r.out.seen, err)
}

// All returns the cohort of all records.
func (r *Run) All() query.Cohort { return r.oracle.All() }

// Sample draws the next sample of the schedule.
func (r *Run) Sample() (query.Cohort, error) { return r.oracle.Sample() }

// Draw draws a cohort of the given size from the records that are in no cohort yet.
func (r *Run) Draw(size float64) (query.Cohort, error) {
	if r.cohorts == nil {
		r.cohorts = newDealer(r.oracle, r.plan.problem)
	}
	return r.cohorts.draw(size)
}

// Ask releases a weighted sum of terms at the given charge. If the problem has a smoothing, terms of
// kinds that can be smoothed are about the smoothed loss.
func (r *Run) Ask(charge float64, terms ...query.Term) (Answer, error) {
	q, err := query.New(charge, r.smoothed(terms)...)
	if err != nil {
		return Answer{}, err
	}
	a, err := r.oracle.Ask(r.ctx, q)
	if err == nil {
		r.charge(q.Cohort(), a.Charge)
	}
	return newAnswer(a), err
}

// smoothed returns the terms with the problem's smoothing, if it has one. Terms with a smoothing of
// their own, and terms of kinds that cannot be smoothed, stay as they are.
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

// Stable releases the result of a pass of stable SGD.
func (r *Run) Stable(q query.Stable) (Answer, error) {
	a, err := r.oracle.Stable(r.ctx, q)
	if err == nil {
		r.charge(q.Cohort(), a.Charge)
	}
	return newAnswer(a), err
}

// charge adds to the count of the charges of a cohort's records.
func (r *Run) charge(c query.Cohort, charge float64) {
	if charge > 0 {
		r.totals[c.ID()] += charge
		r.charged = max(r.charged, r.totals[c.ID()])
	}
}

// Use states how a step uses an estimate and weighs the iterate.
type Use struct {
	// Weight is the weight of the iterate in an average.
	Weight float64
	// Measured is the norm of the gradient if it was released by itself; the rule Smallest then
	// compares iterates by it. Zero means that Smallest uses the norm of the estimate.
	Measured float64
	// Coins, if not nil, are public random numbers that are added to the estimate for this step only,
	// each multiplied by Deviation. They have mean 0 and standard deviation 1 and are independent of
	// all releases. The law attributes their variance to later estimates too, which overstates the
	// noise.
	Coins     []float64
	Deviation float64
}

// Regularized returns the estimate plus the regularizer's gradient at W, multiplied by the metric if
// there is one.
func (r *Run) Regularized(estimate []float64) []float64 { return r.regularized(estimate, r.W) }

func (r *Run) regularized(estimate, at []float64) []float64 {
	g := append([]float64(nil), estimate...)
	if r.metric.Dim() == 0 {
		r.plan.problem.AddRegularizer(g, at)
		return g
	}
	more := make([]float64, len(at))
	r.plan.problem.AddRegularizer(more, at)
	for j, v := range r.metric.Times(more) {
		g[j] += v
	}
	return g
}

// Extrapolate repeats the last move with the law's momentum of step t: it moves the iterate from w_t to
// y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1})).
func (r *Run) Extrapolate(t int) {
	beta := r.plan.law.Momentum(t)
	r.law.Momentum = append(r.law.Momentum, beta)
	w := append([]float64(nil), r.at...)
	for j, v := range r.last {
		r.at[j] += beta * (w[j] - v)
	}
	r.last = w
	r.plan.problem.Project(r.at)
	copy(r.W, r.at)
}

// Descend makes the step w_{t+1} = Proj(W - eta (estimate + grad reg(W))). If the run has rounds, it
// makes the round's step.
func (r *Run) Descend(e *Estimate, u Use) {
	keep, back, noise := r.mixed(e)
	estimate, noise := e.shaken(u, noise)
	total := r.total(keep, back, noise)
	if r.rounds != nil {
		eta, length := r.rounds.descend(r, estimate, u, math.Sqrt(total))
		r.took(keep, back, noise, eta)
		e.used = r.out.seen
		r.show(r.out.seen, length)
		return
	}
	g := r.regularized(estimate, r.at)
	length := Norm(g)
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
	r.late.visit(r, g, keep, total)
	r.took(keep, back, noise, eta)
	e.used = r.out.seen
	r.show(r.out.seen, length)
}

// towards returns the direction and the size of a step for the full gradient estimate g. noise is the
// standard deviation of a coordinate's noise in g.
func (r *Run) towards(g []float64, noise float64) (direction []float64, eta float64) {
	direction, eta = g, r.plan.law.Eta(r.out.seen)
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

// move subtracts eta*direction from the iterate. If the run was declared by Bounded, each coordinate
// moves by at most the Move of its law: longer steps are cut.
func (r *Run) move(direction []float64, eta float64) {
	if r.direction == nil {
		Descend(r.at, direction, eta)
		return
	}
	most := r.law.Move
	for j, v := range direction {
		r.at[j] -= min(max(eta*v, -most), most)
	}
}

// Look passes W to the rule Smallest with an estimate that no step follows.
func (r *Run) Look(e *Estimate) { r.out.look(r.at, Norm(r.regularized(e.g, r.at))) }

// total returns the variance of a coordinate's noise in an estimate. The estimate is keep times the
// estimate used back steps earlier, plus a release whose noise has standard deviation noise.
func (r *Run) total(keep float64, back int, noise float64) float64 {
	v := noise * noise
	if back <= len(r.variances) {
		v += keep * keep * r.variances[len(r.variances)-back]
	}
	return v
}

// took records a step of size eta in the law.
func (r *Run) took(keep float64, back int, noise, eta float64) {
	r.variances = append(r.variances, r.total(keep, back, noise))
	l := &r.law
	l.Back, l.Keep = append(l.Back, back), append(l.Keep, keep)
	l.Noise, l.StepSizes = append(l.Noise, noise), append(l.StepSizes, eta)
}

// Reach is Descend for loops that move the iterate and compute the result themselves. It records the
// point that a step reached, the norm of the estimate used, the noise of the last answer and the step
// size. The run does not know how such a loop mixes answers. The noise of the result is therefore
// stated only if the loop calls Bound.
func (r *Run) Reach(w []float64, gradientNorm, noise, eta float64) {
	copy(r.at, w)
	copy(r.W, w)
	r.took(0, 1, noise, eta)
	r.own = true
	r.out.seen++
	r.show(r.out.seen, gradientNorm)
}

func (r *Run) show(number int, gradientNorm float64) {
	if r.observe != nil {
		noise := 0.
		if k := len(r.variances); k > 0 {
			noise = math.Sqrt(r.variances[k-1] * float64(len(r.W)))
		}
		r.observe(Step{Number: number, Of: r.plan.summary.Steps, GradientNorm: gradientNorm, Noise: noise, Charged: r.charged, W: r.W})
	}
}

// Taken returns the number of steps made.
func (r *Run) Taken() int { return r.out.seen }

// End shows w_t as the result, which the loop found by comparing estimates. The returned error,
// returned by the body, stops the run there.
func (r *Run) End(gradientNorm float64, output string) error {
	r.show(r.out.seen+1, gradientNorm)
	r.out.ended = output
	return errEnd
}

func (r *Run) early() Result {
	res := Result{W: append([]float64(nil), r.at...), Steps: r.out.seen, Output: r.out.ended, Complete: true}
	return r.stated(res, nil, nil, r.out.seen+1)
}

// Result applies the output rule.
func (r *Run) Result() Result {
	res := r.out.result(r.at)
	res.Late = r.late.result()
	return r.stated(res, r.out.weightsOf(), nil, r.out.chosen())
}

// ResultAt is Result for loops that move the iterate themselves (see Reach).
func (r *Run) ResultAt(w []float64, complete bool) Result {
	res := Result{W: w, Steps: r.out.seen, Output: r.plan.summary.Output, Complete: complete}
	return r.stated(res, nil, nil, 0)
}

// stated adds the law to a result. If the loop moved the iterate itself, and set no bound or moved a
// coordinate of the result farther from the start than the bound allows, the law states no noise.
func (r *Run) stated(res Result, weights []float64, rounds []int, chosen int) Result {
	res.Law = r.law
	res.Law.Weights, res.Law.Rounds, res.Law.Chosen = weights, rounds, chosen
	most := float64(res.Law.Steps()) * res.Law.Move * (1 + 1e-9)
	far := false
	for j, v := range r.plan.problem.StartPoint() {
		far = far || !(math.Abs(res.W[j]-v) <= most)
	}
	res.Law.Unstated = r.unstated || r.own && (!(res.Law.Move > 0) || far)
	res.Law.Settle()
	return res
}

// In sets the metric (preconditioner) of the run. Estimates are then of the metric times the gradient,
// and steps go along the metric times an estimate.
func (r *Run) In(m query.Metric) { r.metric, r.law.Scales = m, scales(m) }

// Saw records the released second moment of the rows, whose metric the steps use (see In).
func (r *Run) Saw(m *Moment) { r.law.Moment = m }

// scales returns the length of each row of a metric: the factor by which the metric multiplies the
// noise in the weights of each feature.
func scales(m query.Metric) []float64 {
	out, row := make([]float64, m.Dim()), make([]int64, m.Dim())
	for j := range out {
		m.Row(row, j)
		var square float64
		for _, v := range row {
			square += float64(v) * float64(v)
		}
		out[j] = m.Step() * math.Sqrt(square)
	}
	return out
}

// Bounded makes steps go where direction says. direction may mix estimates in any way. A coordinate
// that would move farther than move in a step is cut to move, so that the law can state the bound.
func (r *Run) Bounded(move float64, direction func(g []float64) (direction []float64, eta float64)) {
	r.law.Move, r.direction = move, direction
}

// Bound states that the run's steps are no linear function of its estimates, and that a step moves a
// coordinate by at most move.
func (r *Run) Bound(move float64) { r.law.Move = move }

// Norm returns the Euclidean norm. It overflows only if the norm itself does.
func Norm(v []float64) float64 { return vector.Norm(v) }

// Descend sets w to w - eta g.
func Descend(w, g []float64, eta float64) {
	for j := range w {
		w[j] -= eta * g[j]
	}
}
