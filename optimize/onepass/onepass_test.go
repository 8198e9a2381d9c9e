package onepass_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// everywhere runs f on every variant of the shared problems, with the given number of copies of each
// row, under both relations.
func everywhere(t *testing.T, copies int, f func(name string, p optimizetest.Problem, o func() *optimizetest.Oracle)) {
	t.Helper()
	for _, p := range variants(t) {
		p = crowd(p, copies)
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			c := p.Config(budgetOf(t, relation, 1), 1, 5)
			c.Declared = float64(len(p.Rows))
			f(p.Name+", "+relation.String(), p, func() *optimizetest.Oracle { return optimizetest.New(c) })
		}
	}
}

// usesEachRecordOnce fails the test unless each query uses a new cohort of the expected size (up to
// rounding) and is charged mu^2, and the cohorts together have at most as many records as the table.
func usesEachRecordOnce(t *testing.T, name string, o *optimizetest.Oracle, sizes []float64) {
	t.Helper()
	seen := map[uint64]bool{}
	var sum float64
	for k, a := range o.Asked {
		c := a.Question.Cohort()
		if c.Everyone() || seen[c.ID()] {
			t.Fatalf("%s: question %d: cohort %d has been asked about", name, k, c.ID())
		}
		seen[c.ID()] = true
		sum += c.Size()
		if k < len(sizes) && !close(c.Size(), sizes[k], 1e-9) {
			t.Fatalf("%s: question %d: %v records: want %v", name, k, c.Size(), sizes[k])
		}
		withinBudget(t, o.Size().Mu, []float64{a.Question.Charge()})
		withinBudget(t, o.Size().Mu, []float64{a.Answer.Charge})
	}
	if n := o.Size().Records; sum > n*(1+1e-9) {
		t.Fatalf("%s: %v records asked about of %v", name, sum, n)
	}
}

// paced computes the step sizes of [optimize.Pace] a second time, from the angle between two estimates
// and the curvature along the last step.
type paced struct {
	eta   float64
	least float64 // the pace does not shorten steps below this size
	last  []float64
	turns int
}

func newPaced(p optimize.Problem, scale float64) paced {
	eta := stepSize(p, scale)
	return paced{eta: eta, least: math.Min(eta, 1/p.Smoothness())}
}

func (p *paced) step(g []float64) float64 {
	if p.last != nil {
		var product float64
		for j := range g {
			product += g[j] * p.last[j]
		}
		if math.Acos(product/length(g)/length(p.last)) > 2*math.Pi/3 {
			// The last step moved w by -eta last, and the gradient changed by g - last.
			moved, changed := length(p.last)*length(p.last), product-length(p.last)*length(p.last)
			if eta := 1 / (-changed / moved / p.eta); eta > p.least {
				p.eta = eta
			} else {
				p.eta = p.least
			}
			p.turns++
		}
	}
	p.last = g
	return p.eta
}

func full(p optimize.Problem, w, g []float64) []float64 {
	sum := add(g, 1, make([]float64, len(g)))
	if p.Regularizer != nil {
		p.Regularizer.AddGradient(sum, w)
	}
	return sum
}

// start returns the starting point w_0, projected on the feasible set.
func start(p optimize.Problem) []float64 {
	w := make([]float64, p.Dim())
	copy(w, p.Start)
	if p.Set != nil {
		p.Set.Project(w)
	}
	return w
}

// TestOnePassSGDAsksAsItsPageSays recomputes a run from its released answers. Step t must release one
// gradient, at the iterate computed from the answers, on a cohort of its own and at a charge of mu^2.
// The result must be the mean, weighted by cohort size, of the points that steps t >= T/2 reach. The
// test fails if a record is used twice, if the budget is divided, if the average is over other points,
// or if a step that overshoots does not shorten later steps.
func TestOnePassSGDAsksAsItsPageSays(t *testing.T) {
	const T = 9
	turns := 0
	everywhere(t, 40, func(name string, p optimizetest.Problem, open func() *optimizetest.Oracle) {
		for _, c := range []onepass.SGD{{StepScale: .5}, {StepScale: 40}, {StepScale: .5, EqualCohorts: true}} {
			o := open()
			c.Steps = T
			plan, err := c.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, plan, o)
			usesEachRecordOnce(t, name, o, onepass.Sizes(plan))
			w, pace := start(p.Public), newPaced(p.Public, c.StepScale)
			mean, weight := make([]float64, len(w)), 0.
			for k, a := range o.Asked {
				term := a.Question.Terms()[0]
				if len(a.Question.Terms()) != 1 || term.Kind() != query.Gradient || term.Weight() != 1 || !same(term.Point(), w) ||
					term.Ball() != (query.ClipBall{Radius: p.Public.Constants.Lipschitz}) {
					t.Fatalf("%s: question %d: %s: want a gradient at %v", name, k, a.Question.Name(), w)
				}
				w = descend(p.Public, w, a.Answer.Mean, pace.step(full(p.Public, w, a.Answer.Mean)))
				if 2*(k+1) >= T {
					mean = add(mean, a.Question.Cohort().Size(), w)
					weight += a.Question.Cohort().Size()
				}
			}
			if len(o.Asked) != T || !same(result.W, add(make([]float64, len(w)), 1/weight, mean)) || !result.Complete ||
				result.Steps != T {
				t.Errorf("%s: %d questions, %+v: want %d, %v", name, len(o.Asked), result, T,
					add(make([]float64, len(w)), 1/weight, mean))
			}
			turns += pace.turns
		}
	})
	if turns == 0 {
		t.Error("no step overshot")
	}
}

