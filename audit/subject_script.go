package audit

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// form is a way to ask: the terms of one question about a cohort at two points,
// for a loss with the given constants.
type form struct {
	name string
	ask  func(c query.Cohort, w, prev []float64, k loss.Constants) []query.Term
}

// vectors are the forms whose answer has a coordinate for each feature.
func vectors() []form {
	type points = []float64
	ball := func(k loss.Constants) (lo, hi float64) { return min(0, k.Curvature.Lo), max(0, k.Curvature.Hi) }
	around := func(c query.Cohort, w, prev points, k loss.Constants, fraction float64) query.Term {
		lo, hi := ball(k)
		far := query.DifferenceByCurvature(c, w, prev, lo, hi)
		return query.DifferenceWithin(c, w, prev, fraction*max(-lo, hi)*far.Distance())
	}
	return []form{
		{"gradient", func(c query.Cohort, w, prev points, k loss.Constants) []query.Term {
			return []query.Term{query.GradientAt(c, w, k.Lipschitz)}
		}},
		{"gradient, short clip", func(c query.Cohort, w, prev points, k loss.Constants) []query.Term {
			return []query.Term{query.GradientAt(c, w, k.Lipschitz/20)}
		}},
		{"difference by curvature", func(c query.Cohort, w, prev points, k loss.Constants) []query.Term {
			lo, hi := ball(k)
			return []query.Term{query.DifferenceByCurvature(c, w, prev, lo, hi)}
		}},
		{"difference around 0", func(c query.Cohort, w, prev points, k loss.Constants) []query.Term {
			return []query.Term{around(c, w, prev, k, 1)}
		}},
		{"difference around 0, part of the radius", func(c query.Cohort, w, prev points, k loss.Constants) []query.Term {
			return []query.Term{around(c, w, prev, k, .2)}
		}},
		{"mix", func(c query.Cohort, w, prev points, k loss.Constants) []query.Term {
			lo, hi := ball(k)
			return []query.Term{
				query.GradientAt(c, w, k.Lipschitz).Weighted(.3),
				query.DifferenceByCurvature(c, w, prev, lo, hi).Weighted(.7),
			}
		}},
	}
}

// numbers are the forms whose answer is one number.
func numbers() []form {
	return []form{
		{"value", func(c query.Cohort, w, prev []float64, k loss.Constants) []query.Term {
			return []query.Term{query.ValueAt(c, w, k.Range, k.Range)}
		}},
		{"value, short clip", func(c query.Cohort, w, prev []float64, k loss.Constants) []query.Term {
			return []query.Term{query.ValueAt(c, w, k.Range/2, k.Range/20)}
		}},
		{"norm", func(c query.Cohort, w, prev []float64, k loss.Constants) []query.Term {
			return []query.Term{query.NormAt(c, w, k.Lipschitz, nil)}
		}},
		{"norm, shifted", func(c query.Cohort, w, prev []float64, k loss.Constants) []query.Term {
			return []query.Term{query.NormAt(c, w, k.Lipschitz/5, prev)}
		}},
	}
}

