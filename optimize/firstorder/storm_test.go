package firstorder_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// next returns the variance of the next estimate for the gain K, the last variance P, the sensitivities
// sa and sd of gradient and difference, and the charge m.
func next(K, P, sa, sd, m float64) float64 {
	return (1-K)*(1-K)*P + (K*sa+(1-K)*sd)*(K*sa+(1-K)*sd)/m
}

// kalman is a test case for the weight K of the new gradient: the last estimate's variance P, the
// sensitivities sa and sd of gradient and difference, and the charge m.
type kalman struct{ P, sa, sd, m float64 }

// kalmans returns n random cases over many orders of magnitude, and some edge cases.
func kalmans(n int) []kalman {
	r := rand.New(rand.NewPCG(11, 12))
	size := func() float64 { return math.Pow(10, 6*r.Float64()-3) }
	list := []kalman{
		{1, 1, 1, 1}, {0, 1, 1, 1}, {0, 1, .5, 1}, {0, 1, 2, 1}, {1, 1, 0, 1}, {0, 1, 0, 1}, {1, .5, 3, .1}, {1e9, 1, .1, 1},
		{1e-9, 1, .1, 1},
	}
	for range n {
		c := kalman{size(), size(), size(), size()}
		switch r.IntN(6) {
		case 0:
			c.P = 0
		case 1:
			c.sd = 0
		case 2:
			c.sd = c.sa
		}
		list = append(list, c)
	}
	return list
}

// TestSTORMGainIsOptimal: no gain of a fine grid over [0, 1] may give a lower variance than
// optimize.Gain. The test fails for any other formula, and for a gain that is not clipped to [0, 1].
func TestSTORMGainIsOptimal(t *testing.T) {
	for _, c := range kalmans(300) {
		K := optimize.Gain(c.P, c.sa, c.sd, c.m)
		if !(K >= 0 && K <= 1) {
			t.Fatalf("%+v: gain %v", c, K)
		}
		got := next(K, c.P, c.sa, c.sd, c.m)
		for i := range 2001 {
			if other := next(float64(i)/2000, c.P, c.sa, c.sd, c.m); got > other*(1+1e-9)+1e-300 {
				t.Fatalf("%+v: gain %v has variance %v: %v has %v", c, K, got, float64(i)/2000, other)
			}
		}
	}
}

// TestSTORMEqualsSeparateReleases: gradient and difference are released separately with charges m_1 +
// m_2 = m, and combined with the last estimate by the best weights. No split may have a lower variance
// than STORM's single release, and the best split must have the same variance.
func TestSTORMEqualsSeparateReleases(t *testing.T) {
	for _, c := range kalmans(100) {
		if c.P == 0 || c.sd == 0 {
			continue
		}
		K := optimize.Gain(c.P, c.sa, c.sd, c.m)
		one := next(K, c.P, c.sa, c.sd, c.m)
		best := math.Inf(1)
		try := func(split float64) {
			// The two estimates are unbiased, with variances s_a^2/m_1 and P + s_d^2/m_2.
			information := 1/(c.sa*c.sa/(split*c.m)) + 1/(c.P+c.sd*c.sd/((1-split)*c.m))
			best = min(best, 1/information)
		}
		for i := 1; i < 4000; i++ {
			try(float64(i) / 4000)
			try(math.Pow(10, -12*float64(i)/4000))
			try(1 - math.Pow(10, -12*float64(i)/4000))
		}
		// The extreme splits: no charge for the gradient, or the whole charge.
		best = min(best, c.P+c.sd*c.sd/c.m, c.sa*c.sa/c.m)
		if !close(one, best, 1e-4) {
			t.Errorf("%+v: one release has variance %v, the best of two apart %v", c, one, best)
		}
	}
}

// TestSTORMFrontLoad: if every difference has k times the sensitivity of the gradient, the variance of
// the estimate converges to k(2-k) s_a^2/m. The first release, at the charge m/(k(2-k)), must have this
// variance.
func TestSTORMFrontLoad(t *testing.T) {
	for _, k := range []float64{.02, .1, .5, 1} {
		const sa, m = 3, .7
		P := sa * sa / m
		for range 10000 {
			P = next(optimize.Gain(P, sa, k*sa, m), P, sa, k*sa, m)
		}
		if want := k * (2 - k) * sa * sa / m; !close(P, want, 1e-6) {
			t.Errorf("k = %v: variance settles at %v: want %v", k, P, want)
		}
		p := optimizetest.Problems()[0]
		o := optimizetest.New(p.Config(budget(t), 100, 1))
		plan, err := firstorder.STORM{Steps: 50, FrontLoad: k}.Plan(ctx, with(p.Public, o.Size()))
		if err != nil {
			t.Fatal(err)
		}
		if first, rest := firstorder.STORMCharges(plan); !close(first, rest/(k*(2-k)), 1e-12) {
			t.Errorf("k = %v: first charge %v, others %v", k, first, rest)
		}
	}
}