// TestOnePassSTORMAsksAsItsPageSays recomputes a run from its released answers. Query t must mix the
// cohort's gradient and difference with the K that minimises (1-K)^2 P + (K L0 + (1-K) R)^2 v, where v
// = d (neighbours/b)^2/mu^2 + 1/b. The estimate must be (1-K) times the last one plus the answer. The
// test fails if v lacks sampling or noise, if R is not for the true distance, or if the last estimate
// is not multiplied by 1-K.
func TestOnePassSTORMAsksAsItsPageSays(t *testing.T) {
	const T = 9
	turns := 0
	everywhere(t, 40, func(name string, p optimizetest.Problem, open func() *optimizetest.Oracle) {
		for _, c := range []onepass.STORM{
			{StepScale: .5}, {StepScale: 40}, {StepScale: .05, Ball: optimize.DifferenceBall{Fraction: 1}, EqualCohorts: true},
			{StepScale: .5, Ball: optimize.DifferenceBall{Fraction: .3}},
		} {
			o := open()
			c.Steps = T
			plan, err := c.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			first, others := onepass.Sizes(plan)[0]/o.Size().Records, 1-onepass.Sizes(plan)[0]/o.Size().Records
			if work := plan.Workload().Kinds; work[query.Gradient].Queries != T || work[query.Difference].Queries != T-1 ||
				!close(work[query.Gradient].Passes, first+others, 1e-9) || !close(work[query.Difference].Passes, others, 1e-9) {
				t.Errorf("%s: workload %v: must be a pass of gradients, and %v of differences", name, work, others)
			}
			result := run(t, plan, o)
			usesEachRecordOnce(t, name, o, onepass.Sizes(plan))
			size, l0 := o.Size(), p.Public.Constants.Lipschitz
			w, pace := start(p.Public), newPaced(p.Public, c.StepScale)
			prev, estimate, P := w, make([]float64, len(w)), 0.
			for k, a := range o.Asked {
				b := a.Question.Cohort().Size()
				v := float64(p.Public.Dim())*math.Pow(size.Neighbours/b/size.Mu, 2) + 1/b
				K, R := 1., 0.
				if k > 0 {
					R = differenceBall(p.Public, c.Ball.Fraction, length(add(w, -1, prev))).Radius
					K = min(max((P-R*(l0-R)*v)/(P+(l0-R)*(l0-R)*v), 0), 1)
				}
				terms := a.Question.Terms()
				if len(terms) != count(K > 0, K < 1 && R > 0) {
					t.Fatalf("%s: question %d: %s: want gain %v, radius %v", name, k, a.Question.Name(), K, R)
				}
				if K > 0 && (terms[0].Kind() != query.Gradient || !close(terms[0].Weight(), K, 1e-6) ||
					!same(terms[0].Point(), w) || terms[0].Ball() != (query.ClipBall{Radius: l0})) {
					t.Fatalf("%s: question %d: %v, weight %v: want a gradient, %v", name, k, terms[0].Kind(), terms[0].Weight(), K)
				}
				if last := terms[len(terms)-1]; K < 1 && R > 0 {
					isDifference(t, k, p.Public, c.Ball.Fraction, last, w, prev)
					if !close(last.Weight(), 1-K, 1e-6) {
						t.Fatalf("%s: question %d: difference has weight %v: want %v", name, k, last.Weight(), 1-K)
					}
				}
				P = (1-K)*(1-K)*P + math.Pow(K*l0+(1-K)*R, 2)*v
				estimate = add(a.Answer.Mean, 1-K, estimate)
				prev, w = w, descend(p.Public, w, estimate, pace.step(full(p.Public, w, estimate)))
			}
			if len(o.Asked) != T || !same(result.W, w) || !result.Complete {
				t.Errorf("%s: %d questions, %+v: want %d, the last iterate %v", name, len(o.Asked), result, T, w)
			}
			turns += pace.turns
		}
	})
	if turns == 0 {
		t.Error("no step overshot")
	}
}

