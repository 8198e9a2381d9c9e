package firstorder_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestNesterovAsksAsItsPageSays recomputes a run from its released answers. Query t must be one
// gradient, clipped at L0, at y_t = Proj(w_t + t/(t+3) (w_t - w_{t-1})). All charges must be equal. The
// result must be the mean of the y_t of the second half. The test fails if the momentum has the index
// of another step or is computed from y, or if the step starts at w.
func TestNesterovAsksAsItsPageSays(t *testing.T) {
	const T = 13
	for _, p := range variants(t) {
		o := optimizetest.New(p.Config(budget(t), 1000, 7))
		plan, err := firstorder.Nesterov{Steps: T}.Plan(ctx, with(p.Public, o.Size()))
		if err != nil {
			t.Fatal(err)
		}
		result := run(t, plan, o)
		if len(o.Asked) != T {
			t.Fatalf("%s: %d questions: want %d", p.Name, len(o.Asked), T)
		}
		project := func(w []float64) {
			if p.Public.Set != nil {
				p.Public.Set.Project(w)
			}
		}
		w := make([]float64, p.Public.Dim())
		copy(w, p.Public.Start)
		project(w)
		last, tail := w, make([]float64, len(w))
		for k, a := range o.Asked {
			y := add(w, float64(k)/float64(k+3), add(w, -1, last))
			project(y)
			terms := a.Question.Terms()
			if len(terms) != 1 || terms[0].Kind() != query.Gradient || !same(terms[0].Point(), y) ||
				terms[0].Ball() != (query.ClipBall{Radius: p.Public.Constants.Lipschitz}) {
				t.Fatalf("%s: question %d: %s at %v, ball %v: want a gradient at %v", p.Name, k, a.Question.Name(),
					terms[0].Point(), terms[0].Ball(), y)
			}
			onEverybody(t, k, terms[0], 1)
			if a.Question.Charge() != o.Asked[0].Question.Charge() {
				t.Fatalf("%s: charge %d is %v, the first %v", p.Name, k, a.Question.Charge(), o.Asked[0].Question.Charge())
			}
			if 2*(k+1) >= T {
				tail = add(tail, 1./((T+1)/2), y)
			}
			last, w = w, descend(p.Public, y, a.Answer.Mean, stepSize(p.Public, 1))
		}
		if !same(result.W, tail) {
			t.Errorf("%s: result %v: want the mean %v", p.Name, result.W, tail)
		}
		_, charged := charges(o.Asked)
		withinBudget(t, o.Size().Mu, charged)
	}
}

// TestNesterovStepRule: the default number of steps must be T = ceil(6 sqrt(G0 N/(2 L0 h))), G0 =
// sqrt(2 L1 F0), between 1 and 1000, with h = 1 on every loss. The expected numbers are computed by
// hand.
func TestNesterovStepRule(t *testing.T) {
	logistic := optimizetest.Problems()[2].Public
	logistic.Shape = optimize.Vector(100)
	for _, c := range []struct {
		of   firstorder.Nesterov
		N    float64
		want int
	}{
		// G0 = .588705: 6 sqrt(.294353 N).
		{firstorder.Nesterov{}, 1000, 103},
		{firstorder.Nesterov{Multiplier: 1}, 1000, 18},
		{firstorder.Nesterov{StepScale: .25}, 1000, 206},
		{firstorder.Nesterov{}, 1e6, 1000},
		{firstorder.Nesterov{}, .001, 1},
		{firstorder.Nesterov{Steps: 1234}, 1000, 1234},
	} {
		plan, err := c.of.Plan(ctx, with(logistic, size{Records: c.N * 10 / .5, Mu: .5}))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Summary().Steps; got != c.want {
			t.Errorf("%+v at N = %v: %d steps: want %d", c.of, c.N, got, c.want)
		}
	}
}

