package optimize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Selected adds an output rule to any algorithm. It scores points along the algorithm's run, and the run's
// own result, on held-out records that the algorithm never used. The exponential mechanism (McSherry and
// Talwar 2007) draws a point with a low score.
//
// The held-out records are drawn first. The algorithm uses the other records only. The selection and the
// algorithm can each be charged the whole budget, since releases on disjoint cohorts compose in parallel.
//
// Guarantee: mu-GDP. Let n_held be the number of held-out records and epsilon the parameter of the exponential
// mechanism. With probability 1-p the score of the drawn point exceeds the lowest of the K scores by at most (4
// L0/(n_held epsilon)) log(K/p), or half of it under add-or-remove (McSherry and Talwar 2007, Theorem 6). A score
// differs from its value on all records by about L0/sqrt(n_held), since it is computed on a sample.
//
// The selection helps if some iterate of a run is better than the iterate that the algorithm's own output rule chooses.
// Examples are algorithms whose theorem is about some iterate or a random iterate, and runs that visit saddles or
// diverge at the end. The selection makes the result of a good output rule worse, since the algorithm has fewer records
// and the scores are less precise than averages of released gradients. It is therefore no default. The score ByGradient
// cannot distinguish a saddle from a minimum, and the score ByValue can. The score BySecondOrder can if the run left
// the saddle in about the direction of the run's result.
//
// The algorithm may either make queries on all its records or draw cohorts. Plan returns an error for
// algorithms on Poisson samples, since samples are drawn from all records.
//
// A Selected in which only Of is set holds out a tenth of the records and scores 8 points by gradient
// norm.
type Selected struct {
	// Of is the algorithm from whose run the points come.
	Of Algorithm
	// Share is the share of the records that is held out, above 0 and below 1. Zero means .1.
	Share float64 `yaml:"held_out"`
	// Candidates is the number of evenly spaced points of the run that are scored, in addition to the
	// run's result. Zero means 8.
	Candidates int `yaml:"candidates"`
	// By selects the score by which points are compared. gradient is the norm of the mean gradient. value is the mean
	// loss. second-order is the norm of the mean gradient, among points whose released curvature shows no saddle. Zero
	// means gradient.
	By Score `yaml:"score"`
}

// Score is the quantity by which Selected compares points.
type Score uint8

const (
	// ByGradient is the norm of the mean of the clipped gradients, with the regularizer's gradient
	// added.
	ByGradient Score = iota
	// ByValue is the mean loss, with each record's loss clipped to [0, 2 F0], where F0 bounds the initial
	// gap of the mean loss. A regularizer cannot be added to this score, so Plan returns an error for a
	// problem with a regularizer.
	ByValue
	// BySecondOrder is ByGradient among the points whose released curvature, along the direction to the
	// run's result, is not below zero by more than noise explains (see ChooseCurved and TowardsEachOther).
	BySecondOrder
)

var scoreNames = [...]string{"gradient", "value", "second-order"}

func (s Score) String() string { return NameOf(scoreNames[:], "score", uint8(s)) }

// selectedPlan is the plan of a Selected. inner is the plan of the algorithm whose points are scored.
type selectedPlan struct {
	problem    Problem
	summary    Summary
	inner      Plan
	held       float64 // number of records held out
	candidates int
	by         Score
	epsilon    float64
}

// mostCandidates is the largest number of candidates. The limit bounds the time: each candidate costs a
// pass over the held-out records.
const mostCandidates = 10_000

