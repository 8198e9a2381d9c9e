package optimize_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// planted is a plan whose iterates are given points. It makes one gradient query at each point, over all
// records or over cohorts that it draws.
type planted struct {
	points [][]float64
	result []float64
	charge float64
	coins  bool
	draws  int // size of a cohort; 0 for all records
	err    error
	meet   func(o optimize.Oracle)
}

func (p planted) Needs() optimize.Needs { return optimize.Needs{Cohorts: p.draws > 0} }

func (p planted) Properties() optimize.Properties { return optimize.Properties{} }

func (p planted) Workload() optimize.Workload { return optimize.Workload{} }

func (p planted) Summary() optimize.Summary {
	return optimize.Summary{Algorithm: "planted", Steps: len(p.points), Output: "as planted", Charges: "alike", Passes: 3}
}

func (p planted) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	if p.meet != nil {
		p.meet(o)
	}
	r := optimize.Result{W: p.result, Output: "as planted"}
	left := o.All().Size()
	for i, w := range p.points {
		c := o.All()
		if p.draws > 0 {
			var err error
			if p.coins {
				c, err = o.DrawEach(float64(p.draws) / left)
			} else {
				c, err = o.Draw(p.draws)
			}
			if err != nil {
				return r, err
			}
			left -= c.Size()
		}
		q, err := query.New(p.charge, query.GradientAt(c, w, 1))
		if err != nil {
			return r, err
		}
		if _, err := o.Ask(ctx, q); err != nil {
			return r, err
		}
		shown := append([]float64(nil), w...)
		if observe != nil {
			observe(optimize.Step{Number: i + 1, Of: len(p.points), W: shown})
		}
		shown[0] = 99 // an iterate is not to be kept
		r.Steps++
	}
	r.Complete = p.err == nil
	return r, p.err
}

// method is the name of an algorithm and a function that plans it.
type method struct {
	name string
	plan planner
}

// chooser is an oracle that records the selections made.
type chooser struct {
	*optimizetest.Oracle
	asked []query.Selection
	err   error
}

func (c *chooser) Select(ctx context.Context, s query.Selection) (int, error) {
	c.asked = append(c.asked, s)
	if c.err != nil {
		return 0, c.err
	}
	return c.Oracle.Select(ctx, s)
}

func noiseless(t *testing.T, p optimizetest.Problem, r account.Relation) *chooser {
	t.Helper()
	c := p.Config(budgetOf(t, r, 1), 1, 3)
	c.Noiseless, c.Declared = true, float64(len(p.Rows))
	return &chooser{Oracle: optimizetest.New(c)}
}

// planner makes a plan for a size. It implements optimize.Algorithm.
type planner func(optimize.Problem, size) (optimize.Plan, error)

func (f planner) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	return f(p, size{Records: p.Records, Mu: p.Mu, Neighbours: p.Neighbours()})
}

func of(c optimize.Selected, f planner) optimize.Selected {
	c.Of = f
	return c
}

func around(p planted) planner {
	return func(_ optimize.Problem, s size) (optimize.Plan, error) {
		p.coins = s.Neighbours == 1
		p.charge = s.Mu * s.Mu / float64(len(p.points)) * (1 - 1e-9)
		if p.draws > 0 {
			p.charge = s.Mu * s.Mu * (1 - 1e-9)
		}
		return p, nil
	}
}

