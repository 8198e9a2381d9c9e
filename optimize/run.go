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

// Run is a plan being carried out: it asks, counts charges, moves the iterate,
// shows it to the output rule and to whoever observes, and writes down the law as
// it was realised. Loops are left with what their page says.
type Run struct {
	// W is the iterate, w_t, or y_t once Extrapolate has been called. Loops read it.
	W []float64
	// Direction, if not nil, says which way and how far a step goes on the full
	// gradient estimate, the regularizer's gradient included. nil means along it,
	// by the law's step size.
	Direction func(g []float64) (direction []float64, eta float64)
	// Metric, if not zero, is what steps are taken in: estimates are of the metric
	// times the gradient, and steps go along the metric times an estimate.
	Metric query.Metric
	// StepSizes, if not nil, are those of the steps in place of the law's, of runs whose
	// releases lead to others than were planned.
	StepSizes []float64

	ctx     context.Context
	oracle  Oracle
	plan    *Settled
	observe func(Step)
	out     *collector
	cohorts *dealer
	// totals are what records of each cohort have been charged.
	totals  map[uint64]float64
	charged float64
	law     Realised
	// last is w_{t-1}, of runs with momentum alone.
	last []float64
	// pace is of guarded runs alone.
	pace *Pace
	// variances are those of a coordinate's noise in each estimate.
	variances []float64
	late      late
}

// Begin starts a run at the problem's start.
func (s *Settled) Begin(ctx context.Context, o Oracle, observe func(Step)) *Run {
	r := &Run{
		W: s.problem.StartPoint(), ctx: ctx, oracle: o, plan: s, observe: observe,
		out: s.choice.begin(), totals: map[uint64]float64{},
	}
	if eta, safe := s.law.StepSize, 1/s.problem.Smoothness(); s.law.Guarded && eta > safe {
		r.pace = NewPace(eta, safe)
	}
	return r
}

// errEnd ends a run before all its steps, as it should.
var errEnd = errors.New("end")

// Steps carries out the plan's steps and returns the result; an error names the
// step.
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

// Loop is Steps for loops that count steps themselves.
func (r *Run) Loop(body func() error) (Result, error) {
	err := body()
	if errors.Is(err, errEnd) {
		return r.early(), nil
	}
	return r.Result(), r.Failed(err)
}

// Until is Loop for runs whose charges, and so whose length, follow what was
// released: they are complete when the body returns, or when the filter refuses a
// question.
func (r *Run) Until(body func() error) (Result, error) {
	err := body()
	if over := new(account.BudgetError); err == nil || errors.As(err, &over) {
		res := r.Result()
		res.Complete = true
		return res, nil
	}
	return r.Result(), r.Failed(err)
}

// Left is what the plan may still charge a record, by its own count: the session's
// filter may hold more, for other questions.
func (r *Run) Left() float64 { return r.plan.problem.Charge() - r.charged }

// Failed adds to an error, if there is one, the step on the way to which it came.
func (r *Run) Failed(err error) error {
	if err == nil {
		return nil
	}
	return stepError(r.plan.summary.Algorithm, r.out.seen, err)
}

// All returns the cohort of all records.
func (r *Run) All() query.Cohort { return r.oracle.All() }

// Sample draws the schedule's next sample.
func (r *Run) Sample() (query.Cohort, error) { return r.oracle.Sample() }

// Draw draws a cohort of the given size (see Cohorts).
func (r *Run) Draw(size float64) (query.Cohort, error) {
	if r.cohorts == nil {
		r.cohorts = newDealer(r.oracle, r.plan.problem)
	}
	return r.cohorts.draw(size)
}

// Ask asks for a weighted sum of terms at a charge: of the smoothed loss, if the
// problem's is and the kind can be.
func (r *Run) Ask(charge float64, terms ...query.Term) (query.Release, error) {
	q, err := query.New(charge, r.smoothed(terms)...)
	if err != nil {
		return query.Release{}, err
	}
	a, err := r.oracle.Ask(r.ctx, q)
	if err == nil {
		r.charge(q.Cohort(), a.Charge)
	}
	return a, err
}

// smoothed returns terms as they are asked: of the smoothed loss, if there is one and they
// say no smoothing of their own.
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

// Stable asks for a pass of stable SGD.
func (r *Run) Stable(q query.Stable) (query.Release, error) {
	a, err := r.oracle.Stable(r.ctx, q)
	if err == nil {
		r.charge(q.Cohort(), a.Charge)
	}
	return a, err
}

// charge counts what a cohort's records were charged.
func (r *Run) charge(c query.Cohort, charge float64) {
	if charge > 0 {
		r.totals[c.ID()] += charge
		r.charged = max(r.charged, r.totals[c.ID()])
	}
}

// Use says how an estimate came about and what the iterate it is used at weighs.
type Use struct {
	// Keep and Back say that it is Keep times that of Back steps before, zero
	// meaning 1, plus an answer with noise of standard deviation Noise a
	// coordinate.
	Keep  float64
	Back  int
	Noise float64
	// Weight is what the iterate weighs in an average.
	Weight float64
	// Measured is the norm of the gradient as it was released by itself, by which
	// Smallest goes then; zero where it was not, for the estimate's.
	Measured float64
}