// Plan plans the algorithm for the records that are not held out, and plans the selection. It returns an
// error if p is not valid, if a setting is out of range, or if p does not allow the score. It also returns
// an error if the algorithm computes releases on Poisson samples, which are drawn from all records.
func (c Selected) Plan(ctx context.Context, p Problem) (Plan, error) {
	if err := p.ValidateKinked(); err != nil {
		return nil, err
	}
	if c.Of == nil {
		return nil, errors.New("optimize: selected: of: must be an algorithm")
	}
	c.Share = cmp.Or(c.Share, .1)
	c.Candidates = cmp.Or(c.Candidates, 8)
	switch {
	case !(c.Share > 0 && c.Share < 1):
		return nil, fmt.Errorf("optimize: selected: share = %v: must be > 0 and < 1, or left out for .1", c.Share)
	case c.Candidates < 1 || c.Candidates > mostCandidates:
		return nil, fmt.Errorf("optimize: selected: candidates = %d: must be between 1 and %d, or left out for 8",
			c.Candidates,
			mostCandidates)
	case int(c.By) >= len(scoreNames):
		return nil, fmt.Errorf("optimize: selected: by = %v: must be one of %v", c.By, scoreNames)
	case c.By == BySecondOrder && math.IsInf(p.Constants.Curvature.Hi-p.Constants.Curvature.Lo, 0):
		return nil, errors.New("optimize: selected: by = second-order: the curvature must have a bound, and has none " +
			"where a loss's slope jumps")
	case c.By == BySecondOrder && !p.Products:
		return nil, errors.New("optimize: selected: by = second-order: the loss must tell products of its Hessian (a " +
			"method HessianVector; of networks, those with tanh have it)")
	case c.By == ByValue && p.Regularizer != nil && p.Regularizer.Smoothness() > 0:
		return nil, fmt.Errorf("optimize: selected: by = value: regularizer %s: must be none, since it cannot be "+
			"added to the scores", p.Regularizer.Name())
	}
	held, rest := p.Held(c.Share), p
	rest.Records = p.Records - held
	if !(rest.Records > 0) {
		return nil, fmt.Errorf("optimize: selected: share = %v: must leave some of the %v records", c.Share, p.Records)
	}
	epsilon, err := selectionEpsilon(p.Mu)
	if err != nil {
		return nil, err
	}
	plan, err := c.Of.Plan(ctx, rest)
	if err != nil {
		return nil, err
	}
	if plan.Needs().Schedule != nil {
		return nil, fmt.Errorf("optimize: selected: %s samples everybody, the held-out records too: must be an "+
			"algorithm that asks about given records", plan.Summary().Algorithm)
	}
	out := &selectedPlan{
		problem: p, summary: plan.Summary(), inner: plan, held: held, candidates: c.Candidates, by: c.By, epsilon: epsilon,
	}
	what, clip := "gradient norms", p.Constants.Lipschitz
	switch c.By {
	case ByValue:
		what, clip = "mean losses", p.Constants.InitialGap
	case BySecondOrder:
		// Half of the charge pays for curvatures.
		if out.epsilon, err = selectionEpsilon(p.Mu / math.Sqrt2); err != nil {
			return nil, err
		}
		epsilon = out.epsilon
	}
	// The exponential mechanism adds Gumbel noise of this scale to each score.
	scale := 2 * p.Neighbours() * clip / held / epsilon
	out.summary.Charges += fmt.Sprintf("; selection among up to %d points on %.6g records held out, epsilon %.3g: %s "+
		"that differ by less than %.2g are hardly told apart",
		c.Candidates+1, held, epsilon, what, scale)
	out.summary.Output = fmt.Sprintf("selected by %s; of the run itself: %s", c.By, out.summary.Output)
	out.summary.Effective, out.summary.Floor = p.Effective(), p.Floor()
	out.summary.Passes = (out.summary.Passes*rest.Records + float64(c.Candidates+1)*held) / p.Records
	return out, nil
}

// selectionEpsilon returns nearly the largest epsilon, but at most 16, for which a draw by the exponential
// mechanism is mu-GDP. It starts at the exact solution 2 log(Phi(mu/2)/Phi(-mu/2)), where Phi is the normal
// distribution function, and reduces epsilon until mechanism.SelectionMu(epsilon) is at most mu. It returns
// an error if mu does not allow an epsilon of at least 2^-40.
func selectionEpsilon(mu float64) (float64, error) {
	most := mu * math.Sqrt(usable)
	tail := math.Erfc(mu/2/math.Sqrt2) / 2
	epsilon := min(2*(math.Log1p(-tail)-math.Log(tail)), 16)
	for range 60 {
		if !(epsilon >= 0x1p-40) {
			break
		}
		charged, err := mechanism.SelectionMu(epsilon)
		if err != nil {
			return 0, err
		}
		if charged <= most {
			return epsilon, nil
		}
		epsilon *= 1 - 0x1p-20
	}
	return 0, fmt.Errorf("optimize: selected: mu = %v: must allow a selection, of epsilon 2^-40 at least", mu)
}