// TestSelectedFindsThePlanted: without randomness in the selection, the best of the candidates must be the
// result. This is tested for each position of the best candidate, for two scores, for both relations, and
// for algorithms that make queries on all records or draw cohorts. The held-out records must be drawn
// first, and the algorithm must not use them. The algorithm's records and the held-out records must each be
// charged at most the whole budget. The test fails if the regularizer is left out of the scores, if the
// inner algorithm sees all records, if a candidate is not a copy, or if the candidates are not evenly
// spaced.
func TestSelectedFindsThePlanted(t *testing.T) {
	for _, p := range convexProblems(t) {
		if p.Public.Set != nil || p.Public.Constants.Lipschitz != 1 { // logistic, without a ball
			continue
		}
		good := p.Minimiser
		if p.Public.Regularizer != nil {
			good = []float64{1.05, .5, -.25} // near the minimiser, as the gradients below show
		}
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			for _, by := range []optimize.Score{optimize.ByGradient, optimize.ByValue} {
				for at := range 4 {
					for _, draws := range []int{0, 12} {
						name := fmt.Sprintf("%s, %v, %v, at %d, draws %d", p.Name, relation, by, at, draws)
						o := noiseless(t, p, relation)
						c := optimize.Selected{Share: .2, Candidates: 3, By: by}
						inner := planted{draws: draws, result: []float64{-2, 1, 1}}
						// Of 10 points the 4th, 7th and 10th are candidates.
						for i := range 10 {
							inner.points = append(inner.points, []float64{-3, float64(i), 0})
						}
						if at == 3 {
							inner.result = good
						} else {
							inner.points[[]int{3, 6, 9}[at]] = good
						}
						inner.points[1], inner.points[8] = good, good // these points are no candidates
						steps := 0
						plan, err := of(c, around(inner)).Plan(ctx, with(p.Public, o.Size()))
						if by == optimize.ByValue && p.Public.Regularizer != nil {
							if err == nil || !strings.Contains(err.Error(), "by = value: regularizer l2(0.05): must be none") {
								t.Errorf("%s: %v", name, err)
							}
							continue
						}
						if err != nil {
							t.Fatal(err)
						}
						r, err := plan.Run(context.Background(), o, func(s optimize.Step) { steps++ })
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						want := fmt.Sprintf("among 4 points: iterate %d of 10", []int{4, 7, 10, 0}[at])
						if at == 3 {
							want = "among 4 points: the run's own result, as planted"
						}
						if !same(r.W, good) || !strings.HasSuffix(r.Output, want) || !r.Complete || r.Steps != 10 || steps != 10 || r.Trace.Chosen != 4 {
							t.Errorf("%s: %+v after %d steps: want %v, %s", name, r, steps, good, want)
						}
						if len(o.asked) != 1 {
							t.Fatalf("%s: %d selections", name, len(o.asked))
						}
						held := o.asked[0].Questions()[0].Cohort()
						mu := o.Size().Mu
						charged, err := mechanism.SelectionMu(o.asked[0].Epsilon())
						if err != nil || !(charged <= mu && charged > mu*(1-1e-5)) || held.Everyone() || !close(held.Size(), 48, 1e-12) {
							t.Errorf("%s: selection of mu %v on %v records: want %v on 48", name, charged, held.Size(), mu)
						}
						for i, q := range o.asked[0].Questions() {
							w, term := inner.result, q.Terms()[0]
							if i < 3 {
								w = inner.points[[]int{3, 6, 9}[i]]
							}
							if !same(term.Point(), w) || term.Kind() != map[optimize.Score]query.Kind{optimize.ByGradient: query.Norm,
								optimize.ByValue: query.Value}[by] {
								t.Errorf("%s: candidate %d is a %v at %v: want %v", name, i, term.Kind(), term.Point(), w)
							}
							f0 := p.Public.Constants.InitialGap
							if ball := (query.ClipBall{Radius: f0, Centre: f0}); by == optimize.ByValue && term.Ball() != ball {
								t.Errorf("%s: candidate %d is clipped to %v: want %v", name, i, term.Ball(), ball)
							}
							if by == optimize.ByGradient && p.Public.Regularizer != nil {
								shift := make([]float64, 3)
								p.Public.Regularizer.AddGradient(shift, w)
								if !same(term.Shift(), shift) {
									t.Errorf("%s: candidate %d is shifted by %v: want %v", name, i, term.Shift(), shift)
								}
							}
						}
						for _, a := range o.Asked {
							cohort := a.Question.Cohort()
							if cohort.Everyone() || cohort.ID() == held.ID() ||
								!close(cohort.Size(), map[int]float64{0: 192, 12: 12}[draws], 1e-9) {
								t.Errorf("%s: a question about cohort %d of %v, held out is %d", name, cohort.ID(), cohort.Size(), held.ID())
							}
						}
						if got := o.Charged(); !(got <= mu*mu && got > mu*mu*(1-1e-4)) {
							t.Errorf("%s: charged %v of %v", name, got, mu*mu)
						}
					}
				}
			}
		}
	}
}