// Regularized returns the estimate with the regularizer's gradient at W, in the
// metric if there is one.
func (r *Run) Regularized(estimate []float64) []float64 {
	g := append([]float64(nil), estimate...)
	if r.Metric.Dim() == 0 {
		r.plan.problem.AddRegularizer(g, r.W)
		return g
	}
	more := make([]float64, len(r.W))
	r.plan.problem.AddRegularizer(more, r.W)
	for j, v := range r.Metric.Times(more) {
		g[j] += v
	}
	return g
}

// Extrapolate moves the iterate on by as much of its last move as the law says of
// step t: from w_t to y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1})).
func (r *Run) Extrapolate(t int) {
	beta := r.plan.law.Momentum(t)
	r.law.Momentum = append(r.law.Momentum, beta)
	w := append([]float64(nil), r.W...)
	for j, v := range r.last {
		r.W[j] += beta * (w[j] - v)
	}
	r.last = w
	r.plan.problem.Project(r.W)
}

// Descend takes the step w_{t+1} = Proj(W - eta (estimate + grad reg(W))).
func (r *Run) Descend(estimate []float64, u Use) {
	g := r.Regularized(estimate)
	length := Norm(g)
	direction, eta := g, r.plan.law.Eta(r.out.seen)
	if r.StepSizes != nil {
		eta = r.StepSizes[r.out.seen]
	}
	switch {
	case r.Metric.Dim() > 0:
		direction = r.Metric.Times(g)
	case r.Direction != nil:
		direction, eta = r.Direction(g)
	case r.pace != nil:
		eta = r.pace.Next(g, math.Sqrt(r.noise(u)))
	}
	judged := length
	if u.Measured > 0 {
		judged = u.Measured
	}
	if !r.out.reached {
		r.out.visit(r.W, u.Weight, judged)
	}
	Descend(r.W, direction, eta)
	r.plan.problem.Project(r.W)
	if r.out.reached {
		r.out.visit(r.W, u.Weight, judged)
	}
	r.late.visit(r, g, u)
	r.Took(u, eta)
	r.show(r.out.seen, length)
}

// Look offers W to the rule Smallest where an estimate there led to no step.
func (r *Run) Look(estimate []float64) { r.out.look(r.W, Norm(r.Regularized(estimate))) }

// noise is the variance of a coordinate's noise in the next estimate.
func (r *Run) noise(u Use) float64 {
	v := u.Noise * u.Noise
	if back := max(u.Back, 1); back <= len(r.variances) {
		v += u.Keep * u.Keep * r.variances[len(r.variances)-back]
	}
	return v
}

// Took writes down that a step of size eta used an estimate. Descend calls it.
func (r *Run) Took(u Use, eta float64) {
	r.variances = append(r.variances, r.noise(u))
	l := &r.law
	l.Back, l.Keep = append(l.Back, max(u.Back, 1)), append(l.Keep, u.Keep)
	l.Noise, l.StepSizes = append(l.Noise, u.Noise), append(l.StepSizes, eta)
}

// Reach is Descend for loops that move the iterate and keep their own result:
// it says where a step came, and by an estimate of which norm.
func (r *Run) Reach(w []float64, gradientNorm float64) {
	copy(r.W, w)
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

// Taken is how many steps were taken.
func (r *Run) Taken() int { return r.out.seen }

// End shows w_t as the result, found by looking at estimates, and, as the error
// of a step, ends the run there.
func (r *Run) End(gradientNorm float64, output string) error {
	r.show(r.out.seen+1, gradientNorm)
	r.out.ended = output
	return errEnd
}

func (r *Run) early() Result {
	res := Result{W: append([]float64(nil), r.W...), Steps: r.out.seen, Output: r.out.ended, Complete: true, Law: r.law}
	res.Law.Chosen = r.out.seen + 1
	res.Law.settle()
	return res
}

// Result applies the output rule.
func (r *Run) Result() Result {
	res := r.out.result(r.W)
	res.Law, res.Late = r.law, r.late.result()
	res.Law.Weights, res.Law.Chosen = r.out.weightsOf(), r.out.chosen()
	res.Law.settle()
	return res
}

// ResultAt is Result for loops that keep their own: w is a weighted average of
// what the rounds of steps reached, or was chosen among so many points by their
// estimates.
func (r *Run) ResultAt(w []float64, complete bool, weights []float64, rounds []int, chosen int) Result {
	res := Result{W: w, Steps: r.out.seen, Output: r.plan.summary.Output, Complete: complete, Law: r.law}
	res.Law.Weights, res.Law.Rounds, res.Law.Chosen = weights, rounds, chosen
	res.Law.settle()
	return res
}

// Scale says by how much more the noise is in each feature's weights than it would be
// without a metric.
func (r *Run) Scale(scales []float64) { r.law.Scales = scales }

// Bound says that the run's steps are no linear function of its estimates, but
// move a coordinate by at most this.
func (r *Run) Bound(move float64) { r.law.Move = move }

func (l *Realised) settle() { _, l.WeightNoise = l.Noises() }

// Norm is the Euclidean norm, which does not overflow before its result does.
func Norm(v []float64) float64 { return vector.Norm(v) }

// Descend sets w to w - eta g.
func Descend(w, g []float64, eta float64) {
	for j := range w {
		w[j] -= eta * g[j]
	}
}