// TestSTORMAsksAsItsPageSays recomputes a run from its released answers. Query 1 must be a gradient.
// Query t must mix gradient and difference with the weights K and 1-K, where K follows from the
// variance computed by hand. Terms of weight zero must be left out. The estimate must be 1-K times the
// last estimate plus the answer. The test fails if K is not for the true distance, if the old estimate
// is not multiplied by 1-K, if P lacks a term, or if differences are clipped to another ball.
func TestSTORMAsksAsItsPageSays(t *testing.T) {
	const T = 15
	for _, p := range variants(t) {
		for _, c := range []firstorder.STORM{
			{StepScale: .5},
			{StepScale: .5, Ball: optimize.DifferenceBall{Fraction: 1}, FrontLoad: 1},
			{StepScale: .5, Ball: optimize.DifferenceBall{Fraction: .3}, FrontLoad: .02},
			{StepScale: 40},
		} {
			c.Steps = T
			o := optimizetest.New(p.Config(budget(t), 1000, 4))
			plan, err := c.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, plan, o)
			first, rest := firstorder.STORMCharges(plan)
			n, l0 := o.All().Size(), p.Public.Constants.Lipschitz
			sa := 2 * l0 / n
			w := make([]float64, p.Public.Dim())
			copy(w, p.Public.Start)
			if p.Public.Set != nil {
				p.Public.Set.Project(w)
			}
			estimate, prev, P := make([]float64, len(w)), w, 0.
			for k, a := range o.Asked {
				K, m, sd := 1., first, 0.
				if k > 0 {
					m = rest
					sd = 2 * differenceBall(p.Public, c.Ball.Fraction, length(add(w, -1, prev))).Radius / n
					K = min(max((P-sd*(sa-sd)/m)/(P+(sa-sd)*(sa-sd)/m), 0), 1)
				}
				terms := a.Question.Terms()
				gradient, difference := K > 0, K < 1 && sd > 0
				if a.Question.Charge() != m || len(terms) != count(gradient, difference) {
					t.Fatalf("%s: question %d: %s, charge %v: want gain %v, charge %v", p.Name, k, a.Question.Name(),
						a.Question.Charge(), K, m)
				}
				if gradient {
					onEverybody(t, k, terms[0], K)
					if terms[0].Kind() != query.Gradient || !same(terms[0].Point(), w) ||
						terms[0].Ball() != (query.ClipBall{Radius: l0}) {
						t.Fatalf("%s: question %d: %v: want a gradient at %v", p.Name, k, terms[0], w)
					}
				}
				if difference {
					onEverybody(t, k, terms[len(terms)-1], 1-K)
					isDifference(t, k, p.Public, c.Ball.Fraction, terms[len(terms)-1], w, prev)
				}
				P = next(K, P, sa, sd, m)
				estimate = add(a.Answer.Mean, 1-K, estimate)
				prev, w = w, descend(p.Public, w, estimate, stepSize(p.Public, c.StepScale))
			}
			if len(o.Asked) != T || !same(result.W, w) {
				t.Errorf("%s: %d questions, result %v: want %d, the last iterate %v", p.Name, len(o.Asked), result.W, T, w)
			}
		}
	}
}

func count(flags ...bool) (n int) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// TestSTORMSpendsItsBudget: the charges, with the larger first one, must sum to at most mu^2.
func TestSTORMSpendsItsBudget(t *testing.T) {
	p := optimizetest.Problems()[2]
	for _, T := range []int{1, 2, 30, 1000} {
		for _, k := range []float64{0, .02, 1} {
			o := optimizetest.New(p.Config(budget(t), 30, 1))
			plan, err := firstorder.STORM{Steps: T, FrontLoad: k}.Plan(ctx, with(p.Public, o.Size()))
			run(t, resolve(t, plan, err), o)
			offered, charged := charges(o.Asked)
			withinBudget(t, o.Size().Mu, offered)
			withinBudget(t, o.Size().Mu, charged)
		}
	}
}