// TestOnePassSizes: the cohorts must use all records, with sizes proportional to sqrt(t) up to one
// record, in whole numbers under replace-one. The test fails if rounding loses records.
func TestOnePassSizes(t *testing.T) {
	p := optimizetest.Problems()[2].Public
	for _, neighbours := range []float64{1, 2} {
		for _, n := range []float64{30, 1000, 12345} {
			for _, T := range []int{1, 2, 9} {
				s := size{Records: n, Mu: .3, Neighbours: neighbours}
				sgd, err := onepass.SGD{Steps: T}.Plan(ctx, with(p, s))
				resolve(t, sgd, err)
				storm, err := onepass.STORM{Steps: T, EqualCohorts: true}.Plan(ctx, with(p, s))
				resolve(t, storm, err)
				var all, alike, roots float64
				for k := range T {
					roots += math.Sqrt(float64(k + 1))
				}
				for k := range T {
					a, b := onepass.Sizes(sgd)[k], onepass.Sizes(storm)[k]
					all, alike = all+a, alike+b
					if neighbours == 2 && (a != math.Trunc(a) || b != math.Trunc(b)) {
						t.Errorf("n = %v, T = %d: cohorts of %v and %v", n, T, a, b)
					}
					if !(math.Abs(a-n*math.Sqrt(float64(k+1))/roots) <= 1) || !(math.Abs(b-n/float64(T)) <= 1) {
						t.Errorf("n = %v, T = %d: cohort %d of %v and %v", n, T, k+1, a, b)
					}
				}
				if !close(all, n, 1e-12) || !close(alike, n, 1e-12) {
					t.Errorf("n = %v, T = %d: %v and %v records", n, T, all, alike)
				}
			}
		}
	}
}

// TestOnePassStepRule: the default number of steps must be 4 sqrt(N)/h rounded up, at most 1000, for
// the effective size N, with h = 16 for rank-one losses and 1 for others, and smaller if there are
// too few records. The step size must be h/L1, or the size with which errors of all steps, by noise and by sampling,
// move the iterate by 2 sqrt(2 F0/L1) max(1, N/500), if this is smaller. It must occur in small tables and not in
// large ones. A step scale that is set must be kept.
func TestOnePassStepRule(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		h := 1.
		if p.Public.RankOne {
			h = 16
		}
		limited := map[float64]bool{}
		for _, n := range []float64{1, 2, 20, 1e4, 1e6, 1e9} {
			s := size{Records: n, Mu: .5}
			N := with(p.Public, s).Effective()
			want := min(math.Ceil(4*math.Sqrt(N)/h), 1000)
			smallest := func(T float64) float64 { // size of the first cohort
				var roots float64
				for k := 1.; k <= T; k++ {
					roots += math.Sqrt(k)
				}
				return n / roots
			}
			for want > 1 && smallest(want) < 1 {
				want--
			}
			sgd, err := onepass.SGD{}.Plan(ctx, with(p.Public, s))
			resolve(t, sgd, err)
			storm, err := onepass.STORM{}.Plan(ctx, with(p.Public, s))
			momentum := resolve(t, storm, err).Summary()
			var square float64
			sizes, _ := onepass.CohortSizes(with(p.Public, s), int(want), false)
			for _, size := range sizes {
				square += 4*float64(p.Public.Dim())/(size*size*s.Mu*s.Mu) + 1/size
			}
			R := math.Sqrt(2 * p.Public.Constants.InitialGap / p.Public.Smoothness())
			eta := min(stepSize(p.Public, h), 2*R*max(1, N/500)/(p.Public.Constants.Lipschitz*math.Sqrt(square)))
			limited[n] = eta < stepSize(p.Public, h)
			given, err := onepass.SGD{StepScale: 3}.Plan(ctx, with(p.Public, s))
			if got := resolve(t, given, err).Summary().StepSize; !close(got, stepSize(p.Public, 3), 1e-12) {
				t.Errorf("%s, n = %v: step %v with a scale of 3", p.Name, n, got)
			}
			for _, o := range []optimize.Summary{sgd.Summary(), momentum} {
				if float64(o.Steps) != want || !close(o.StepSize, eta, 1e-6) || o.Passes != 1 {
					t.Errorf("%s, n = %v: %+v: want %v steps of %v", p.Name, n, o, want, eta)
				}
			}
		}
		if !limited[20] || limited[1e6] {
			t.Errorf("%s: limited %v", p.Name, limited)
		}
	}
}