// TestSelectedAroundEveryMethod runs Selected around each method of the subpackages. The inner
// algorithm must be planned for the number of records that are not held out.
func TestSelectedAroundEveryMethod(t *testing.T) {
	p := convexProblems(t)[6]
	list := []method{
		{"gd", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return firstorder.GD{Steps: 6}.Plan(ctx, with(p, s))
		}},
		{"spiderboost", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return firstorder.SpiderBoost{Steps: 6}.Plan(ctx, with(p, s))
		}},
		{"storm", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return firstorder.STORM{Steps: 6}.Plan(ctx, with(p, s))
		}},
	}
	for _, which := range []recursive.Division{recursive.Disjoint, recursive.AllRecords} {
		list = append(list, method{"recursive", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return recursive.Recursive{Rounds: 3, Steps: 2, Cohorts: which}.Plan(ctx, with(p, s))
		}})
	}
	for _, m := range list {
		for relation := range relations(t, p, 1) {
			o := noiseless(t, p, relation)
			var inner size
			plan, err := of(optimize.Selected{Candidates: 3}, func(p optimize.Problem, s size) (optimize.Plan, error) {
				inner = s
				return m.plan(p, s)
			}).Plan(ctx, with(p.Public, o.Size()))
			r := run(t, resolve(t, plan, err), o)
			outline := plan.Summary()
			if inner.Mu != o.Size().Mu || inner.Neighbours != o.Size().Neighbours || !close(inner.Records, 216, 1e-12) {
				t.Errorf("%s, %v: planned for %+v: want 216 records", m.name, relation, inner)
			}
			if len(o.asked) != 1 || !strings.HasPrefix(r.Output, "selected by gradient among") || !r.Complete || r.Steps != 6 ||
				!strings.HasPrefix(outline.Output, "selected by gradient; of the run itself: ") || outline.Algorithm != m.name ||
				!close(outline.Effective, with(p.Public, o.Size()).Effective(), 1e-12) {
				t.Errorf("%s, %v: %+v, %+v, %d selections", m.name, relation, r, outline, len(o.asked))
			}
			if mu := o.Size().Mu; !(o.Charged() <= mu*mu && o.Charged() > mu*mu*(1-1e-4)) {
				t.Errorf("%s, %v: charged %v of %v", m.name, relation, o.Charged(), mu*mu)
			}
		}
	}
	// PhasedSGD draws cohorts, and its passes must reach the oracle.
	o := relations(t, p, 1)[account.ReplaceOne]
	plan, err := of(optimize.Selected{}, func(p optimize.Problem, s size) (optimize.Plan, error) {
		return recursive.Recursive{Inner: recursive.PhasedSGD, Rounds: 2}.Plan(ctx, with(p, s))
	}).Plan(ctx, with(p.Public, o.Size()))
	if r := run(t, resolve(t, plan, err), o); r.Steps != plan.Summary().Steps || !plan.Needs().Stable {
		t.Errorf("phased: %d passes: want %d", r.Steps, plan.Summary().Steps)
	}
}

// TestSelectedScale: the summary must state that scores are hard to distinguish if they differ by less
// than 2/epsilon times the sensitivity of a score, which is twice as large under replace-one.
func TestSelectedScale(t *testing.T) {
	p := convexProblems(t)[6]
	for relation, sensitivity := range map[account.Relation]float64{account.ReplaceOne: 2. / 24,
		account.AddOrRemove: 1. / 24} {
		o := noiseless(t, p, relation)
		plan, err := of(optimize.Selected{}, around(planted{points: [][]float64{{0, 0, 0}}})).Plan(ctx,
			with(p.Public, o.Size()))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("epsilon %.3g: gradient norms that differ by less than %.2g are", optimize.SelectionEpsilon(plan),
			2*sensitivity/optimize.SelectionEpsilon(plan))
		if s := plan.Summary().Charges; !strings.Contains(s, want) || !strings.Contains(s, "up to 9 points on 24 records") {
			t.Errorf("%v: %q: want %q", relation, s, want)
		}
		if want := (3*216 + 9*24) / 240.; !close(plan.Summary().Passes, want, 1e-12) {
			t.Errorf("%v passes: want %v", plan.Summary().Passes, want)
		}
	}
}

