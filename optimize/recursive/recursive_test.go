package recursive_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// recursion recomputes Algorithm 3 with Algorithm 7 (Arora et al. 2023) from a run's answers. It is
// slow and simple: it adds the gradient of every quadratic separately and computes every weight as a
// power.
type recursion struct {
	p              optimize.Problem
	rounds, steps  int
	lambda, growth float64
	radius, h      float64
}

// follow returns the points at which the queries must be made. averages[k] is the weighted average
// after k answers, in the round of the last of these answers.
func (c recursion) follow(answers [][]float64) (points, averages [][]float64) {
	origin := make([]float64, c.p.Dim())
	copy(origin, c.p.Start)
	if c.p.Set != nil {
		c.p.Set.Project(origin)
	}
	l1 := c.p.Constants.Curvature.Hi
	var reg float64
	if c.p.Regularizer != nil {
		reg = c.p.Regularizer.Smoothness()
	}
	centres := [][]float64{origin}
	averages = [][]float64{origin}
	for t := 1; t <= c.rounds; t++ {
		lambda := func(s int) float64 { return c.lambda * math.Pow(c.growth, float64(s)) }
		var pull float64
		for s := range t {
			pull += lambda(s)
		}
		eta := min(c.h/(l1+reg+pull), 1/(reg+pull))
		w := centres[t-1]
		var sum []float64
		var weights float64
		for k := 1; k <= c.steps; k++ {
			points = append(points, w)
			if len(answers) == 0 {
				return points, averages
			}
			grad := add(answers[0], 1, make([]float64, c.p.Dim()))
			answers = answers[1:]
			if c.p.Regularizer != nil {
				c.p.Regularizer.AddGradient(grad, w)
			}
			for s, centre := range centres {
				grad = add(grad, lambda(s), add(w, -1, centre))
			}
			w = add(w, -eta, grad)
			if c.p.Set != nil {
				c.p.Set.Project(w)
			} else if r, away := math.Pow(2, float64(t)*math.Log2(c.growth)/2)*c.radius, add(w, -1, origin); length(away) > r {
				w = add(origin, r/length(away), away)
			}
			weight := math.Pow(1-eta*lambda(t), -float64(k))
			if sum == nil {
				sum = make([]float64, c.p.Dim())
			}
			sum = add(sum, weight, w)
			weights += weight
			averages = append(averages, add(make([]float64, c.p.Dim()), 1/weights, sum))
		}
		centres = append(centres, averages[len(averages)-1])
	}
	return points, averages
}

