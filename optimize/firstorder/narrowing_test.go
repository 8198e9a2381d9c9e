package firstorder_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// skewed returns a table of rows (1, u, v)/sqrt 3, whose targets have a long tail above .2 u, and the
// pinball loss of its .9-quantile, smoothed over the given radius.
func skewed(t *testing.T, repeat int, radius float64, regularized bool) (optimizetest.Problem, loss.Kinked) {
	t.Helper()
	l, err := loss.Pinball(.9)
	if err != nil {
		t.Fatal(err)
	}
	p := optimize.Problem{Shape: optimize.Vector(3), RankOne: true, Kinked: l, Constants: l.Constants(),
		Records: float64(200 * repeat), Mu: .5, Relation: account.ReplaceOne}
	if regularized {
		p.Regularizer = optimizetest.L2(t, .05)
	}
	if p, err = p.Smoothed(query.Smoothing{Radius: radius}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	out := optimizetest.Problem{Name: fmt.Sprint("skewed, regularized ", regularized), Public: p, Loss: l}
	for range 200 {
		u, v, tail := 2*r.Float64()-1, 2*r.Float64()-1, r.Float64()
		out.Rows = append(out.Rows, []float32{.577, float32(.577 * u), float32(.577 * v)})
		out.Targets = append(out.Targets, .2*u-.3+math.Pow(tail, 4))
	}
	return out, l
}

// bound returns the bound on the curvature of the loss smoothed over a ball of the given radius.
func bound(t *testing.T, l loss.Kinked, dim int, radius float64) float64 {
	t.Helper()
	by, err := loss.OverBall(dim, radius)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.SmoothedConstants(by)
	if err != nil {
		t.Fatal(err)
	}
	return c.Curvature.Hi
}

// TestNarrowingAsksAsItsPageSays recomputes a run with falling radii. After the second moment, seven
// mean squares at w = 0, for radii from sqrt(d+2) to the problem's, must determine the first radius.
// The smoothing radii of gradients and mean squares must fall geometrically over the first half of the
// steps and then stay. Step sizes and momentum must follow narrowing's comment. All averaged points
// must have been released at the problem's radius, and the step sizes in the result must be the actual
// ones. The test fails for a wrong radius, step size, charge or momentum.
func TestNarrowingAsksAsItsPageSays(t *testing.T) {
	const T, radius = 41, .02
	for _, regularized := range []bool{false, true} {
		p, l := skewed(t, 200, radius, regularized)
		for relation, o := range optimizetest.Relations(t, p, 100) {
			public := o.Problem(p.Public)
			plan, err := firstorder.Preconditioned{Steps: T, MomentShare: .2, ClipShare: .1}.Plan(ctx, public)
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, plan, o)
			name := fmt.Sprintf("%s, %v", p.Name, relation)
			asked := o.Asked
			next := func(kind query.Kind, charge, radius float64) (query.Term, query.Release) {
				t.Helper()
				a := asked[0]
				asked = asked[1:]
				term := a.Question.Terms()[0]
				if term.Kind() != kind || !close(a.Question.Charge(), charge, 1e-12) ||
					!close(term.Smoothing().Radius, radius, 1e-9) && radius > 0 {
					t.Fatalf("%s: %v of charge %v over %v: want %v, %v, %v", name, term.Kind(), a.Question.Charge(),
						term.Smoothing().Radius, kind, charge, radius)
				}
				return term, a.Answer
			}
			budget := public.Charge()
			_, moment := next(query.SecondMoment, .2*budget, 0)
			edge, smooth := moment.Sigma*math.Sqrt(2*3), 0.
			if regularized {
				smooth = public.Regularizer.Smoothness()
			}
			ridge := edge + smooth/bound(t, l, 3, radius)
			metric, _ := metricOf(t, moment.Mean, ridge)
			widest := math.Sqrt(5)
			var radii, seen []float64
			for i := range 7 {
				radii = append(radii, widest*math.Pow(radius/widest, float64(i)/6))
				term, answer := next(query.SquaredSlope, .8*.9*budget*.02/7, radii[i])
				if length(term.Point()) != 0 {
					t.Fatalf("%s: mean square %d at %v: want 0", name, i, term.Point())
				}
				seen = append(seen, answer.Mean[0])
			}
			from := widest
			for i := 6; i >= 0; i-- {
				if seen[i] >= (seen[0]+seen[6])/2 {
					from = min(widest, 2*radii[i])
				}
			}
			w := public.StartPoint()
			last, tail, held := w, make([]float64, len(w)), 0
			for k := range T {
				beta := min(float64(k)/float64(k+3), .9)
				y, r := add(w, beta, add(w, -1, last)), radius
				if k < T/2 {
					r = from * math.Pow(radius/from, float64(k)/float64(T/2))
				} else {
					tail, held = add(tail, 1, y), held+1
				}
				term, answer := next(query.MetricGradient, .8*.9*.98*budget/T, r)
				if !near(term.Point(), y) {
					t.Fatalf("%s: question %d at %v: want %v", name, k, term.Point(), y)
				}
				if k%4 == 0 {
					next(query.SquaredSlope, .8*.1*budget/11, r)
				}
				g := append([]float64(nil), answer.Mean...)
				if regularized {
					more := make([]float64, len(w))
					public.Regularizer.AddGradient(more, y)
					g = add(g, 1, times(metric, more))
				}
				b := bound(t, l, 3, r)
				eta := ridge / (edge + smooth/b) / b
				if !close(result.Trace.StepSizes[k], eta, 1e-9) || !close(result.Trace.Momentum[k], beta, 1e-9) && k > 0 {
					t.Errorf("%s: step %d of %v, momentum %v: want %v, %v", name, k, result.Trace.StepSizes[k], result.Trace.Momentum[k],
						eta, beta)
				}
				last, w = w, add(y, -eta, times(metric, g))
			}
			if len(asked) != 0 {
				t.Errorf("%s: %d more questions", name, len(asked))
			}
			if want := add(make([]float64, len(w)), 1/float64(held), tail); !near(result.W, want) {
				t.Errorf("%s: result %v: want the mean %v", name, result.W, want)
			}
			if got, most := o.Charged(), public.Mu*public.Mu; !(got <= most) || got < most*(1-1e-6) {
				t.Errorf("%s: charged %v: want %v", name, got, most)
			}
			if f := result.Foreseen; !(f > 0 && f < 1) {
				t.Errorf("%s: foreseen %v", name, f)
			}
		}
	}
}