// scripted returns, for each loss and relation, runs that ask every kind of
// question in every way: of all records, of drawn cohorts, in prefix sums of
// both mechanisms, of Poisson samples, and by selection. Points follow from the
// answers before them.
func scripted() ([]Subject, error) {
	const records, dim = 120, 3
	var list []Subject
	for _, name := range []string{"logistic", "tanh", "squared(0.5)", "slow-tail"} {
		l, err := loss.Parse(name)
		if err != nil {
			return nil, err
		}
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			b, err := account.NewBudget(8, 1e-5, relation)
			if err != nil {
				return nil, err
			}
			script := &script{constants: l.Constants(), dim: dim, relation: relation, charge: b.Charge() / 200}
			base := Subject{Loss: l, Budget: b, Table: Generate(records, dim, l, 5), Seed: 2}
			for _, part := range []struct {
				name string
				run  func(context.Context, Oracle) (any, error)
			}{{"questions", script.questions}, {"cohorts", script.cohorts}, {"prefix sums", script.prefixes}, {"selections", script.selections}} {
				s := base
				s.Name = fmt.Sprintf("%s, %s, %v", part.name, name, relation)
				s.Run = func(ctx context.Context, o Oracle, _ func(optimize.Step)) (any, error) { return part.run(ctx, o) }
				list = append(list, s)
			}
			if c := l.Constants(); relation == account.ReplaceOne && c.Curvature.Lo >= 0 && c.Loose == "" && !c.ZeroMean {
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

// script asks questions. It is immutable: each run begins where every run does.
type script struct {
	constants loss.Constants
	dim       int
	relation  account.Relation
	charge    float64
}

// walk is where a run of a script is: two points that follow the answers.
type walk struct {
	script  *script
	w, prev []float64
	heard   []query.Release
}

func (s *script) begin() *walk {
	r := rand.New(rand.NewPCG(9, 9))
	return &walk{script: s, w: scaled(direction(r, s.dim), 1.5), prev: scaled(direction(r, s.dim), 1.3)}
}

// hear takes an answer in and moves on.
func (k *walk) hear(r query.Release) {
	k.heard = append(k.heard, r)
	next := make([]float64, len(k.w))
	for j := range next {
		next[j] = k.w[j] - .1*min(max(r.Mean[j%len(r.Mean)], -1), 1)
	}
	k.prev, k.w = k.w, next
}

func (k *walk) ask(ctx context.Context, o Oracle, c query.Cohort, f form) error {
	q, err := query.New(k.script.charge, f.ask(c, k.w, k.prev, k.script.constants)...)
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
	for _, f := range append(vectors(), numbers()...) {
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
	p := optimize.Problem{Shape: optimize.Vector(s.dim), Constants: s.constants, Records: o.All().Size(), Relation: s.relation, Mu: 1}
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
	for _, f := range append(vectors(), numbers()...) {
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

// prefixes opens a prefix sum for every form and both mechanisms, which declares
// just the sensitivity of its first item.
func (s *script) prefixes(ctx context.Context, o Oracle) (any, error) {
	k := s.begin()
	for _, mechanism := range []query.Mechanism{query.Tree, query.Toeplitz} {
		for _, f := range vectors() {
			if err := k.prefix(ctx, o, mechanism, f); err != nil {
				return k.heard, err
			}
		}
	}
	return k.heard, nil
}

func (k *walk) prefix(ctx context.Context, o Oracle, m query.Mechanism, f form) error {
	s := k.script
	first, err := s.draw(o)
	if err != nil {
		return err
	}
	q, err := query.New(s.charge, f.ask(first, k.w, k.prev, s.constants)...)
	if err != nil {
		return err
	}
	sensitivity := q.Clip() / first.Size()
	if s.relation == account.ReplaceOne {
		sensitivity *= 2
	}
	sum, err := o.OpenPrefix(query.Prefix{Mechanism: m, Items: 5, Sensitivity: sensitivity, Charge: s.charge})
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
	// A second item is often beyond what was declared, and refused.
	second, err := s.draw(o)
	if err != nil {
		return err
	}
	if r, err = sum.Add(ctx, f.ask(second, k.w, k.prev, s.constants)...); err == nil {
		k.hear(r)
	}
	return nil
}

// selections selects among values of all records and of a cohort, and among
// norms.
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
			candidates = append(candidates, f.ask(on, w, k.prev, s.constants)...)
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

// passes takes passes of stable SGD over cohorts, plain, regularized and
// projected.
func (s *script) passes(ctx context.Context, o Oracle) (any, error) {
	k := s.begin()
	step := .5 / s.constants.Curvature.Hi
	for _, p := range []query.Pass{
		{Step: step, Clip: s.constants.Lipschitz},
		{Step: step / 20, Clip: s.constants.Lipschitz / 10},
		{Step: step, Clip: s.constants.Lipschitz, Lambda: .1 * s.constants.Curvature.Hi, Linear: scaled(k.prev, .01), Radius: 2, Centre: k.prev},
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

// sampled asks Poisson samples.
func (s *script) sampled(base Subject, name string) (Subject, error) {
	forms := append(vectors(), numbers()...)
	schedule, err := account.CalibrateSchedule(context.Background(), base.Budget, 0, account.SampledSteps{NoiseMultiplier: 1, Sampling: .5, Count: len(forms)})
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

// Subjects returns everything that package train can run and every kind of
// question that can be asked, each on a small generated table under the
// relations it serves.
func Subjects() ([]Subject, error) {
	list, err := trained()
	if err != nil {
		return nil, err
	}
	scripts, err := scripted()
	return append(list, scripts...), err
}