// Summary describes the plan.
func (s *selectedPlan) Summary() Summary { return s.summary }

// Needs returns the needs of the algorithm, with cohorts and selection added.
func (s *selectedPlan) Needs() Needs {
	n := s.inner.Needs()
	n.Cohorts, n.Selection = true, true
	return n
}

// Properties returns the algorithm's properties. Averaged is false, since a selected point is no
// average.
func (s *selectedPlan) Properties() Properties {
	p := s.inner.Properties()
	p.Averaged = false
	return p
}

// Workload returns the algorithm's workload on the records that are not held out, and that of the selection on the
// others.
func (s *selectedPlan) Workload() Workload {
	held, points := s.held/s.problem.Records, float64(s.candidates+1)
	w := s.inner.Workload().on(1 - held)
	switch s.by {
	case ByValue:
		return w.Count(query.Value, points, held)
	case BySecondOrder:
		w = w.Count(query.CurvatureAlong, points, held)
	}
	return w.Count(query.Norm, points, held)
}

// Run runs the algorithm on the records that are not held out, and then selects a point on the records that
// are held out. observe is called after every step of the algorithm.
func (s *selectedPlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	w := s.problem.StartPoint()
	records := newDealer(o, s.problem)
	held, err := records.draw(s.held)
	if err != nil {
		return Result{W: w, Output: s.summary.Output}, fmt.Errorf("selected: %w", err)
	}
	rest, err := newRest(o, records, s.inner.Needs())
	if err != nil {
		return Result{W: w, Output: s.summary.Output}, fmt.Errorf("selected: %w", err)
	}
	kept := collected{most: s.candidates, stride: 1}
	result, err := s.inner.Run(ctx, rest, func(step Step) {
		kept.visit(step)
		if observe != nil {
			observe(step)
		}
	})
	if err != nil {
		return result, err
	}
	kept.end()
	kept.add(result.W, "the run's own result, "+result.Output)
	if len(kept.points) < 2 {
		return result, nil
	}
	k, curved, err := s.choose(ctx, o, held, kept.points)
	if err != nil {
		result.Complete = false
		return result, fmt.Errorf("selected: %w", err)
	}
	result.W, result.Curvature = kept.points[k], curved
	result.Trace = result.Trace.ChosenAmong(len(kept.points))
	result.Output = fmt.Sprintf("selected by %s among %d points: %s", s.by, len(kept.points), kept.names[k])
	return result, nil
}

// choose draws the index of one of the points, with a low score on the held-out records. For the score
// BySecondOrder it also returns the released curvature at this point.
func (s *selectedPlan) choose(ctx context.Context, o Oracle, held query.Cohort, points [][]float64) (int, *Curved,
	error) {
	if s.by == BySecondOrder {
		list := vector.Map(points, func(w []float64) Candidate { return Candidate{W: w} })
		TowardsEachOther(list, len(list)-1)
		k, known, err := ChooseCurved(ctx, o, s.problem, held, s.problem.Mu, 0, list)
		if err != nil {
			return 0, nil, err
		}
		return k, known[k].OrNil(), nil
	}
	terms := make([]query.Term, len(points))
	for i, w := range points {
		if s.by == ByValue {
			f0 := s.problem.Constants.InitialGap
			terms[i] = query.ValueAt(held, w, f0, f0)
			continue
		}
		terms[i] = s.problem.NormAt(held, w, s.problem.Constants.Lipschitz)
	}
	k, err := drawn(ctx, o, s.epsilon, terms)
	return k, nil, err
}

// drawn draws the index of a query term with a low value, by the exponential mechanism with parameter
// epsilon.
func drawn(ctx context.Context, o Oracle, epsilon float64, terms []query.Term) (int, error) {
	q, err := query.NewSelection(epsilon, terms...)
	if err != nil {
		return 0, err
	}
	k, err := o.Select(ctx, q)
	if err == nil && (k < 0 || k >= len(terms)) {
		err = errors.New("the oracle chose none of the candidates")
	}
	return k, err
}

// collected keeps distinct released points of a run: at most as many as the field most states, and then the
// run's own result.
type collected struct {
	most   int
	points [][]float64
	names  []string
	// spare has the iterates after every stride-th step, for runs that end before the last step of their plan. last is
	// the number of the last step made. whole means that the last step made was the plan's last step.
	spare  []numbered
	stride int
	last   int
	whole  bool
}