// onePassMethods returns the methods of the package with the given settings.
func onePassMethods(t testing.TB, steps int, scale float64, output optimize.Output) []method {
	return []method{
		{"one-pass-sgd", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return onepass.SGD{Steps: steps, StepScale: scale, Output: output}.Plan(ctx, with(p, s))
		}},
		{"one-pass-storm", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return onepass.STORM{Steps: steps, StepScale: scale, Output: output}.Plan(ctx, with(p, s))
		}},
		{"tree-spider", func(p optimize.Problem, s size) (optimize.Plan, error) {
			return onepass.TreeSpider{Rounds: steps / 8, Depth: 3, StepScale: scale, Output: output}.Plan(ctx,
				with(p, s, budget(t)))
		}},
	}
}

// TestOnePassConvergesWithoutNoise: without noise and on equal records every method must reach the
// minimum. The test fails for a wrong sign, step or estimate.
func TestOnePassConvergesWithoutNoise(t *testing.T) {
	p := crowd(wide(4, 0), 3000)
	for _, scale := range []float64{1, 8} { // steps of 8/L1 overshoot
		for _, rule := range []optimize.Output{optimize.Last, optimize.Smallest, optimize.TailAverage} {
			for _, m := range onePassMethods(t, 160, scale, rule) {
				c := p.Config(budget(t), 1, 0)
				c.Noiseless = true
				o := optimizetest.New(c)
				plan, err := m.plan(p.Public, o.Size())
				r := run(t, resolve(t, plan, err), o)
				if slope := length(p.Gradient(r.W)); !(slope <= 1e-6) {
					t.Errorf("%s, h = %v, %v: gradient %.2g", m.name, scale, rule, slope)
				}
			}
		}
	}
}

// TestOnePassPrediction compares the forecast with the mean over runs, on the quadratic that forecasts
// assume. There the noise is far larger than the sampling error. The tolerance is deviation(600) = .36
// of the square for 600 runs, plus .1 because the rows here have no sampling error and because
// forecasts replace lengths by their root mean square. With long steps the tree's forecast is only an
// upper bound, since steps have different directions. The test fails if the average's weights, the
// start or the noise are wrong.
func TestOnePassPrediction(t *testing.T) {
	const d, n = 48, 104
	runs := 600
	if testing.Short() {
		runs = 300
	}
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p := optimize.Problem{Shape: optimize.Vector(d), RankOne: true, Constants: optimizetest.Problems()[2].Public.Constants}
	p.Constants.Lipschitz = 20
	for _, c := range []struct {
		scale, f0 float64
		rule      optimize.Output
	}{{2, 20, optimize.Last}, {2, 20, optimize.TailAverage}, {.1, .001, optimize.Last}} {
		p.Constants.InitialGap, p.Start = c.f0, nil
		family := optimizetest.AssumedQuadratic(p, 0)
		p.Start = family.Start
		for _, m := range onePassMethods(t, 8, c.scale, c.rule) {
			var squares, want float64
			for seed := range uint64(runs) {
				config := family.Config(b, 1, seed)
				for range n - 1 {
					config.Rows, config.Targets = append(config.Rows, config.Rows[0]), append(config.Targets, 0)
				}
				o := optimizetest.New(config)
				plan, err := m.plan(p, o.Size())
				squares += math.Pow(length(family.Gradient(run(t, resolve(t, plan, err), o).W)), 2) / float64(runs)
				want = math.Pow(plan.Summary().Population, 2)
				for _, a := range o.Asked {
					if a.Clipped > 0 {
						t.Fatal("something was clipped")
					}
				}
				if plan.Summary().Predicted != plan.Summary().Population {
					t.Fatal("two predictions")
				}
			}
			ratio, tolerance := squares/want, deviation(float64(runs))+.1
			low := 1 - tolerance
			if m.name == "tree-spider" && c.scale > 1 {
				low = .2
			}
			if ratio > 1+tolerance || ratio < low {
				t.Errorf("%s, %+v: mean square is %.3f of the predicted: want %.3f to %.3f", m.name, c, ratio, low, 1+tolerance)
			}
		}
	}
}

