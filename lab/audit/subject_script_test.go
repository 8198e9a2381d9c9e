package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/querytest"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// scripted returns, for each loss and relation, runs that make every kind of query in every way: on
// all records, on drawn cohorts, in prefix sums of both mechanisms, on Poisson samples, and by
// selection. Later points are computed from earlier answers.
func scripted() ([]Subject, error) {
	const records, dim = 120, 3
	var list []Subject
	for _, name := range []string{"logistic", "tanh", "squared(0.5)", "slow-tail", "softmax(3)", "capped-absolute(0.5)"} {
		l, err := testloss.Parse(name)
		if err != nil {
			return nil, err
		}
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			b, err := account.NewBudget(8, 1e-5, relation)
			if err != nil {
				return nil, err
			}
			script := &script{loss: l, constants: l.Constants(), bounds: boundsOf(l.Constants(), dim),
				dim: loss.Parameters(l, dim), relation: relation, charge: b.Charge() / 200}
			base := Subject{Loss: l, Budget: b, Table: Generate(records, dim, l, 5), Seed: 2}
			for _, part := range []struct {
				name string
				run  func(context.Context, Oracle) (any, error)
			}{{"questions", script.questions}, {"cohorts", script.cohorts}, {"prefix sums", script.prefixes},
				{"selections", script.selections}} {
				s := base
				s.Name = fmt.Sprintf("%s, %s, %v", part.name, name, relation)
				s.Run = func(ctx context.Context, o Oracle, _ func(optimize.Step)) (any, error) { return part.run(ctx, o) }
				list = append(list, s)
			}
			if c := l.Constants(); relation == account.ReplaceOne && c.Curvature.Lo >= 0 && c.Curvature.Hi < math.Inf(1) &&
				c.Loose == "" && !c.ZeroMean && l.Target() != loss.Classes {
				s := base
				s.Name = fmt.Sprintf("passes, %s, %v", name, relation)
				s.Run = func(ctx context.Context, o Oracle, _ func(optimize.Step)) (any, error) { return script.passes(ctx, o) }
				list = append(list, s)
			}
			sampled, err := script.sampled(base, name)
			if err != nil {
				return nil, err
			}
			list = append(list, sampled)
		}
	}
	return list, nil
}

// script makes the queries of runs that are written by hand for the audit. A script is immutable, so every
// run starts in the same state.
type script struct {
	loss      loss.Loss
	constants loss.Constants
	bounds    querytest.Bounds
	// dim is the number of parameters.
	dim      int
	relation account.Relation
	charge   float64
}

// walk is the state of one run of a hand-written script: its answers, and two points that are
// computed from them.
type walk struct {
	script  *script
	w, prev []float64
	heard   []query.Release
}

func (s *script) begin() *walk {
	r := rand.New(rand.NewPCG(9, 9))
	return &walk{script: s, w: scaled(direction(r, s.dim), 1.5), prev: scaled(direction(r, s.dim), 1.3)}
}

// hear records an answer and moves the points at which later queries are made. The move is along the
// answer, plus a small step of alternating sign. Without the small step, moves would become shorter and
// shorter until rounding ends them, because the answer to a query for a difference is proportional to the
// length of the last move.
func (k *walk) hear(r query.Release) {
	k.heard = append(k.heard, r)
	next := make([]float64, len(k.w))
	for j := range next {
		fro := .02 * float64(1-2*((len(k.heard)+j)%2))
		next[j] = k.w[j] - .1*min(max(r.Mean[j%len(r.Mean)], -1), 1) + fro
	}
	k.prev, k.w = k.w, next
}

func (k *walk) ask(ctx context.Context, o Oracle, c query.Cohort, f querytest.Form) error {
	q, err := query.New(k.script.charge, f.Ask(c, k.w, k.prev, k.script.bounds)...)
	if err != nil {
		return err
	}
	r, err := o.Ask(ctx, q)
	if err != nil {
		return err
	}
	k.hear(r)
	return nil
}

func (s *script) questions(ctx context.Context, o Oracle) (any, error) {
	k := s.begin()
	for _, f := range forms(s.loss) {
		for range 2 {
			if err := k.ask(ctx, o, o.All(), f); err != nil {
				return k.heard, err
			}
		}
	}
	_, refused := o.Draw(0)
	if refused == nil {
		return k.heard, fmt.Errorf("a cohort of nobody was drawn")
	}
	p := optimize.Problem{Shape: optimize.Vector(s.dim), Constants: s.constants, Records: o.All().Size(),
		Relation: s.relation, Mu: 1}
	p.Kinked, _ = s.loss.(loss.Kinked)
	m, err := optimize.Measure{Charge: s.charge}.Ask(ctx, o, p, k.w)
	return []any{k.heard, m}, err
}

// draw draws a fresh cohort of a few records.
func (s *script) draw(o Oracle) (query.Cohort, error) {
	if s.relation == account.AddOrRemove {
		return o.DrawEach(.05)
	}
	return o.Draw(2)
}

func (s *script) cohorts(ctx context.Context, o Oracle) (any, error) {
	k := s.begin()
	for _, f := range forms(s.loss) {
		c, err := s.draw(o)
		if err != nil {
			return k.heard, err
		}
		if err := k.ask(ctx, o, c, f); err != nil {
			return k.heard, err
		}
	}
	return k.heard, nil
}