// TestSelectedHandsBack: if an error ends the run or the selection, the caller must get the error and the
// last point. A single candidate must need no selection. An algorithm that draws cohorts must not make
// queries on all records, and an algorithm that makes queries on all records must not draw.
func TestSelectedHandsBack(t *testing.T) {
	p := convexProblems(t)[6]
	broken := errors.New("broken")
	zero, one := []float64{0, 0, 0}, []float64{1, 0, 0}
	start := func(o *chooser, inner planted) (optimize.Result, error) {
		plan, err := of(optimize.Selected{}, around(inner)).Plan(ctx, with(p.Public, o.Size()))
		if err != nil {
			t.Fatal(err)
		}
		return plan.Run(context.Background(), o, nil)
	}
	o := noiseless(t, p, account.ReplaceOne)
	if r, err := start(o, planted{points: [][]float64{zero}, result: one, err: broken}); !errors.Is(err, broken) ||
		r.Complete || !same(r.W, one) || len(o.asked) != 0 {
		t.Errorf("inner error: %+v, %v", r, err)
	}
	o = noiseless(t, p, account.ReplaceOne)
	o.err = broken
	if r, err := start(o, planted{points: [][]float64{zero}, result: one}); !errors.Is(err, broken) || r.Complete ||
		!same(r.W, one) || len(o.asked) != 1 {
		t.Errorf("failed selection: %+v, %v", r, err)
	}
	o = noiseless(t, p, account.ReplaceOne)
	if r, err := start(o, planted{points: [][]float64{zero, zero}, result: zero}); err != nil || !r.Complete ||
		len(o.asked) != 0 || r.Output != "as planted" {
		t.Errorf("one candidate: %+v, %v", r, err)
	}
	var errs []error
	mixed := planted{points: [][]float64{zero}, result: one, draws: 5, meet: func(o optimize.Oracle) {
		q, err := query.New(.001, query.GradientAt(o.All(), zero, 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = o.Draw(3); err == nil {
			_, err = o.Ask(context.Background(), q)
		}
		errs = append(errs, err)
	}}
	if _, err := start(noiseless(t, p, account.ReplaceOne), mixed); err != nil || len(errs) != 1 || errs[0] == nil ||
		!strings.Contains(errs[0].Error(), "about everybody") {
		t.Errorf("drew, then asked about all: %v, %v", errs, err)
	}
	mixed.draws, errs = 0, nil
	mixed.meet = func(o optimize.Oracle) {
		_, a := o.Draw(3)
		_, b := o.DrawEach(.1)
		errs = append(errs, a, b)
	}
	if _, err := start(noiseless(t, p, account.ReplaceOne), mixed); err != nil || len(errs) != 2 || errs[0] == nil ||
		errs[1] == nil || !strings.Contains(errs[0].Error()+errs[1].Error(), "already has all of them") {
		t.Errorf("asked about all, then drew: %v, %v", errs, err)
	}
}

// TestSelectedRefuses: each error must name the field, its value and the rule.
func TestSelectedRefuses(t *testing.T) {
	p, given := optimizetest.Problems()[2].Public, size{Records: 1000, Mu: .5}
	fine := around(planted{points: [][]float64{{0, 0, 0}}})
	broken := errors.New("broken")
	b := budget(t)
	regularized := p
	regularized.Regularizer = l2(t, .1)
	none := p
	none.Regularizer = loss.None()
	plan := func(c optimize.Selected, p optimize.Problem, s size, inner planner) error {
		out, err := of(c, inner).Plan(ctx, with(p, s))
		if err != nil && out != nil {
			t.Errorf("a plan beside %v", err)
		}
		return err
	}
	tiny := given
	tiny.Records = 1
	weak := given
	weak.Mu = 1e-14
	for want, err := range map[string]error{
		"share = 1: must be > 0 and < 1":             plan(optimize.Selected{Share: 1}, p, given, fine),
		"share = NaN: must be > 0 and < 1":           plan(optimize.Selected{Share: math.NaN()}, p, given, fine),
		"candidates = -1: must be between 1 and":     plan(optimize.Selected{Candidates: -1}, p, given, fine),
		"candidates = 10001: must be between":        plan(optimize.Selected{Candidates: 10001}, p, given, fine),
		"by = score(3): must be one of":              plan(optimize.Selected{By: 3}, p, given, fine),
		"by = value: regularizer l2(0.1): must":      plan(optimize.Selected{By: optimize.ByValue}, regularized, given, fine),
		"share = 0.1: must leave some of the 1 reco": plan(optimize.Selected{}, p, tiny, fine),
		"mu = 1e-14: must allow a selection":         plan(optimize.Selected{}, p, weak, fine),
		"records = 0: must be finite":                plan(optimize.Selected{}, p, size{Mu: 1}, fine),
		"dimension = 0: must be >= 1":                plan(optimize.Selected{}, optimize.Problem{}, given, fine),
		"dp-sgd samples everybody, the held-out": plan(optimize.Selected{}, p, given,
			func(p optimize.Problem, s size) (optimize.Plan, error) {
				return firstorder.SGD{Steps: 5}.Plan(ctx, with(p, s, b))
			}),
		"spiderboost-batches samples everybody, the ": plan(optimize.Selected{}, p, given,
			func(p optimize.Problem, s size) (optimize.Plan, error) {
				return firstorder.SpiderBoost{Steps: 5, AnchorBatch: .5, DifferenceBatch: .5}.Plan(ctx, with(p, s, b))
			}),
	} {
		if err == nil || !strings.Contains(err.Error(), "optimize: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
	if err := plan(optimize.Selected{}, p, given,
		func(optimize.Problem, size) (optimize.Plan, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("inner plan: %v", err)
	}
	if err := plan(optimize.Selected{By: optimize.ByValue}, none, given, fine); err != nil {
		t.Errorf("no regularizer: %v", err)
	}
	// For any budget, the charge of the selection must be at most the budget.
	for _, mu := range []float64{1e-9, 1e-3, .3, 2, 9, 60} {
		out, err := of(optimize.Selected{}, fine).Plan(ctx, with(p, size{Records: 1000, Mu: mu}))
		if err != nil {
			t.Fatal(err)
		}
		charged, err := mechanism.SelectionMu(optimize.SelectionEpsilon(out))
		if err != nil || charged > mu || optimize.SelectionEpsilon(out) < 16 && charged < mu*(1-1e-4) {
			t.Errorf("mu = %v: epsilon %v is charged %v, %v", mu, optimize.SelectionEpsilon(out), charged, err)
		}
	}
}
