package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestPassRefusals tests that a refused pass is neither computed nor charged.
func TestPassRefusals(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n, d = 30, 3
	zero := make([]float64, d)
	plain := query.Pass{Start: zero, Step: 1, Clip: 1}
	with := func(f func(*query.Pass)) query.Pass { p := plain; f(&p); return p }
	for name, c := range map[string]struct {
		loss     string
		relation account.Relation
		cohort   func(*Session) query.Cohort
		pass     query.Pass
		want     string
	}{
		"add-or-remove": {relation: account.AddOrRemove, pass: plain, want: "relation = add-or-remove"},
		"drawn by coins": {cohort: func(s *Session) query.Cohort { c, _ := s.DrawEach(1); return c }, pass: plain,
			want: "by number"},
		"not drawn": {cohort: func(s *Session) query.Cohort { return query.NewCohort(3, 10) }, pass: plain,
			want: "not drawn"},
		"a sample": {cohort: func(s *Session) query.Cohort { return query.NewCohort(sampleBit|1, 10) }, pass: plain,
			want: "not drawn"},
		"another size": {cohort: func(s *Session) query.Cohort { s.Draw(10); return query.NewCohort(1, 9) }, pass: plain,
			want: "not drawn"},
		"one record": {cohort: func(s *Session) query.Cohort { c, _ := s.Draw(1); return c }, pass: plain,
			want: "at least 2"},
		"nonconvex": {loss: "tanh", pass: plain, want: "curvature in [-"},
		"long step": {pass: with(func(p *query.Pass) { p.Step = 8.0000001 }),
			want: "step = 8.0000001: must be at most 2/(curvature + lambda) = 2/(0.25 + 0) = 8"},
		"lambda counts": {pass: with(func(p *query.Pass) { p.Step, p.Lambda = 8, .01 }), want: "step = 8: must be"},
		"dimension":     {pass: with(func(p *query.Pass) { p.Start = zero[:2] }), want: "start has 2 coordinates"},
		"hopeless":      {pass: with(func(p *query.Pass) { p.Start = []float64{1e14, 0, 0} }), want: "rounding errors"},
		"no room":       {pass: with(func(p *query.Pass) { p.Start = []float64{1e10, 0, 0} }), want: "no exact grid"},
	} {
		relation := c.relation
		if relation == 0 {
			relation = account.ReplaceOne
		}
		if c.loss == "" {
			c.loss = "logistic"
		}
		s := open(t, randomRecords(r, n, d), parse(t, c.loss), budget(t, 50, .1, relation), nil)
		cohort := query.NewCohort(1, n)
		if c.cohort != nil {
			cohort = c.cohort(s)
		} else if relation == account.ReplaceOne {
			cohort, _ = s.Draw(n)
		}
		a, err := s.Stable(context.Background(), stableQuestion(t, 1, cohort, c.pass))
		if err == nil || !strings.Contains(err.Error(), c.want) || a.Mean != nil {
			t.Errorf("%s: %v, %v: want an error about %q", name, a, err, c.want)
		}
		if len(s.Ledger().Events()) != 0 {
			t.Errorf("%s: refused, but charged", name)
		}
	}
	s := open(t, randomRecords(r, n, d), parse(t, "logistic"), budget(t, 50, .1, account.ReplaceOne), nil)
	if _, err := s.Stable(context.Background(), query.Stable{}); err == nil ||
		!strings.Contains(err.Error(), "NewStable") {
		t.Errorf("zero question: %v", err)
	}
	c, _ := s.Draw(n)
	// The longest allowed step is accepted in the form in which a caller computes it.
	for _, lambda := range []float64{0, .1, 1. / 3, .7, 1e-9, 1e9} {
		p := with(func(p *query.Pass) { p.Lambda, p.Step = lambda, 2/(.25+lambda) })
		if _, err := s.Stable(context.Background(), stableQuestion(t, 1e-3, c, p)); err != nil {
			t.Errorf("lambda = %v: %v", lambda, err)
		}
	}
	s.Close()
	if _, err := s.Stable(context.Background(), stableQuestion(t, 1, c, plain)); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

type hook struct {
	loss.RankOne
	f func()
}

func (h hook) Slopes(dst, z, y []float64) { h.f(); h.RankOne.Slopes(dst, z, y) }

// TestPassIsChargedFirst tests that the charge is reserved before a record is read and is never
// given back, and that errors contain nothing of the records. If the charge would exceed the
// budget, nothing is computed.
func TestPassIsChargedFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	const n, d = 300, 3
	p := query.Pass{Start: make([]float64, d), Step: 1, Clip: 1}
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []struct {
		name   string
		ctx    context.Context
		charge float64
		f      func(*Session)
		want   error
		events int
	}{
		{"panic", context.Background(), .1, func(*Session) { panic("a record") }, nil, 1},
		{"exit", context.Background(), .1, func(*Session) { runtime.Goexit() }, nil, 1},
		{"cancelled underway", ctx, .1, func(*Session) { cancel() }, context.Canceled, 1},
		{"cancelled before", ctx, .1, func(*Session) { t.Error("computed") }, context.Canceled, 0},
		{"over budget", context.Background(), 1e6, func(*Session) { t.Error("computed") }, nil, 0},
	} {
		var s *Session
		l := hook{parse(t, "logistic").(loss.RankOne), func() {
			if len(s.Ledger().Events()) != c.events {
				t.Errorf("%s: a record is read before the charge is reserved", c.name)
			}
			c.f(s)
		}}
		s = open(t, randomRecords(r, n, d), l, budget(t, 5, .01, account.ReplaceOne), nil)
		cohort, err := s.Draw(n)
		if err != nil {
			t.Fatal(err)
		}
		q := stableQuestion(t, c.charge, cohort, p)
		if _, err := s.Stable(context.Background(), q); err == nil || !strings.Contains(err.Error(), "not proven") {
			t.Fatalf("%s: a wrapped loss is trusted: %v", c.name, err)
		}
		if err := c.ctx.Err(); err == nil {
			// This call skips the check that the loss is proven, which would refuse the loss of
			// this test.
			_, err = through(c.ctx, s, func() (release[query.Release], error) { return s.stable(q) })
			over := new(account.BudgetError)
			if c.want != nil && !errors.Is(err, c.want) || c.want == nil && c.events == 0 && !errors.As(err, &over) ||
				c.want == nil && c.events == 1 && err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if _, err := s.Stable(c.ctx, q); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := len(s.Ledger().Events()); got != c.events {
			t.Errorf("%s: %d events, want %d", c.name, got, c.events)
		}
	}
}