// numbered is an iterate with the number of the step that led to it.
type numbered struct {
	step int
	w    []float64
}

// visit receives the iterate after each step. It keeps in points the iterates after evenly spaced steps of
// the plan, as many as the field most states. It keeps in spare evenly spaced iterates of all steps so far,
// fewer than twice as many.
func (c *collected) visit(s Step) {
	if s.Number <= s.Of && s.Number*c.most/s.Of > (s.Number-1)*c.most/s.Of {
		c.add(s.W, fmt.Sprintf("iterate %d of %d", s.Number, s.Of))
	}
	c.last, c.whole = s.Number, s.Number == s.Of
	if s.Number%c.stride != 0 {
		return
	}
	if c.spare = append(c.spare, numbered{s.Number, slices.Clone(s.W)}); len(c.spare) < 2*c.most {
		return
	}
	c.stride *= 2
	c.spare = slices.DeleteFunc(c.spare, func(p numbered) bool { return p.step%c.stride != 0 })
}

// end is called after the run. If the run ended before its plan did, end replaces the kept points by
// points evenly spaced over the steps that were actually made.
func (c *collected) end() {
	if c.whole {
		return
	}
	c.points, c.names = nil, nil
	for i, p := range c.spare {
		if k := len(c.spare); k <= c.most || (i+1)*c.most/k > i*c.most/k {
			c.add(p.w, fmt.Sprintf("iterate %d of %d", p.step, c.last))
		}
	}
}

func (c *collected) add(w []float64, name string) {
	if slices.ContainsFunc(c.points, func(p []float64) bool { return slices.Equal(p, w) }) {
		return
	}
	c.points, c.names = append(c.points, slices.Clone(w)), append(c.names, name)
}

// NormSelection chooses one of several released points and releases the norm of the mean gradient at the chosen point.
// It prefers points where this norm is small. If the problem has a smoothing of radius r, the gradient is the gradient
// of the smoothed loss. A point at which this gradient has norm b is (r, b)-stationary in Goldstein's sense.
//
// The point is drawn by the exponential mechanism, which takes half of the charge. The norm takes the other
// half. With fewer than two points nothing is drawn, and the norm takes the whole charge. The norm is
// released at the chosen point only. If the norms at all points were released, their noise would grow with
// the number of points. The noise of the exponential mechanism does not grow with this number.
type NormSelection struct {
	mu, epsilon float64
}

// NewNormSelection returns a NormSelection that charges a record at most mu^2 for its two releases together. It returns an
// error if mu is too small for a selection by the exponential mechanism.
func NewNormSelection(mu float64) (NormSelection, error) {
	epsilon, err := selectionEpsilon(mu / math.Sqrt2)
	return NormSelection{mu, epsilon}, err
}

// Epsilon returns the parameter of the exponential mechanism.
func (l NormSelection) Epsilon() float64 { return l.epsilon }

// Charge returns the most that a record is charged for a NormSelection, as a part of the budget mu^2.
func (l NormSelection) Charge() float64 { return l.mu * l.mu }

// Choose releases the index k of one of the points, and the norm of the mean gradient at this point over the records of
// the cohort c, with the regularizer's gradient added. Each record's gradient is clipped at the norm clip.
func (l NormSelection) Choose(r *Run, c query.Cohort, clip float64, points [][]float64) (k int, found *SelectedNorm, err error) {
	p := r.plan.problem
	terms := vector.Map(points, func(w []float64) query.Term { return p.NormAt(c, w, clip) })
	terms = r.smoothed(terms)
	charge := l.Charge() * usable
	if len(points) > 1 {
		if k, err = drawn(r.ctx, r.oracle, l.epsilon, terms); err != nil {
			return 0, nil, err
		}
		mu, err := mechanism.SelectionMu(l.epsilon)
		if err != nil {
			return 0, nil, err
		}
		r.charge(c, mu*mu)
		charge /= 2
	}
	a, err := r.Ask(charge, terms[k])
	if err != nil {
		return 0, nil, err
	}
	return k, &SelectedNorm{GradientNorm: max(a.Mean[0], 0), Sigma: a.Sigma, Radius: p.Smoothing.Radius, Among: len(points)}, nil
}