// TestSTORMPinned: while the iterate does not move, the gradient difference is zero. The released gradients
// have equal charges and must be averaged with equal weights, K = 1/t in step t. The iterate never moves,
// since the feasible set is the origin.
func TestSTORMPinned(t *testing.T) {
	p := optimizetest.Problems()[0]
	p.Public.Set = convex.Ball{}
	o := optimizetest.New(p.Config(budget(t), 100, 2))
	plan, err := firstorder.STORM{Steps: 6, FrontLoad: 1}.Plan(ctx, with(p.Public, o.Size()))
	if err != nil {
		t.Fatal(err)
	}
	var steps int
	if _, err := plan.Run(context.Background(), o, func(optimize.Step) { steps++ }); err != nil {
		t.Fatal(err)
	}
	for k, a := range o.Asked {
		terms := a.Question.Terms()
		if len(terms) != 1 || terms[0].Kind() != query.Gradient || !close(terms[0].Weight(), 1/float64(k+1), 1e-9) {
			t.Errorf("question %d: %s, weight %v: want gradient, 1/%d", k, a.Question.Name(), terms[0].Weight(), k+1)
		}
	}
	if len(o.Asked) != 6 || steps != 6 {
		t.Errorf("%d questions, %d steps", len(o.Asked), steps)
	}
}

// silent is an oracle whose answers state a noise of zero.
type silent struct{ *optimizetest.Oracle }

func (s silent) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	r, err := s.Oracle.Ask(ctx, q)
	r.Sigma = 0
	return r, err
}

// TestSTORMNothingToAsk: without noise, and at a point that does not move, later steps need no query.
// These steps must still count and be observed.
func TestSTORMNothingToAsk(t *testing.T) {
	p := optimizetest.Problems()[0]
	p.Public.Set = convex.Ball{}
	c := p.Config(budget(t), 100, 2)
	c.Noiseless = true
	o := silent{optimizetest.New(c)}
	plan, err := firstorder.STORM{Steps: 6}.Plan(ctx, with(p.Public, o.Size()))
	if err != nil {
		t.Fatal(err)
	}
	var norms []float64
	r, err := plan.Run(context.Background(), o, func(s optimize.Step) { norms = append(norms, s.GradientNorm) })
	if err != nil || !r.Complete || len(o.Asked) != 1 || len(norms) != 6 || norms[5] != norms[0] {
		t.Errorf("%+v, %v: %d questions, norms %v", r, err, len(o.Asked), norms)
	}
}

// TestSTORMVariance: the variance P from which gains are computed must be the variance of the estimate
// per coordinate, in every step. Nothing is clipped. Steps are long compared with the noise, so that
// gains hardly depend on it. The mean square over 2000 runs and 8 directions deviates by less than
// deviation(16000) = .08 except with probability 1e-6; .01 more is allowed for the dependence of the
// gains. The test fails if an answer enters the estimate with another weight than its noise enters P.
func TestSTORMVariance(t *testing.T) {
	const runs, d, T, repeat = 2000, 8, 12, 100000
	p := wide(d, 0)
	var ratio [T]float64
	for seed := range uint64(runs) {
		o := optimizetest.New(p.Config(budget(t), repeat, seed))
		plan, err := firstorder.STORM{Steps: T, StepScale: .2}.Plan(ctx, with(p.Public, o.Size()))
		run(t, resolve(t, plan, err), o)
		estimate, P := make([]float64, d), 0.
		for k, a := range o.Asked {
			if a.Clipped > 0 {
				t.Fatal("something was clipped")
			}
			K := 0.
			for _, term := range a.Question.Terms() {
				if term.Kind() == query.Gradient {
					K = term.Weight()
				}
			}
			s := a.Answer.Sigma
			P = (1-K)*(1-K)*P + s*s
			estimate = add(a.Answer.Mean, 1-K, estimate)
			w := a.Question.Terms()[0].Point()
			ratio[k] += math.Pow(length(add(estimate, -1, p.Gradient(w))), 2) / d / P / runs
		}
	}
	for k, r := range ratio {
		if tolerance := deviation(runs*d) + .01; !(math.Abs(r-1) <= tolerance) {
			t.Errorf("step %d: the estimate has %.3f of the tracked variance: want 1 +- %.3f", k+1, r, tolerance)
		}
	}
}