// TestNesterovIsAccelerated: without noise, F(w_T) - F* must be at most 2 ||w_0 - w*||^2/(eta (T+1)^2)
// on a convex loss, at the last iterate (Su, Boyd and Candes 2016, Theorem 6, for the weights t/(t+3)).
// On this quadratic, whose eigenvalues differ widely, plain gradient descent violates the bound.
func TestNesterovIsAccelerated(t *testing.T) {
	const d, T = 6, 100
	l := optimizetest.Quadratic{Lipschitz: 100, InitialGap: 1}
	p := optimize.Problem{Shape: optimize.Vector(d)}
	distance := 0.
	for j := range d {
		l.Eigenvalues = append(l.Eigenvalues, math.Pow(10, -float64(j)*.7))
		p.Start = append(p.Start, 3)
		distance += 9
	}
	p.Constants = l.Constants()
	value := func(w []float64) (f float64) {
		for j, e := range l.Eigenvalues {
			f += e * w[j] * w[j] / 2
		}
		return f
	}
	reached := map[string]float64{}
	bound := 2 * distance / ((T + 1) * (T + 1))
	for _, m := range methods(settings{steps: T, scale: 1, output: optimize.Last}) {
		o := optimizetest.New(optimizetest.Config{Rows: [][]float32{make([]float32, d)}, Targets: []float64{0}, Repeat: 1000,
			Loss: l, Budget: budget(t), Noiseless: true})
		plan, err := m.plan(p, o.Size())
		if err != nil {
			t.Fatal(err)
		}
		reached[m.name] = value(run(t, plan, o).W)
	}
	if got := reached["nesterov"]; !(got <= bound) {
		t.Errorf("after %d steps F - F* = %v: want at most %v", T, got, bound)
	}
	if !(reached["gd"] > bound) {
		t.Errorf("plain descent is at %v, below the bound %v: the test shows nothing", reached["gd"], bound)
	}
}

// TestNesterovPredictionIsExact compares predictions with runs on the quadratic that predictions
// assume, like TestGDPredictionIsExact.
func TestNesterovPredictionIsExact(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 300
	}
	for _, c := range []struct {
		of     firstorder.Nesterov
		lambda float64
		f0     float64
	}{
		{firstorder.Nesterov{Steps: 12}, 0, 400},
		{firstorder.Nesterov{Steps: 40}, 0, .7},
		{firstorder.Nesterov{Steps: 25, Output: optimize.Last}, 0, .7},
		{firstorder.Nesterov{Steps: 12}, .02, 100},
	} {
		p := optimize.Problem{Shape: optimize.Vector(12), RankOne: true,
			Constants: optimizetest.Problems()[2].Public.Constants}
		p.Constants.InitialGap = c.f0
		p.Constants.Lipschitz = 20 // so that nothing is clipped
		if c.lambda > 0 {
			p.Regularizer = l2(t, c.lambda)
		}
		family := optimizetest.AssumedQuadratic(p, c.lambda)
		p.Start = family.Start
		var plan optimize.Plan
		var squares float64
		for seed := range uint64(runs) {
			o := optimizetest.New(family.Config(budget(t), 500, seed))
			if plan == nil {
				var err error
				if plan, err = c.of.Plan(ctx, with(p, o.Size())); err != nil {
					t.Fatal(err)
				}
			}
			g := length(family.Gradient(run(t, plan, o).W))
			squares += g * g / float64(runs)
		}
		want := math.Pow(plan.Summary().Predicted, 2)
		if tolerance := deviation(float64(runs)); !(math.Abs(squares/want-1) <= tolerance) {
			t.Errorf("%+v, lambda %v: mean square is %.3f of the predicted: want 1 +- %.3f", c.of, c.lambda, squares/want,
				tolerance)
		}
	}
}

// TestDefaultStepsOnTheWorstTable: if all rows are equal, the curvature is at its bound L1. Every
// method's default steps must end near the minimum on such a table. Steps longer than 1/L1 must be
// shortened when they overshoot; without this, GD and others oscillate with gradients of .4. The
// logistic gradient at (w, 0) is tanh(w/2)/2.
func TestDefaultStepsOnTheWorstTable(t *testing.T) {
	const steps = 60
	p := optimize.Problem{Shape: optimize.Vector(2), RankOne: true, Constants: optimizetest.Problems()[2].Public.Constants,
		Start: []float64{8, 0}}
	config := optimizetest.Config{Rows: [][]float32{{1, 0}, {1, 0}}, Targets: []float64{1, -1}, Repeat: 50_000,
		Loss: optimizetest.Problems()[2].Loss, Budget: budget(t)}
	for _, m := range methods(settings{steps: steps, output: optimize.Last}) {
		for seed := range uint64(5) {
			config.Seed = seed
			o := optimizetest.New(config)
			plan, err := m.plan(p, o.Size())
			if err != nil {
				t.Fatal(err)
			}
			if g := math.Abs(math.Tanh(run(t, plan, o).W[0]/2)) / 2; !(g < .02) {
				t.Errorf("%s, seed %d: ends at a gradient of %v", m.name, seed, g)
			}
		}
	}
}

func ExampleNesterov() {
	p := optimizetest.Problems()[2] // logistic
	plan, err := firstorder.Nesterov{}.Plan(ctx, with(p.Public, size{Records: 10000, Mu: .25}))
	if err != nil {
		fmt.Println(err)
		return
	}
	o := plan.Summary()
	fmt.Printf("%d steps of %g, %s, %s\n", o.Steps, o.StepSize, o.Charges, o.Output)
	// Output:
	// 124 steps of 4, every step alike, tail-average
}