// prefixes opens a prefix sum for every form of query that allows one, under both noise mechanisms. The
// declared sensitivity is exactly the sensitivity of the first item.
func (s *script) prefixes(ctx context.Context, o Oracle) (any, error) {
	k := s.begin()
	for _, mechanism := range []query.Factorization{query.Tree, query.Toeplitz} {
		for _, f := range vectors() {
			if err := k.prefix(ctx, o, mechanism, f); err != nil {
				return k.heard, err
			}
		}
	}
	return k.heard, nil
}

func (k *walk) prefix(ctx context.Context, o Oracle, m query.Factorization, f querytest.Form) error {
	s := k.script
	first, err := s.draw(o)
	if err != nil {
		return err
	}
	q, err := query.New(s.charge, f.Ask(first, k.w, k.prev, s.bounds)...)
	if err != nil {
		return err
	}
	sensitivity := q.Clip() / first.Size()
	if s.relation == account.ReplaceOne {
		sensitivity *= 2
	}
	sum, err := o.OpenPrefix(query.Prefix{Factorization: m, Items: 5, Sensitivity: sensitivity, Charge: s.charge})
	if err != nil {
		return err
	}
	r, err := sum.Add(ctx, q.Terms()...)
	if err != nil {
		return err
	}
	if _, again := sum.Add(ctx, q.Terms()...); again == nil {
		return fmt.Errorf("a cohort was an item twice")
	}
	k.hear(r)
	// The second item often exceeds the declared sensitivity and is then refused.
	second, err := s.draw(o)
	if err != nil {
		return err
	}
	if r, err = sum.Add(ctx, f.Ask(second, k.w, k.prev, s.bounds)...); err == nil {
		k.hear(r)
	}
	return nil
}

// selections makes one private selection among three points for each form of query that scores a candidate.
// The queries are on all records and on a cohort, in turn.
func (s *script) selections(ctx context.Context, o Oracle) (any, error) {
	k := s.begin()
	var chosen []int
	c, err := s.draw(o)
	if err != nil {
		return chosen, err
	}
	for i, f := range numbers() {
		on := []query.Cohort{o.All(), c}[i%2]
		var candidates []query.Term
		for _, w := range [][]float64{k.w, k.prev, scaled(k.w, -1)} {
			candidates = append(candidates, f.Ask(on, w, k.prev, s.bounds)...)
		}
		sel, err := query.NewSelection(.1, candidates...)
		if err != nil {
			return chosen, err
		}
		best, err := o.Select(ctx, sel)
		if err != nil {
			return chosen, err
		}
		chosen = append(chosen, best)
		k.w, k.prev = k.prev, scaled(k.w, 1+.1*float64(best))
	}
	return chosen, nil
}

// passes makes passes of stable SGD (one step for each record, noise at the end) over cohorts:
// plain, regularized and projected.
func (s *script) passes(ctx context.Context, o Oracle) (any, error) {
	k := s.begin()
	step := .5 / s.constants.Curvature.Hi
	for _, p := range []query.Pass{
		{Step: step, Clip: s.constants.Lipschitz},
		{Step: step / 20, Clip: s.constants.Lipschitz / 10},
		{Step: step, Clip: s.constants.Lipschitz, Lambda: .1 * s.constants.Curvature.Hi, Linear: scaled(k.prev, .01),
			Radius: 2, Centre: k.prev},
	} {
		c, err := o.Draw(12)
		if err != nil {
			return k.heard, err
		}
		p.Start = k.w
		q, err := query.NewStable(s.charge, c, p)
		if err != nil {
			return k.heard, err
		}
		r, err := o.Stable(ctx, q)
		if err != nil {
			return k.heard, err
		}
		k.hear(r)
	}
	return k.heard, nil
}

// sampled returns a subject whose run makes queries on Poisson samples. base gives the table, the
// loss and the relation.
func (s *script) sampled(base Subject, name string) (Subject, error) {
	forms := append(formsOf(query.Sampled), mixed())
	schedule, err := account.CalibrateSchedule(context.Background(), base.Budget, 0,
		account.SampledSteps{NoiseMultiplier: 1, Sampling: .5, Count: len(forms)})
	if err != nil {
		return base, err
	}
	base.Name, base.Schedule = fmt.Sprintf("samples, %s, %v", name, s.relation), schedule
	base.Run = func(ctx context.Context, o Oracle, _ func(optimize.Step)) (any, error) {
		k := s.begin()
		for _, f := range forms {
			c, err := o.Sample()
			if err != nil {
				return k.heard, err
			}
			if err := k.ask(ctx, o, c, f); err != nil {
				return k.heard, err
			}
		}
		return k.heard, nil
	}
	return base, nil
}

// Subjects returns the subjects of the complete audit: every algorithm that package train can run, and
// every kind of query. Each is on a small generated table, under each relation that it supports.
func Subjects() ([]Subject, error) { return subjectsWith(variants()) }

// subjectsWith returns the subjects in which each algorithm runs with its defaults and with each of the
// given settings that it accepts, and the runs that make every kind of query.
func subjectsWith(settings []train.Settings) ([]Subject, error) {
	list, err := trained(settings)
	if err != nil {
		return nil, err
	}
	scripts, err := scripted()
	return append(list, scripts...), err
}
