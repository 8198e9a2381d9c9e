package curator_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// loud is a loss whose slopes and declared Lipschitz constant are multiplied by a factor. A caller that
// holds a pointer to the loss can change the factor after the loss was given to a session.
type loud struct {
	loss.RankOne
	factor float64
}

func (l *loud) Slopes(dst, z, y []float64) {
	l.RankOne.Slopes(dst, z, y)
	for i := range dst {
		dst[i] *= l.factor
	}
}

func (l *loud) Constants() loss.Constants {
	c := l.RankOne.Constants()
	c.Lipschitz *= l.factor
	return c
}

// prey is a session that has charged all of its budget, and everything that its caller holds.
type prey struct {
	*curator.Session
	config   *curator.Config
	loss     *loud
	view     account.View
	question query.Question
	cohort   query.Cohort
	prefix   query.PrefixSum
	w        []float64
	release  query.Release
}

// big returns a budget that is much larger than the attacked session's.
func big(t testing.TB) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1000, .1, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func must[V any](t testing.TB) func(v V, err error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func catch(t testing.TB) *prey {
	t.Helper()
	c := config(t, write(t, "people.csv", "age,job,ill\n"+strings.Repeat(people[len("age,job,ill\n"):], 20)))
	p := &prey{config: &c, loss: &loud{c.Loss.(loss.RankOne), 1}, w: make([]float64, 5)}
	c.Loss = p.loss
	p.Session = must[*curator.Session](t)(curator.Open(context.Background(), c))
	p.view = p.Ledger()
	p.cohort = must[query.Cohort](t)(p.Draw(20))
	charge := c.Budget.Charge()
	p.prefix = must[query.PrefixSum](t)(p.OpenPrefix(query.Prefix{Factorization: query.Tree, Items: 3, Sensitivity: .1,
		Charge: charge / 2}))
	must[query.Release](t)(p.prefix.Add(context.Background(), query.GradientAt(p.cohort, p.w, 1)))
	p.question = must[query.Question](t)(query.New(charge*.499, query.GradientAt(p.All(), p.w, 1)))
	p.release = must[query.Release](t)(p.Ask(context.Background(), p.question))
	return p
}

// spent fails the test unless a session that has charged its budget still refuses queries.
func spent(t *testing.T, name string, s *curator.Session, cohort query.Cohort) {
	t.Helper()
	var over *account.BudgetError
	w := make([]float64, 5)
	q := must[query.Question](t)(query.New(.01, query.GradientAt(s.All(), w, 1)))
	if _, err := s.Ask(context.Background(), q); !errors.As(err, &over) {
		t.Errorf("%s: Ask: %v", name, err)
	}
	sel := must[query.Selection](t)(query.NewSelection(.1, query.ValueAt(s.All(), w, 1, 1),
		query.ValueAt(s.All(), w, 1, 1)))
	if _, err := s.Select(context.Background(), sel); !errors.As(err, &over) {
		t.Errorf("%s: Select: %v", name, err)
	}
	p := must[query.PrefixSum](t)(s.OpenPrefix(query.Prefix{Factorization: query.Tree, Items: 2, Sensitivity: .2,
		Charge: .01}))
	if _, err := p.Add(context.Background(), query.GradientAt(cohort, w, 1)); !errors.As(err, &over) {
		t.Errorf("%s: Add: %v", name, err)
	}
	if n, charged := s.Ledger().Len(), s.Ledger().Charged(); n != 2 || !(charged > .9*s.Ledger().Budget().Charge()) {
		t.Errorf("%s: the ledger has %d events and %v charged", name, n, charged)
	}
}

// attacks are things that another package can do with the values it holds. Each returns the
// attacked session, under whatever name it has afterwards.
var attacks = map[string]func(t *testing.T, p *prey) *curator.Session{
	// A session is a handle. After an assignment the variable refers to the other session, with
	// that session's records, budget and ledger. The first session still refuses, and its views
	// still show its own ledger.
	"*curator.Session": func(t *testing.T, p *prey) *curator.Session {
		kept, other := *p.Session, open(t, write(t, "other.csv", people))
		before := p.view.Events()
		*p.Session = *other
		charge := other.Ledger().Budget().Charge()
		q := must[query.Question](t)(query.New(charge, query.GradientAt(p.All(), p.w, 1)))
		if p.All() != other.All() {
			t.Error("an assigned session is about other records than its own")
		}
		must[query.Release](t)(p.Ask(context.Background(), q))
		spentOther := other.Ledger().Charged()
		if !(spentOther > .9*charge) || !slices.Equal(p.view.Events(), before) {
			t.Errorf("an answer of one session was charged to another: %v, %d events", spentOther, p.view.Len())
		}
		return &kept
	},
	"curator.Session": func(t *testing.T, p *prey) *curator.Session {
		s := *p.Session
		*p.Session = curator.Session{}
		return &s
	},
	"curator.PrefixSum": func(t *testing.T, p *prey) *curator.Session {
		fresh := must[query.PrefixSum](t)(p.OpenPrefix(query.Prefix{Factorization: query.Tree, Items: 9, Sensitivity: 9,
			Charge: 1e-9}))
		mine := p.prefix.(*curator.PrefixSum)
		kept := *mine
		*mine = *fresh.(*curator.PrefixSum)
		if _, err := kept.Add(context.Background(), query.GradientAt(p.cohort, p.w, 1)); err == nil ||
			!strings.Contains(err.Error(), "used before") {
			t.Errorf("a copied prefix sum took a cohort again: %v", err)
		}
		return p.Session
	},
	"query.PrefixSum": func(t *testing.T, p *prey) *curator.Session { p.prefix = nil; return p.Session },
	"curator.Config": func(t *testing.T, p *prey) *curator.Session {
		p.config.Budget, p.config.Declared, p.config.Loss, p.config.Schema = big(t), 1e9, nil, nil
		return p.Session
	},
	"*curator.Rows": func(t *testing.T, p *prey) *curator.Session {
		var late func([]string, error) bool
		rows := &curator.Rows{Header: []string{"age", "job", "ill"}, Cells: func(yield func([]string, error) bool) {
			late = yield
			for range 40 {
				yield([]string{"31", "nurse", "no"}, nil)
			}
		}}
		c := *p.config
		c.Path, c.Rows, c.Loss = "", rows, p.loss
		s := must[*curator.Session](t)(curator.Open(context.Background(), c))
		q := must[query.Question](t)(query.New(c.Budget.Charge()*.999, query.GradientAt(s.All(), p.w, 1)))
		must[query.Release](t)(s.Ask(context.Background(), q))
		*rows = curator.Rows{}
		if late([]string{"99", "clerk", "yes"}, nil) || s.All().Size() != 40 {
			t.Errorf("%v records", s.All().Size())
		}
		var over *account.BudgetError
		if _, err := s.Ask(context.Background(), q); !errors.As(err, &over) {
			t.Errorf("rows: %v", err)
		}
		return p.Session
	},
	"*dataset.Schema": func(t *testing.T, p *prey) *curator.Session {
		*p.config.Schema = *schema(t, "columns:\n  x: {number: [0, 1e-9]}\ntarget: {column: y, number: [0, 1e-9]}\n")
		if p.Dim() != 5 {
			t.Errorf("%d features", p.Dim())
		}
		return p.Session
	},
	"loss.Loss": func(t *testing.T, _ *prey) *curator.Session { return loudened(t) },
	"*account.Schedule": func(t *testing.T, p *prey) *curator.Session {
		rescheduled(t, func(held, shown *account.Schedule, other account.Schedule) { *held, *shown = other, other })
		return p.Session
	},
	"account.Schedule": func(t *testing.T, p *prey) *curator.Session {
		rescheduled(t, func(held, shown *account.Schedule, _ account.Schedule) {
			*held, *shown = account.Schedule{}, account.Schedule{}
		})
		return p.Session
	},
	"account.View": func(t *testing.T, p *prey) *curator.Session {
		v := account.NewLedger(big(t)).View()
		p.view = v
		if _, ok := any(p.Session).(interface{ Ledger() *account.Ledger }); ok {
			t.Error("a session shows its ledger")
		}
		if _, ok := any(v).(interface{ Reserve(account.Event) error }); ok {
			t.Error("a view writes")
		}
		return p.Session
	},
	"[]account.Event": func(t *testing.T, p *prey) *curator.Session {
		clear(p.Ledger().Events())
		for i, e := range p.Ledger().Events() {
			if e.Charge == 0 || e.Index != i {
				t.Errorf("event %d was written over: %+v", i, e)
			}
		}
		return p.Session
	},
	"query.Question":  func(t *testing.T, p *prey) *curator.Session { p.question = query.Question{}; return p.Session },
	"query.Selection": func(t *testing.T, p *prey) *curator.Session { return selected(t, p) },
	"query.Stable":    func(t *testing.T, p *prey) *curator.Session { return passed(t, p) },
	"query.Pass":      func(t *testing.T, p *prey) *curator.Session { return passed(t, p) },
	"query.Term": func(t *testing.T, p *prey) *curator.Session {
		p.question.Terms()[0] = query.GradientAt(p.All(), p.w, 100)
		return unmoved(t, p)
	},
	"[]query.Term":     func(t *testing.T, p *prey) *curator.Session { clear(p.question.Terms()); return unmoved(t, p) },
	"[]query.Question": func(t *testing.T, p *prey) *curator.Session { return selected(t, p) },
	"[]float64": func(t *testing.T, p *prey) *curator.Session {
		for j := range p.w {
			p.w[j] = 1e300
		}
		for _, term := range p.question.Terms() {
			clear(term.Point())
			term.Point()[0] = math.NaN()
		}
		return unmoved(t, p)
	},
	"query.Release": func(t *testing.T, p *prey) *curator.Session {
		clear(p.release.Mean)
		p.release.Charge = -1
		return p.Session
	},
	"var ErrClosed": func(t *testing.T, p *prey) *curator.Session {
		old := curator.ErrClosed
		defer func() { curator.ErrClosed = old }()
		curator.ErrClosed = nil
		closed := open(t, write(t, "closed.csv", people))
		closed.Close()
		q := must[query.Question](t)(query.New(.01, query.GradientAt(closed.All(), p.w, 1)))
		if _, err := closed.Ask(context.Background(), q); !errors.Is(err, old) {
			t.Errorf("a closed session: %v", err)
		}
		return p.Session
	},
}

// unmoved writes into slices of a query, and fails the test unless the query is unchanged.
func unmoved(t *testing.T, p *prey) *curator.Session {
	t.Helper()
	if q := p.question; q.Clip() != 1 || !slices.Equal(q.Terms()[0].Point(), make([]float64, 5)) {
		t.Errorf("the question has clip norm %v at %v", q.Clip(), q.Terms()[0].Point())
	}
	return p.Session
}

// selected writes into the slices that a selection returns.
func selected(t *testing.T, p *prey) *curator.Session {
	t.Helper()
	sel := must[query.Selection](t)(query.NewSelection(.1, query.ValueAt(p.All(), p.w, 1, 1),
		query.ValueAt(p.All(), p.w, 1, 1)))
	clear(sel.Questions())
	if len(sel.Questions()[0].Terms()) != 1 {
		t.Error("a selection was written into")
	}
	return p.Session
}

// passed writes into the slices that a pass was made of and that it returns.
func passed(t *testing.T, p *prey) *curator.Session {
	t.Helper()
	pass := query.Pass{Start: make([]float64, 5), Step: .1, Clip: 1, Lambda: 1, Linear: make([]float64, 5), Radius: 1,
		Centre: make([]float64, 5)}
	q := must[query.Stable](t)(query.NewStable(.01, p.cohort, pass))
	for _, shown := range []query.Pass{pass, q.Pass()} {
		for _, v := range [][]float64{shown.Start, shown.Linear, shown.Centre} {
			v[0] = math.Inf(1)
		}
	}
	if got := q.Pass(); got.Start[0] != 0 || got.Linear[0] != 0 || got.Centre[0] != 0 {
		t.Errorf("a pass was written into: %+v", got)
	}
	return p.Session
}

func TestWhatOthersHoldDecidesNothing(t *testing.T) {
	for name, attack := range attacks {
		p := catch(t)
		spent(t, name+", before", p.Session, p.cohort)
		if s := attack(t, p); s != nil {
			spent(t, name, s, p.cohort)
		}
	}
}

// loudened changes a loss after it was given to a session, and tests that this gives no more
// influence to a record. The clip norm of the query still limits each record, and the charge stays
// the same. An answer exceeds the clip norm by 8 standard deviations of its noise with probability
// below 1e-14.
func loudened(t *testing.T) *curator.Session {
	t.Helper()
	c := config(t, write(t, "people.csv", people))
	l := &loud{c.Loss.(loss.RankOne), 1}
	c.Loss, c.Budget = l, big(t)
	s := must[*curator.Session](t)(curator.Open(context.Background(), c))
	charge := c.Budget.Charge() / 4
	q := must[query.Question](t)(query.New(charge, query.GradientAt(s.All(), make([]float64, 5), .25)))
	before := must[query.Release](t)(s.Ask(context.Background(), q))
	*l = loud{l.RankOne, 1e9}
	after := must[query.Release](t)(s.Ask(context.Background(), q))
	if after.Sigma != before.Sigma || after.Charge != before.Charge {
		t.Errorf("charge %v and deviation %v, were %v and %v", after.Charge, after.Sigma, before.Charge, before.Sigma)
	}
	for _, v := range after.Mean {
		if !(math.Abs(v) <= .25+8*after.Sigma) {
			t.Errorf("a clip of .25 let %v through, noise %v", v, after.Sigma)
		}
	}
	return nil
}

// rescheduled makes a session follow a schedule, and overwrites the caller's schedule and the one
// that the ledger shows. Samples must be drawn and charged by the original schedule.
func rescheduled(t *testing.T, overwrite func(held, shown *account.Schedule, other account.Schedule)) {
	t.Helper()
	c := config(t, write(t, "people.csv", people))
	steps := account.SampledSteps{NoiseMultiplier: 20, Sampling: .1, Count: 2}
	held := must[*account.Schedule](t)(account.NewSchedule(t.Context(), c.Budget, 0, steps))
	weak := must[*account.Schedule](t)(account.NewSchedule(t.Context(), big(t), 0,
		account.SampledSteps{NoiseMultiplier: .5, Sampling: 1, Count: 3}))
	s := must[*curator.Session](t)(curator.Open(context.Background(), c))
	if err := s.Follow(held); err != nil {
		t.Fatal(err)
	}
	overwrite(held, s.Ledger().Schedule(), *weak)
	for i := range 3 {
		sample, err := s.Sample()
		if i == steps.Count {
			var over *account.BudgetError
			if !errors.As(err, &over) {
				t.Errorf("a sample more than was scheduled: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		q := must[query.Question](t)(query.New(1e6, query.GradientAt(sample, make([]float64, 5), 1)))
		a := must[query.Release](t)(s.Ask(context.Background(), q))
		if got := a.Sigma * sample.Size(); !(math.Abs(sample.Size()-.3) <= 1e-12) || !(math.Abs(got/20-1) <= 1e-4) {
			t.Errorf("sample %d of expected size %v with noise multiplier %v", i, sample.Size(), got)
		}
	}
	if got := s.Ledger().Schedule().Steps(); len(got) != 1 || got[0] != steps {
		t.Errorf("the ledger shows the schedule %+v", got)
	}
}