// TestRecursiveAsksAsItsPageSays recomputes a run by Arora et al. 2023, Algorithms 3 and 7, with the
// deviations in Recursive's comment. The queries of a round must be gradients, clipped at L0, on n/T
// records of this round alone, or on all records. Each must be at the point that follows from the answers
// and the exact quadratics. Rounds on disjoint cohorts must be charged mu^2 each. Rounds on all records
// must be charged mu^2 together. A run that ends early must return the average so far. The test fails if a
// centre or a strength is wrong, a quadratic is clipped, the ball does not grow or is not around w_0,
// weights are equal, a round starts at w_0, or cohorts overlap.
func TestRecursiveAsksAsItsPageSays(t *testing.T) {
	const T, K = 4, 6
	broken := errors.New("broken")
	for _, p := range convexProblems(t) {
		for relation, o := range relations(t, p, 3) {
			for _, which := range []recursive.Division{recursive.Disjoint, recursive.AllRecords} {
				for _, stop := range []int{-1, 0, 9} {
					name := fmt.Sprintf("%s, %v, %v, stop %d", p.Name, relation, which, stop)
					config := p.Config(budgetOf(t, relation, 3), 1, 11)
					config.Declared = o.All().Size()
					config.Script = func(k int) error {
						if k == stop {
							return broken
						}
						return nil
					}
					o := optimizetest.New(config)
					c := recursion{p: p.Public, rounds: T, steps: K, lambda: .005, growth: 3, radius: .15, h: .7}
					plan, err := recursive.Recursive{
						Cohorts: which, Radius: c.radius, Lambda: c.lambda, Growth: c.growth, Rounds: T, Steps: K, StepScale: c.h,
					}.Plan(ctx, with(p.Public, o.Size()))
					if err != nil {
						t.Fatal(err)
					}
					r, err := plan.Run(context.Background(), o, nil)
					if (err != nil) != (stop >= 0) || err != nil &&
						(!errors.Is(err, broken) || !strings.Contains(err.Error(), "recursive")) {
						t.Fatalf("%s: error %v", name, err)
					}
					want := T * K
					if stop >= 0 {
						want = stop
					}
					var answers [][]float64
					for _, a := range o.Asked[:want] {
						answers = append(answers, a.Answer.Mean)
					}
					points, averages := c.follow(answers)
					mu := o.Size().Mu
					seen := map[uint64]int{}
					for k, a := range o.Asked {
						term := a.Question.Terms()[0]
						if len(a.Question.Terms()) != 1 || term.Kind() != query.Gradient ||
							term.Ball() != (query.ClipBall{Radius: p.Public.Constants.Lipschitz}) {
							t.Fatalf("%s: question %d: %s, %v", name, k, a.Question.Name(), term.Ball())
						}
						if !same(term.Point(), points[k]) {
							t.Fatalf("%s: question %d at %v: want %v", name, k, term.Point(), points[k])
						}
						if round, ok := seen[term.Cohort().ID()]; ok && round != k/K && which == recursive.Disjoint {
							t.Fatalf("%s: rounds %d and %d share records", name, round, k/K)
						}
						seen[term.Cohort().ID()] = k / K
						charge, size := mu*mu/K, o.All().Size()/T
						if relation == account.ReplaceOne {
							size = math.Floor(size)
						}
						if which == recursive.AllRecords {
							charge, size = charge/T, o.All().Size()
						}
						if !close(a.Question.Charge(), charge, 1e-8) || !close(term.Cohort().Size(), size, 1e-12) {
							t.Fatalf("%s: question %d: charge %v of %v records: want %v of %v", name, k, a.Question.Charge(),
								term.Cohort().Size(), charge, size)
						}
					}
					if len(o.Asked) != want && len(o.Asked) != want+1 || r.Steps != want || r.Complete != (stop < 0) {
						t.Errorf("%s: %d questions, %+v", name, len(o.Asked), r)
					}
					// After an error at the first query of a round, the result must be the round's
					// start.
					if !same(r.W, averages[want]) {
						t.Errorf("%s: result %v: want %v", name, r.W, averages[want])
					}
					if stop < 0 && !(o.Charged() <= mu*mu && o.Charged() > mu*mu*(1-1e-8)) {
						t.Errorf("%s: charged %v of %v", name, o.Charged(), mu*mu)
					}
				}
			}
		}
	}
}

// TestTheorem5: lambda, T, K_t, eta_t, weights and R_t must be as in Theorem 5 (Arora et al. 2023).
// The sizes make either term of K_t the larger one, or the limit of 10^6 steps apply. The test fails if
// D is not squared, if the step has lambda_s in place of lambda_t, or if K_t has T in place of T^2.
func TestTheorem5(t *testing.T) {
	p := optimizetest.Problems()[2].Public // logistic: L0 = 1, L1 = 1/4
	const D, l1 = 2., .25
	for _, s := range []size{{Records: 200, Mu: .1}, {Records: 200, Mu: .03}, {Records: 300, Mu: .5},
		{Records: 100, Mu: .4, Neighbours: 1}, {Records: 1e6, Mu: 1}} {
		N := s.Records * s.Mu / math.Sqrt(3)
		if s.Neighbours == 1 {
			N *= 2
		}
		lambda := 1 / (l1 * D * D) * min(1/s.Records, 1/(N*N))
		T := int(math.Floor(math.Log2(l1 / lambda)))
		plan, err := recursive.Recursive{Theorem: true, Radius: D}.Plan(ctx, with(p, s))
		if err != nil {
			t.Fatal(err)
		}
		rounds := recursive.Rounds(plan)
		if len(rounds) != T {
			t.Fatalf("%+v: %d rounds: want %d", s, len(rounds), T)
		}
		var pull float64
		for i, r := range rounds {
			n := float64(i + 1)
			lt := lambda * math.Pow(2, n)
			pull += lt / 2
			K := math.Ceil(max((l1+lt)/lt*math.Log((l1+lt)/lt), N*N*(lambda+math.Pow(l1, 1.5))/(float64(T*T)*lambda)))
			K = min(K, math.Floor(1e6/float64(T)))
			eta := min(math.Log(K)/(lt*K), 1/(l1+pull))
			size := s.Records / float64(T)
			if s.Neighbours != 1 {
				size = math.Floor(size)
			}
			ball, _ := r.Set.(convex.Ball)
			if float64(r.Steps) != K || !close(r.Centre, lt/2, 1e-12) || !close(r.Eta, eta, 1e-12) ||
				!close(r.Decay, eta*lt, 1e-12) ||
				r.Size != size || !close(r.Charge*K, s.Mu*s.Mu, 1e-8) || !close(ball.Radius(), math.Pow(2, n/2)*D, 1e-12) {
				t.Errorf("%+v, round %d: %+v: want K %v, eta %v, %v records", s, i+1, r, K, eta, size)
			}
		}
	}
}