// TestOnePassStopsAndHandsBack: if an error ends a run, the caller must get the error and the last
// point.
func TestOnePassStopsAndHandsBack(t *testing.T) {
	p := crowd(optimizetest.Problems()[2], 40)
	failure := errors.New("stop here")
	for _, m := range onePassMethods(t, 16, .5, optimize.Last) {
		for _, stop := range []int{0, 1, 7, 15} {
			c := p.Config(budget(t), 1, 9)
			c.Script = func(k int) error {
				if k == stop {
					return failure
				}
				return nil
			}
			o := optimizetest.New(c)
			plan, err := m.plan(p.Public, o.Size())
			resolve(t, plan, err)
			r, err := plan.Run(context.Background(), o, nil)
			if !errors.Is(err, failure) || !strings.Contains(err.Error(), m.name+": step") || r.Complete || r.Steps != stop ||
				!same(r.W, o.Asked[stop].Question.Terms()[0].Point()) {
				t.Errorf("%s at %d: %+v, %v", m.name, stop, r, err)
			}
		}
		// The privacy filter stops a run whose plan was made for a larger budget.
		o := optimizetest.New(p.Config(budget(t), 1, 9))
		size := o.Size()
		size.Mu *= 1.2
		plan, err := m.plan(p.Public, size)
		resolve(t, plan, err)
		r, err := plan.Run(context.Background(), o, nil)
		var over *account.BudgetError
		if !errors.As(err, &over) || r.Complete || r.W == nil {
			t.Errorf("%s: %+v, %v", m.name, r, err)
		}
	}
}

// TestOnePassPlansArePure: runs of one plan must be independent, and the observer must be called once
// for every step, with the largest total charge of a record so far.
func TestOnePassPlansArePure(t *testing.T) {
	p := crowd(optimizetest.Problems()[3], 40)
	for _, rule := range []optimize.Output{optimize.TailAverage, optimize.Last, optimize.Smallest, optimize.Random} {
		for _, m := range onePassMethods(t, 16, .5, rule) {
			config := p.Config(budget(t), 1, 6)
			o := optimizetest.New(config)
			plan, err := m.plan(p.Public, o.Size())
			resolve(t, plan, err)
			before := plan.Summary()
			var seen []float64
			r, err := plan.Run(context.Background(), o, func(s optimize.Step) {
				seen = append(seen, s.GradientNorm)
				_, charged := charges(o.Asked)
				if s.Number != len(seen) || s.Of != 16 || s.Charged != slices.Max(charged) {
					t.Errorf("%s: %+v", m.name, s)
				}
			})
			if err != nil || len(seen) != 16 || !reflect.DeepEqual(run(t, plan, optimizetest.New(config)), r) ||
				plan.Summary() != before {
				t.Errorf("%s, %v: %d steps, %v", m.name, rule, len(seen), err)
			}
		}
	}
}

// TestOnePassInvalidSettings: each error must name the field, its value and the rule.
func TestOnePassInvalidSettings(t *testing.T) {
	p, s := optimizetest.Problems()[2].Public, size{Records: 1000, Mu: .5}
	unknown := optimize.Output(9)
	for want, err := range map[string]error{
		"one-pass-sgd: steps = -1: must be between":          second(onepass.SGD{Steps: -1}.Plan(ctx, with(p, s))),
		"one-pass-sgd: steps = 1000001: must be between":     second(onepass.SGD{Steps: 1000001}.Plan(ctx, with(p, s))),
		"one-pass-sgd: steps = 900: must leave every cohort": second(onepass.SGD{Steps: 900}.Plan(ctx, with(p, s))),
		"one-pass-sgd: step scale = NaN: must be finite": second(onepass.SGD{StepScale: math.NaN()}.Plan(ctx,
			with(p, s))),
		"output = output(9): must be one of [tail-average": second(onepass.SGD{Output: unknown}.Plan(ctx, with(p, s))),
		"one-pass-storm: steps = -1: must be between":      second(onepass.STORM{Steps: -1}.Plan(ctx, with(p, s))),
		"one-pass-storm: step scale = -4: must be finite":  second(onepass.STORM{StepScale: -4}.Plan(ctx, with(p, s))),
		"ball fraction = 2: must be 0":                     second(onepass.STORM{Ball: optimize.DifferenceBall{Fraction: 2}}.Plan(ctx, with(p, s))),
		"output = output(9): must be one of":               second(onepass.STORM{Output: unknown}.Plan(ctx, with(p, s))),
		"dimension = 0: must be":                           second(onepass.SGD{}.Plan(ctx, with(optimize.Problem{}, s))),
		"records = 0: must be":                             second(onepass.STORM{}.Plan(ctx, with(p, size{}))),
	} {
		if err == nil || !strings.Contains(err.Error(), "optimize: "+want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}

func second[P any](_ P, err error) error { return err }
