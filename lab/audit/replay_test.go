package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// broken is a session with a fault for the audit to find. Each field that is not nil replaces a
// method of the session.
type broken struct {
	*recordtest.Recording
	config    simulate.Config
	ask       func(*broken, context.Context, query.Question) (query.Release, error)
	draw      func(*broken, int) (query.Cohort, error)
	selects   func(*broken, context.Context, query.Selection) (int, error)
	exchanges func(*broken) []simulate.Exchange
	open      func(*simulate.Config)
	asked     int
}

func (b *broken) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	b.asked++
	if b.ask != nil {
		return b.ask(b, ctx, q)
	}
	return b.Recording.Ask(ctx, q)
}

func (b *broken) Draw(size int) (query.Cohort, error) {
	if b.draw != nil {
		return b.draw(b, size)
	}
	return b.Recording.Draw(size)
}

func (b *broken) Select(ctx context.Context, s query.Selection) (int, error) {
	if b.selects != nil {
		return b.selects(b, ctx, s)
	}
	return b.Recording.Select(ctx, s)
}

func (b *broken) Exchanges() []simulate.Exchange {
	if b.exchanges != nil {
		return b.exchanges(b)
	}
	return b.Recording.Exchanges()
}

// secretly returns the number of records with a positive first feature. A session whose public decisions
// depend on this number breaks the guarantee.
func (b *broken) secretly() int {
	n := 0
	for _, x := range b.config.Rows {
		if x[0] > 0 {
			n++
		}
	}
	return n
}

// wide returns the query with clip norms a hundred times as large, at a charge with which the noise stays
// the same. A session that answers this query in place of q charges far too little for q's noise and clip
// norms.
func wide(q query.Question) query.Question {
	var terms []query.Term
	for _, t := range q.Terms() {
		terms = append(terms, query.GradientAt(t.Cohort(), t.Point(), 100*t.Ball().Radius))
	}
	w, err := query.New(q.Charge()*100*100, terms...)
	if err != nil {
		panic(err)
	}
	return w
}

// runOf returns a subject, a run to audit, that releases gradients of all records and of two
// cohorts, at points that follow from the answers, and then makes a private selection.
func runOf(l loss.Loss, r account.Relation) Subject {
	b, err := account.NewBudget(8, 1e-5, r)
	if err != nil {
		panic(err)
	}
	s := Subject{Name: "a run", Loss: l, Budget: b, Table: Generate(20, 2, l, 1), Seed: 4}
	s.Run = func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error) {
		w := []float64{.3, -.2}
		for k := range 4 {
			c := o.All()
			var err error
			if k > 1 && r == account.AddOrRemove {
				c, err = o.DrawEach(.3)
			} else if k > 1 {
				c, err = o.Draw(6)
			}
			if err != nil {
				return w, err
			}
			q, err := query.New(1e-5, query.GradientAt(c, w, .1))
			if err != nil {
				return w, err
			}
			a, err := o.Ask(ctx, q)
			if err != nil {
				return w, err
			}
			w = plus(w, scaled(a.Mean, -.5))
			observe(optimize.Step{Number: k + 1, Of: 4, W: w})
		}
		sel, err := query.NewSelection(.1, query.ValueAt(o.All(), w, .5, .5), query.ValueAt(o.All(), scaled(w, 2), .5, .5))
		if err != nil {
			return w, err
		}
		best, err := o.Select(ctx, sel)
		return []any{w, best}, err
	}
	return s
}

// with returns the subject with the given fault in each of its sessions.
func with(s Subject, fault broken) Subject {
	s.Open = func(c simulate.Config, frozen []simulate.Exchange) (Session, error) {
		b := fault
		b.config = c
		if b.open != nil {
			c.Rows, c.Targets = slices.Clone(c.Rows), slices.Clone(c.Targets)
			b.open(&c)
		}
		var err error
		if frozen == nil {
			b.Recording, err = recordtest.Record(c)
		} else {
			b.Recording, err = recordtest.Replay(c, frozen)
		}
		return &b, err
	}
	return s
}