// TestRecursiveRules compares the plan for zero settings with the rules' values.
func TestRecursiveRules(t *testing.T) {
	p, s := optimizetest.Problems()[2].Public, size{Records: 3e4, Mu: .3}
	plan := func(c recursive.Recursive, p optimize.Problem) optimize.Plan {
		t.Helper()
		out, err := c.Plan(ctx, with(p, s))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	ball, err := convex.NewBall([]float64{0, 3, 0}, 2)
	if err != nil {
		t.Fatal(err)
	}
	inBall := p
	inBall.Set, inBall.Start = ball, []float64{0, 4, 0}
	var assumed float64
	e, _, g := optimizetest.Spectrum(p)
	for i := range e {
		assumed += g[i] * g[i] / (e[i] * e[i])
	}
	N := with(p, s).Effective()
	for name, c := range map[string]struct {
		p optimize.Problem
		d float64
	}{"assumed": {p, math.Sqrt(assumed)}, "ball": {inBall, 3}} {
		r := plan(recursive.Recursive{}, c.p)
		lambda := .1 / (c.d * N)
		want := plan(recursive.Recursive{
			Cohorts: recursive.AllRecords, Radius: c.d * (1 + 1e-15), Lambda: lambda, Growth: 2, StepScale: 4,
			Rounds: int(math.Floor(math.Log2(c.p.Smoothness() / lambda))),
		}, c.p)
		if got := recursive.Rounds(r); !close(got[0].Centre, lambda, 1e-12) || len(got) != len(recursive.Rounds(want)) ||
			got[2].Steps != recursive.Rounds(want)[2].Steps {
			t.Errorf("%s: %+v: want %+v", name, r.Summary(), want.Summary())
		}
	}
	// Steps must be h/(L1 + sum lambda_s), and at most the largest step that is stable for the
	// quadratics.
	var pull float64
	short := 0
	for i, r := range recursive.Rounds(plan(recursive.Recursive{}, p)) {
		pull += r.Centre
		want := 4 / (.25 + pull)
		if want > 1/pull {
			want = 1 / pull
			short++
		}
		if !close(r.Eta, want, 1e-12) {
			t.Errorf("round %d: eta = %v: want %v", i+1, r.Eta, want)
		}
	}
	if short == 0 {
		t.Error("no round has quadratics that shorten its steps")
	}
	// K_t must be kappa log(kappa)/h, and at most 3/T of GD's steps.
	gd, err := firstorder.GD{}.Plan(ctx, with(p, s))
	if err != nil {
		t.Fatal(err)
	}
	rounds := recursive.Rounds(plan(recursive.Recursive{}, p))
	last := rounds[len(rounds)-1]
	kappa := (.25 + 2*last.Centre) / (2 * last.Centre)
	if most := 3 * gd.Summary().Steps / len(rounds); rounds[0].Steps != most {
		t.Errorf("the first round has %d steps: want %d", rounds[0].Steps, most)
	}
	if want := int(math.Ceil(kappa * math.Log(kappa) / 4)); last.Steps != want {
		t.Errorf("the last round has %d steps: want %d", last.Steps, want)
	}
	if a, b := plan(recursive.Recursive{Cohorts: recursive.Disjoint}, p),
		plan(recursive.Recursive{Cohorts: recursive.Disjoint, Growth: 8}, p); a.Summary() != b.Summary() {
		t.Errorf("disjoint: %+v, %+v", a.Summary(), b.Summary())
	}
}

// TestRecursiveConverges: without noise, the gradient at the result must be small. It equals the
// gradient of the added quadratics, which is lambda times a distance. The test fails for a wrong sign
// or centre.
func TestRecursiveConverges(t *testing.T) {
	if testing.Short() {
		t.Skip("repeats runs many times")
	}
	for _, p := range convexProblems(t) {
		if p.Public.Set != nil {
			continue
		}
		c := p.Config(budget(t), 1, 0)
		c.Noiseless = true
		o := optimizetest.New(c)
		plan, err := recursive.Recursive{Lambda: 1e-4, Radius: 4, Steps: 600, StepScale: 1}.Plan(ctx,
			with(p.Public, o.Size()))
		r := run(t, resolve(t, plan, err), o)
		if slope := length(p.Gradient(r.W)); !(slope <= 4e-4) {
			t.Errorf("%s: gradient %v at %v, minimum at %v", p.Name, slope, r.W, p.Minimiser)
		}
	}
}

// linear is an oracle for the quadratic (1/2) ||w - at||^2. Its answers have no noise. One answer, or
// all answers on one cohort, may have an impulse added.
type linear struct {
	optimize.Oracle
	at             []float64
	answer, cohort int // the answer or cohort with the impulse; 0 for none
	impulse        float64
	asked, drawn   int
	records        float64
}

func (o *linear) All() query.Cohort { return query.NewCohort(account.Everyone, o.records) }

func (o *linear) Draw(size int) (query.Cohort, error) {
	o.drawn++
	return query.NewCohort(uint64(o.drawn), float64(size)), nil
}

func (o *linear) Ask(_ context.Context, q query.Question) (query.Release, error) {
	o.asked++
	mean := add(q.Terms()[0].Point(), -1, o.at)
	if o.asked == o.answer {
		// one standard deviation of the noise, in the first coordinate
		mean[0] += o.impulse * 2 * q.Clip() / q.Cohort().Size() / math.Sqrt(q.Charge())
	}
	if o.cohort > 0 && int(q.Cohort().ID()) == o.cohort {
		mean[0] += o.impulse
	}
	return query.Release{Mean: mean, Charge: q.Charge()}, nil
}

// TestRecursivePrediction: on a quadratic with the assumed spectrum and start, the forecast must equal
// the sum of the squared effects of single impulses. The test fails if the noise of early rounds is
// left out or has a wrong weight, or if a cohort's sampling error is left out.
func TestRecursivePrediction(t *testing.T) {
	const n, l0, f0 = 6000, 4., .7
	for _, c := range []recursive.Recursive{
		{Rounds: 1, Lambda: .5, Steps: 3}, {Rounds: 3, Lambda: .3, Steps: 4, StepScale: .2},
		{Rounds: 4, Lambda: .2, Growth: 3, Steps: 6, StepScale: .1},
	} {
		for _, c.Cohorts = range []recursive.Division{recursive.Disjoint, recursive.AllRecords} {
			c.Radius = 1e6
			p := optimize.Problem{Shape: optimize.Vector(3),
				Constants: loss.Constants{Lipschitz: l0, Curvature: loss.CurvatureInterval{Hi: 1}, InitialGap: f0}}
			plan, err := c.Plan(ctx, with(p, size{Records: n, Mu: .4}))
			if err != nil {
				t.Fatal(err)
			}
			// The start has F(w_0) - F* = F0/2.
			minimiser := []float64{0, math.Sqrt(f0), 0}
			end := func(o linear) []float64 {
				o.at, o.records = minimiser, n
				return add(run(t, plan, &o).W, -1, minimiser)
			}
			quiet := end(linear{})
			square := math.Pow(length(quiet), 2)
			for k := 1; k <= c.Rounds*c.Steps; k++ {
				square += 3 * math.Pow(length(add(end(linear{answer: k, impulse: 1}), -1, quiet)), 2)
			}
			if c.Cohorts == recursive.Disjoint {
				for k := 1; k <= c.Rounds; k++ {
					moved := length(add(end(linear{cohort: k, impulse: 1}), -1, quiet))
					square += moved * moved * l0 * l0 * float64(c.Rounds) / n
				}
			}
			o := plan.Summary()
			if !close(o.Predicted, math.Sqrt(square), 1e-6) || !close(o.Excess, square/2, 1e-6) ||
				!close(o.Population, math.Sqrt(square+l0*l0/n), 1e-6) {
				t.Errorf("%+v: predicted %v, %v, excess %v: want %v, %v, %v", c, o.Predicted, o.Population, o.Excess,
					math.Sqrt(square), math.Sqrt(square+l0*l0/n), square/2)
			}
			if want := float64(c.Rounds * c.Steps); c.Cohorts == recursive.AllRecords && o.Passes != want ||
				c.Cohorts == recursive.Disjoint && !close(o.Passes, float64(c.Steps), 1e-12) {
				t.Errorf("%+v: %v passes", c, o.Passes)
			}
		}
	}
}

// TestNoisyGDResponse compares noisyGD.response with simulated runs on a quadratic. Each simulation has
// a single impulse: in the start or in one step's noise.
func TestNoisyGDResponse(t *testing.T) {
	for _, c := range []struct {
		steps             int
		eta, decay, curve float64
	}{{1, .5, .2, .7}, {9, .3, .1, .5}, {40, .1, 0, .4}, {12, .5, 1, .6}} {
		impulse := func(at int) float64 { // -1 means the start
			var w, sum, weights float64
			if at < 0 {
				w = 1
			}
			for k := range c.steps {
				w -= c.eta * c.curve * w
				if k == at {
					w -= c.eta
				}
				weight := math.Pow(1-c.decay, float64(c.steps-1-k))
				sum, weights = sum+weight*w, weights+weight
			}
			return sum / weights
		}
		var variance float64
		for k := range c.steps {
			variance += impulse(k) * impulse(k) / .25
		}
		keep, got := recursive.NoisyGDResponse(c.steps, c.eta, c.decay, .25, c.curve)
		if !close(keep, impulse(-1), 1e-12) || !close(got, variance, 1e-12) {
			t.Errorf("%+v: keeps %v, variance %v: want %v, %v", c, keep, got, impulse(-1), variance)
		}
	}
}

// TestRecursiveObserve: the observer must be called once a step, with numbers that count over all
// rounds, the ledger's charge so far and the current point.
func TestRecursiveObserve(t *testing.T) {
	p := convexProblems(t)[4]
	for relation := range relations(t, p, 1) {
		for _, which := range []recursive.Division{recursive.Disjoint, recursive.AllRecords} {
			o := relations(t, p, 1)[relation]
			plan, err := recursive.Recursive{Cohorts: which, Rounds: 3, Steps: 4}.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			var last []float64
			if _, err := plan.Run(context.Background(), o, func(s optimize.Step) {
				n++
				if s.Number != n || s.Of != 12 || plan.Summary().Steps != 12 || !close(s.Charged, o.Charged(), 1e-12) {
					t.Errorf("%v, %v: %+v: want %v charged", relation, which, s, o.Charged())
				}
				if point := o.Asked[n-1].Question.Terms()[0].Point(); n%4 != 1 && !same(point, last) {
					t.Errorf("%v, %v: step %d showed %v, the question is at %v", relation, which, n-1, last, point)
				}
				last = append(last[:0], s.W...)
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRecursiveRefuses: each error must name the field, its value and the rule.
func TestRecursiveRefuses(t *testing.T) {
	good, given := optimizetest.Problems()[2].Public, size{Records: 1000, Mu: .5}
	nonconvex, err := loss.Nonconvex(.01)
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		c      recursive.Recursive
		change func(*optimize.Problem, *size)
	}{
		"the loss's curvature = [-0.76": {change: func(p *optimize.Problem,
			_ *size) {
			p.Constants = loss.Tanh().Constants()
		}},
		"regularizer nonconvex(0.01) has curvature -0.005: must be": {change: func(p *optimize.Problem,
			_ *size) {
			p.Regularizer = nonconvex
		}},
		"inner = inner(2): must be one of":     {c: recursive.Recursive{Inner: 2}},
		"cohorts = cohorts(3): must be one of": {c: recursive.Recursive{Cohorts: 3}},
		"cohorts = all: must be disjoint for phased-sgd": {c: recursive.Recursive{Inner: recursive.PhasedSGD,
			Cohorts: recursive.AllRecords}},
		"steps = 3: must be 0 for phased-sgd": {c: recursive.Recursive{Inner: recursive.PhasedSGD,
			Steps: 3}},
		"steps = -1 a round: must be between":     {c: recursive.Recursive{Steps: -1}},
		"steps = 600000 a round: must be at most": {c: recursive.Recursive{Steps: 600_000, Rounds: 2}},
		"rounds = -1: must be between":            {c: recursive.Recursive{Rounds: -1}},
		"rounds = 101: must be between":           {c: recursive.Recursive{Rounds: 101}},
		"rounds = 8: must leave each at least 1 of the 7 records": {c: recursive.Recursive{Rounds: 8,
			Cohorts: recursive.Disjoint}, change: func(_ *optimize.Problem, s *size) { s.Records = 7 }},
		"rounds = 2: must leave each at least 4 of the 7 records": {c: recursive.Recursive{Rounds: 2,
			Inner: recursive.PhasedSGD}, change: func(_ *optimize.Problem, s *size) { s.Records = 7 }},
		"distance = -1: must be finite":            {c: recursive.Recursive{Radius: -1}},
		"distance = NaN: must be finite":           {c: recursive.Recursive{Radius: math.NaN()}},
		"lambda = +Inf: must be finite":            {c: recursive.Recursive{Lambda: math.Inf(1)}},
		"growth = 1.5: must be between 2 and 1024": {c: recursive.Recursive{Growth: 1.5}},
		"step scale = NaN: must be finite":         {c: recursive.Recursive{StepScale: math.NaN()}},
		"phased-sgd: must be noisy-gd under add-or-remove": {c: recursive.Recursive{Inner: recursive.PhasedSGD},
			change: func(_ *optimize.Problem, s *size) { s.Neighbours = 1 }},
		"must be noisy-gd for a loss that is not rank-one": {c: recursive.Recursive{Inner: recursive.PhasedSGD},
			change: func(p *optimize.Problem, _ *size) { p.RankOne = false }},
		"set odd: must be a ball": {c: recursive.Recursive{Inner: recursive.PhasedSGD},
			change: func(p *optimize.Problem, _ *size) { p.Set = odd{} }},
		"records = 0: must be finite": {change: func(_ *optimize.Problem,
			s *size) {
			s.Records = 0
		}},
	} {
		p, s := good, given
		if c.change != nil {
			c.change(&p, &s)
		}
		if plan, err := c.c.Plan(ctx, with(p, s)); err == nil || plan != nil ||
			!strings.Contains(err.Error(), "optimize: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
	for name, value := range map[string]func(i uint8) fmt.Stringer{
		"inner":   func(i uint8) fmt.Stringer { return recursive.Inner(i) },
		"cohorts": func(i uint8) fmt.Stringer { return recursive.Division(i) },
		"score":   func(i uint8) fmt.Stringer { return optimize.Score(i) },
	} {
		parse := func(s string) (fmt.Stringer, error) {
			i, err := optimize.Named(name, s, value)
			return value(i), err
		}
		for _, s := range map[string][]string{"inner": {"noisy-gd", "phased-sgd"}, "cohorts": {"", "disjoint", "all"},
			"score": {"gradient", "value"}}[name] {
			if v, err := parse(s); err != nil || v.String() != s {
				t.Errorf("%s: %q is read as %v, %v", name, s, v, err)
			}
		}
		if _, err := parse("x"); err == nil || !strings.Contains(err.Error(), name+` = "x": must be one of [`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// odd is a set that is neither a ball nor the whole space.
type odd struct{ convex.Whole }

func (odd) Name() string { return "odd" }