// TestSTORMPrediction compares the predicted gradient norm with runs on the quadratic that predictions
// assume, at the last iterate. Predictions replace the lengths of steps by their root mean squares,
// which is accurate to a few percent: .05 is allowed for this, and .22 of the square for the sampling
// error of 1500 runs (see deviation). The test fails if a moment or the start is wrong, or if the
// prediction stops a step early.
func TestSTORMPrediction(t *testing.T) {
	runs := 1500
	if testing.Short() {
		runs = 300
	}
	for _, c := range []struct {
		steps   int
		f0, l0  float64
		records int
	}{{1, 2, 20, 500}, {3, 400, 20, 500}, {40, .7, 20, 500}, {40, .7, 1, 1000}} {
		p := optimize.Problem{Shape: optimize.Vector(12), RankOne: true,
			Constants: optimizetest.Problems()[2].Public.Constants}
		p.Constants.InitialGap, p.Constants.Lipschitz = c.f0, c.l0
		family := optimizetest.AssumedQuadratic(p, 0)
		p.Start = family.Start
		var squares, want float64
		for seed := range uint64(runs) {
			o := optimizetest.New(family.Config(budget(t), c.records, seed))
			plan, err := firstorder.STORM{Steps: c.steps}.Plan(ctx, with(p, o.Size()))
			squares += math.Pow(length(family.Gradient(run(t, resolve(t, plan, err), o).W)), 2) / float64(runs)
			for _, a := range o.Asked {
				if a.Clipped > 0 {
					t.Fatal("something was clipped")
				}
			}
			want = math.Pow(plan.Summary().Predicted, 2)
		}
		if tolerance := deviation(float64(runs)) + .05; !(math.Abs(squares/want-1) <= tolerance) {
			t.Errorf("%d steps: mean square is %.3f of the predicted: want 1 +- %.3f", c.steps, squares/want, tolerance)
		}
	}
}

// TestSTORMStepRule: the default number of steps must be .1 (G0/L0)^(2/3) N^(4/3)/h, at most 1000. With
// a strongly convex regularizer it must be halved as long as this lowers the prediction.
func TestSTORMStepRule(t *testing.T) {
	halved := false
	for _, p := range optimizetest.Problems() {
		p.Public.Shape = optimize.Vector(100)
		c := p.Public.Constants
		for _, N := range []float64{1, 100, 1000, 5000, 50000} {
			h := 1.
			if p.Public.RankOne {
				h = 4
			}
			G0 := math.Sqrt(2 * c.InitialGap * h / stepSize(optimize.Problem{Constants: c, Regularizer: p.Public.Regularizer},
				h))
			rule := min(math.Ceil(.1*math.Pow(G0/c.Lipschitz, 2./3)*math.Pow(N, 4./3)/h), 1000)
			given := size{Records: N * 10 / .5, Mu: .5}
			predicted := func(steps float64) float64 {
				plan, err := firstorder.STORM{Steps: int(steps)}.Plan(ctx, with(p.Public, given))
				return resolve(t, plan, err).Summary().Predicted
			}
			want := rule
			for p.Public.Regularizer != nil && want > 1 && predicted(math.Floor(want/2)) < predicted(want) {
				want = math.Floor(want / 2)
			}
			plan, err := firstorder.STORM{}.Plan(ctx, with(p.Public, given))
			o := resolve(t, plan, err).Summary()
			if float64(o.Steps) != want || o.Predicted > predicted(rule) {
				t.Errorf("%s, N = %v: %d steps: want %v, halved from %v", p.Name, N, o.Steps, want, rule)
			}
			halved = halved || want < rule
		}
	}
	if !halved {
		t.Error("no case was halved")
	}
	// A nonconvex regularizer must not lead to halving, though halving would lower the prediction.
	p := optimizetest.Problems()[3].Public
	p.Shape = optimize.Vector(100)
	given := size{Records: 1.5e5, Mu: .2}
	var err error
	if p.Regularizer, err = loss.Nonconvex(.05); err != nil {
		t.Fatal(err)
	}
	plan, err := firstorder.STORM{}.Plan(ctx, with(p, given))
	if o := resolve(t, plan, err).Summary(); o.Steps != optimize.RuleSteps {
		t.Errorf("nonconvex regularizer: %d steps", o.Steps)
	}
}