// counting is a loss with a state: it counts the records with a positive first feature that it has seen,
// and scales gradients by their number. It breaks the rule that a loss depends only on the record for which
// it is computed.
type counting struct {
	loss.General
	seen *float64
}

func (c counting) Gradient(dst, w []float64, x []float32, y float64) {
	if x[0] > 0 {
		*c.seen++
	}
	for j := range dst {
		dst[j] = .1 * math.Cos(*c.seen+float64(j))
	}
}

// TestFaultsAreReported tests that an audit finds every fault built into a session, an optimizer or
// a loss, and names the rule that it breaks.
func TestFaultsAreReported(t *testing.T) {
	tanh, err := loss.Parse("tanh")
	if err != nil {
		t.Fatal(err)
	}
	slow, err := testloss.Parse("slow-tail")
	if err != nil {
		t.Fatal(err)
	}
	run := runOf(tanh, account.ReplaceOne)
	joined := runOf(tanh, account.AddOrRemove)
	tests := []struct {
		name, rule string
		subject    Subject
	}{
		{"skips a clip", "sensitivity", with(run, broken{
			ask: func(b *broken, ctx context.Context, q query.Question) (query.Release, error) {
				return b.Recording.Ask(ctx, wide(q))
			},
			exchanges: func(b *broken) []simulate.Exchange {
				// The session's record claims that it clipped as the query states.
				list := b.Recording.Exchanges()
				for i, x := range list {
					if w, ok := x.Asked.(query.Question); ok {
						q, _ := query.New(w.Charge()/1e4, query.GradientAt(w.Cohort(), w.Terms()[0].Point(), w.Clip()/100))
						list[i].Asked = q
						list[i].Event, _ = account.GaussianEvent("gradient", q.Cohort().ID(), x.Event.Sensitivity/100, x.Event.Sigma)
					}
				}
				return list
			},
		})},
		{"clips elsewhere than asked", "question", with(run, broken{
			ask: func(b *broken, ctx context.Context, q query.Question) (query.Release, error) {
				return b.Recording.Ask(ctx, wide(q))
			},
		})},
		{"charges for half the clip", "charge", with(run, broken{exchanges: func(b *broken) []simulate.Exchange {
			list := b.Recording.Exchanges()
			for i := range list {
				list[i].Event.Sensitivity /= 2
				list[i].Event.Charge /= 4
			}
			return list
		}})},
		{"charges less than its law", "charge", with(run, broken{exchanges: func(b *broken) []simulate.Exchange {
			list := b.Recording.Exchanges()
			list[2].Event.Charge /= 1.1
			return list
		}})},
		{"states more noise than there is", "charge", with(run, broken{exchanges: func(b *broken) []simulate.Exchange {
			list := b.Recording.Exchanges()
			list[1].Bits--
			return list
		}})},
		{"answers without a charge", "charge", with(run, broken{exchanges: func(b *broken) []simulate.Exchange {
			list := b.Recording.Exchanges()
			return append(list, list[len(list)-1])
		}})},
		{"a charge that depends on the records", "charge", with(run, broken{
			ask: func(b *broken, ctx context.Context, q query.Question) (query.Release, error) {
				q, err := query.New(q.Charge()*(1+1e-9*float64(b.secretly())), q.Terms()...)
				if err != nil {
					return query.Release{}, err
				}
				return b.Recording.Ask(ctx, q)
			},
		})},
		{"a cohort whose size depends on the records", "control flow", with(run, broken{
			draw: func(b *broken, size int) (query.Cohort, error) { return b.Recording.Draw(size - b.secretly()%2) },
		})},
		{"a cohort drawn by value", "sensitivity", with(run, broken{open: func(c *simulate.Config) { sortByValue(c) }})},
		{"an optimizer that peeks", "control flow", with(run, broken{
			ask: func(b *broken, ctx context.Context, q query.Question) (query.Release, error) {
				r, err := b.Recording.Ask(ctx, q)
				if err == nil {
					r.Mean[0] += 1e-12 * float64(b.secretly())
				}
				return r, err
			},
		})},
		{"a question more for some records", "control flow", with(run, broken{
			ask: func(b *broken, ctx context.Context, q query.Question) (query.Release, error) {
				if b.asked == 3 && b.secretly()%2 == 0 {
					if _, err := b.Recording.Ask(ctx, q); err != nil {
						return query.Release{}, err
					}
				}
				return b.Recording.Ask(ctx, q)
			},
		})},
		{"an error that counts records", "control flow", with(run, broken{
			selects: func(b *broken, _ context.Context, _ query.Selection) (int, error) {
				return 0, fmt.Errorf("%d records are unlike", b.secretly())
			},
		})},
		{"an error for some records only", "control flow", with(run, broken{
			selects: func(b *broken, ctx context.Context, s query.Selection) (int, error) {
				if slices.ContainsFunc(b.config.Targets, func(y float64) bool { return math.IsNaN(y) }) {
					return 0, errors.New("a faulty record")
				}
				return b.Recording.Select(ctx, s)
			},
		})},
		{"a panic for some records only", "control flow", with(run, broken{
			selects: func(b *broken, ctx context.Context, s query.Selection) (int, error) {
				for _, x := range b.config.Rows {
					if x[0] != x[0] {
						panic("not a number")
					}
				}
				return b.Recording.Select(ctx, s)
			},
		})},
		{"a size that is told under add-or-remove", "control flow", with(joined, broken{
			ask: func(b *broken, ctx context.Context, q query.Question) (query.Release, error) {
				r, err := b.Recording.Ask(ctx, q)
				r.Sigma *= float64(len(b.config.Rows))
				return r, err
			},
		})},
		{"a loss that looks at more than one record", "sensitivity", func() Subject {
			s := runOf(counting{slow.(loss.General), new(float64)}, account.ReplaceOne)
			s.Open = func(c simulate.Config, frozen []simulate.Exchange) (Session, error) {
				c.Loss = counting{slow.(loss.General), new(float64)}
				return simulated(c, frozen)
			}
			return s
		}()},
		{"two cohorts that share a record", "cohorts", with(run, broken{exchanges: func(b *broken) []simulate.Exchange {
			list := b.Recording.Exchanges()
			list[3].Members = append(slices.Clone(list[3].Members), list[2].Members[0])
			return list
		}})},
		{"coins that fall otherwise", "cohorts", func() Subject {
			s, seed := run, uint64(0)
			s.Open = func(c simulate.Config, frozen []simulate.Exchange) (Session, error) {
				seed++
				c.Seed = seed
				return simulated(c, frozen)
			}
			return s
		}()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := Run(context.Background(), test.subject, Effort{Positions: 3, Climbs: -1})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == test.rule }) {
				t.Errorf("violations %v: must break the rule of %s", r.Violations, test.rule)
			}
		})
	}
	for _, s := range []Subject{run, joined, with(run, broken{}), with(joined, broken{})} {
		r, err := Run(context.Background(), s, Effort{Positions: 3, Records: 60, Climbs: 4})
		if err != nil || len(r.Violations) > 0 {
			t.Errorf("without a fault: %v, %v", r.Violations, err)
		}
	}
}

// sortByValue sorts the table by its first feature. When one record changes, the same random bits
// then draw other records.
func sortByValue(c *simulate.Config) {
	order := make([]int, len(c.Rows))
	for i := range order {
		order[i] = i
	}
	rows, targets := slices.Clone(c.Rows), slices.Clone(c.Targets)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a][0], rows[b][0]) })
	for i, k := range order {
		c.Rows[i], c.Targets[i] = rows[k], targets[k]
	}
}

// TestSubjectTooSmall tests that the audit of a run on a table of one record returns an error.
func TestSubjectTooSmall(t *testing.T) {
	tanh, _ := loss.Parse("tanh")
	s := runOf(tanh, account.ReplaceOne)
	s.Table = Generate(1, 2, tanh, 1)
	if _, err := Run(context.Background(), s, Effort{}); err == nil || !strings.Contains(err.Error(), "records") {
		t.Errorf("error %v", err)
	}
}

// Run is [run] without the loudest pair.
func Run(ctx context.Context, s Subject, e Effort) (Report, error) {
	r, _, err := run(ctx, s, e)
	return r, err
}
