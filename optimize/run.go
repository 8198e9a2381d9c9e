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
	// W is a copy of the iterate, w_t, or y_t once Extrapolate has been called. Loops
	// read it.
	W []float64
	// Eta, if not nil, says how far a step goes along the full gradient estimate, the
	// regularizer's gradient included, by that and by the deviation of a coordinate's
	// noise in it. nil means by the law's step size.
	Eta func(g []float64, noise float64) float64
	// StepSizes, if not nil, are those of the steps in place of the law's, of runs whose
	// releases lead to others than were planned.
	StepSizes []float64

	// at is the iterate.
	at []float64
	// metric, if not zero, is what steps are taken in (see In).
	metric query.Metric
	// direction, if not nil, is where steps go in place of the estimate, no
	// coordinate farther than the law's Move (see Bounded).
	direction func(g []float64) (direction []float64, eta float64)
	// rounds are of runs that have any (see Round).
	rounds *rounds
	// unstated says that the law has no words for what the run does, own that the loop
	// moves the iterate by itself.
	unstated, own bool

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
		W: s.problem.StartPoint(), at: s.problem.StartPoint(), ctx: ctx, oracle: o, plan: s, observe: observe,
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
func (r *Run) Stable(q query.Stable) (Answer, error) {
	a, err := r.oracle.Stable(r.ctx, q)
	if err == nil {
		r.charge(q.Cohort(), a.Charge)
	}
	return newAnswer(a), err
}

// charge counts what a cohort's records were charged.
func (r *Run) charge(c query.Cohort, charge float64) {
	if charge > 0 {
		r.totals[c.ID()] += charge
		r.charged = max(r.charged, r.totals[c.ID()])
	}
}

// Use says how the iterate counts at which an estimate is used.
type Use struct {
	// Weight is what the iterate weighs in an average.
	Weight float64
	// Measured is the norm of the gradient as it was released by itself, by which
	// Smallest goes then; zero where it was not, for the estimate's.
	Measured float64
	// Coins, if not nil, are added to the estimate for this step alone, Deviation times
	// each: they have mean 0, deviation 1, and are independent of everything released.
	// The law says of later estimates, too, that they have them, which is more.
	Coins     []float64
	Deviation float64
}

// Regularized returns the estimate with the regularizer's gradient at W, in the
// metric if there is one.
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

// Extrapolate moves the iterate on by as much of its last move as the law says of
// step t: from w_t to y_t = Proj(w_t + Momentum(t) (w_t - w_{t-1})).
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

// Descend takes the step w_{t+1} = Proj(W - eta (estimate + grad reg(W))): the round's,
// if there are rounds.
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

// towards says which way a step goes, and how far, on the full gradient estimate, whose
// noise has a deviation.
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

// move takes the iterate there: where directions are bounded, no coordinate farther than
// the law's Move.
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

// Look offers W to the rule Smallest where an estimate there led to no step.
func (r *Run) Look(e *Estimate) { r.out.look(r.at, Norm(r.regularized(e.g, r.at))) }

// total is the variance of a coordinate's noise in an estimate that is keep times that of
// back steps before plus a release of deviation noise.
func (r *Run) total(keep float64, back int, noise float64) float64 {
	v := noise * noise
	if back <= len(r.variances) {
		v += keep * keep * r.variances[len(r.variances)-back]
	}
	return v
}

// took writes down that a step of size eta used an estimate.
func (r *Run) took(keep float64, back int, noise, eta float64) {
	r.variances = append(r.variances, r.total(keep, back, noise))
	l := &r.law
	l.Back, l.Keep = append(l.Back, back), append(l.Keep, keep)
	l.Noise, l.StepSizes = append(l.Noise, noise), append(l.StepSizes, eta)
}

// Reach is Descend for loops that move the iterate and keep their own result: it says
// where a step came, on an estimate of which norm and of which noise in the last answer,
// and by which step size. How such a loop mixes answers is not known, so that the noise of
// its result is stated by its Bound, or not at all.
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
	res := Result{W: append([]float64(nil), r.at...), Steps: r.out.seen, Output: r.out.ended, Complete: true}
	return r.stated(res, nil, nil, r.out.seen+1)
}

// Result applies the output rule.
func (r *Run) Result() Result {
	res := r.out.result(r.at)
	res.Late = r.late.result()
	return r.stated(res, r.out.weightsOf(), nil, r.out.chosen())
}

// ResultAt is Result for loops that move the iterate by themselves (see Reach).
func (r *Run) ResultAt(w []float64, complete bool) Result {
	res := Result{W: w, Steps: r.out.seen, Output: r.plan.summary.Output, Complete: complete}
	return r.stated(res, nil, nil, 0)
}

// stated adds the law to a result. A bound is one: where the result is farther from the
// start than it says, nothing is stated.
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

// In has steps taken in a metric: estimates are of the metric times the gradient, and
// steps go along the metric times an estimate.
func (r *Run) In(m query.Metric) { r.metric, r.law.Scales = m, scales(m) }

// Saw records that the rows' second moment was released, and that steps are taken in its
// metric (see In).
func (r *Run) Saw(m *Moment) { r.law.Moment = m }

// scales returns the length of each row of a metric: by how much more the noise is in
// each feature's weights than it would be without.
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

// Bounded has steps go where direction says, which may mix estimates as it likes, but no
// coordinate farther than move: what lies beyond is cut off, so that the bound holds and
// the law can state it.
func (r *Run) Bounded(move float64, direction func(g []float64) (direction []float64, eta float64)) {
	r.law.Move, r.direction = move, direction
}

// Bound says that the run's steps are no linear function of its estimates, but
// move a coordinate by at most this.
func (r *Run) Bound(move float64) { r.law.Move = move }

// Norm is the Euclidean norm, which does not overflow before its result does.
func Norm(v []float64) float64 { return vector.Norm(v) }

// Descend sets w to w - eta g.
func Descend(w, g []float64, eta float64) {
	for j := range w {
		w[j] -= eta * g[j]
	}
}