// TestNarrowingArrives: the default rule must come near the quantile with few records and with many.
// The excess of the unsmoothed loss over the best line's must be below a tenth of the excess at the
// start, also for a radius of 1/5000. With that radius, steps of 1/b alone, for the curvature bound
// b, leave nine tenths of the excess.
func TestNarrowingArrives(t *testing.T) {
	for _, repeat := range []int{100, 5_000} {
		p, l := skewed(t, repeat, 1/float64(repeat), false)
		o := optimizetest.New(optimizetest.Config{Rows: p.Rows, Targets: p.Targets, Repeat: repeat, Loss: p.Loss,
			Budget: budget(t), Seed: 3})
		plan, err := firstorder.Preconditioned{}.Plan(ctx, o.Problem(p.Public))
		if err != nil {
			t.Fatal(err)
		}
		least := best(l, p)
		excess, gap := mean(l, p, run(t, plan, o).W)-least, mean(l, p, make([]float64, 3))-least
		if !(excess < gap/10) {
			t.Errorf("%d records: excess %v of %v", 200*repeat, excess, gap)
		}
	}
}

// TestNarrowingRule: the number of steps T, for the effective size N, the moment's share s of the
// budget and the radius r, must be min(1, sqrt(N/150)) sqrt(.8 sqrt(d/s)) (4.2 + 3 ln(sqrt(d+2)/r)).
// By hand for d = 3 and s = .1: sqrt(.8 sqrt(30)) = 2.0933, and 4.2 + 3 ln(sqrt(5)/.02) = 18.350, or
// 29.416 for the radius .0005. The factor of N = 51 is .58310. Radii must not fall for binary targets, for the Lasry-Lions envelope,
// for a radius beyond the widest and for N below 50.
func TestNarrowingRule(t *testing.T) {
	steps := func(p optimize.Problem, N float64) (int, optimize.UpdateRule) {
		plan, err := firstorder.Preconditioned{}.Plan(ctx, with(p, size{Records: N * math.Sqrt(3) / .5, Mu: .5}))
		if err != nil {
			t.Fatal(err)
		}
		return plan.Summary().Steps, plan.(interface{ Law() optimize.UpdateRule }).Law()
	}
	for radius, want := range map[float64]map[float64]int{.02: {51: 23, 151: 39, 1e4: 39}, .0005: {1e4: 62}} {
		p, _ := skewed(t, 1, radius, false)
		for N, T := range want {
			if got, _ := steps(p.Public, N); got != T {
				t.Errorf("radius %v, N = %v: %d steps: want %d", radius, N, got, T)
			}
		}
	}
	real, _ := skewed(t, 1, .02, false)
	envelope, binary := real.Public, real.Public
	binary.Kinked = loss.Hinge()
	for name, c := range map[string]struct {
		p optimize.Problem
		s query.Smoothing
	}{
		"envelope": {envelope, query.Smoothing{Radius: .02, By: query.LasryLions}},
		"binary":   {binary, query.Smoothing{Radius: .02}},
		"wide":     {real.Public, query.Smoothing{Radius: 2.3}},
	} {
		p, err := c.p.Smoothed(c.s)
		if err != nil {
			t.Fatal(err)
		}
		if _, law := steps(p, 100); law.StepSizes != nil {
			t.Errorf("%s: steps %v: want one size", name, law.StepSizes)
		}
	}
	if _, law := steps(real.Public, 49); law.StepSizes != nil {
		t.Errorf("N = 49: steps %v: want one size", law.StepSizes)
	}
}

// mean returns the mean loss without smoothing at w over the rows of a table.
func mean(l loss.Kinked, p optimizetest.Problem, w []float64) (sum float64) {
	for i, x := range p.Rows {
		var z float64
		for j, v := range x {
			z += w[j] * float64(v)
		}
		value := make([]float64, 1)
		l.Values(value, []float64{z}, p.Targets[i:i+1])
		sum += value[0] / float64(len(p.Rows))
	}
	return sum
}

// best returns the least mean loss without smoothing, found by subgradient steps of decreasing length.
func best(l loss.Kinked, p optimizetest.Problem) float64 {
	w, least, slope := make([]float64, 3), math.Inf(1), make([]float64, 1)
	for k := range 20_000 {
		g := make([]float64, 3)
		for i, x := range p.Rows {
			var z float64
			for j, v := range x {
				z += w[j] * float64(v)
			}
			l.Slopes(slope, []float64{z}, p.Targets[i:i+1])
			for j, v := range x {
				g[j] += slope[0] * float64(v) / float64(len(p.Rows))
			}
		}
		w = add(w, -2/math.Sqrt(float64(k+1)), g)
		if k%50 == 0 {
			least = min(least, mean(l, p, w))
		}
	}
	return least
}
