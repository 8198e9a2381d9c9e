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

// TestGDAsksAsItsPageSays recomputes a run from its released answers (Bassily, Smith and Thakurta 2014,
// with the deviations in GD's comment). Query t must be one gradient, clipped at L0, at the iterate
// computed from answers 1 to t-1. Charges must grow in proportion to t. The result must be the
// charge-weighted mean of the iterates t >= T/2. The test fails if the regularizer is clipped or left
// out, if the projection or the last descent is skipped, or if a charge or a weight is wrong.
func TestGDAsksAsItsPageSays(t *testing.T) {
	const T = 13
	for _, p := range variants(t) {
		for _, constant := range []bool{false, true} {
			o := optimizetest.New(p.Config(budget(t), 1000, 7))
			plan, err := firstorder.GD{Steps: T, StepScale: .5, ConstantCharges: constant}.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, plan, o)
			if len(o.Asked) != T {
				t.Fatalf("%s: %d questions: want %d", p.Name, len(o.Asked), T)
			}
			w := make([]float64, p.Public.Dim())
			copy(w, p.Public.Start)
			if p.Public.Set != nil {
				p.Public.Set.Project(w)
			}
			tail, weight := make([]float64, len(w)), 0.
			for k, a := range o.Asked {
				terms := a.Question.Terms()
				if len(terms) != 1 || terms[0].Kind() != query.Gradient || !same(terms[0].Point(), w) ||
					terms[0].Ball() != (query.ClipBall{Radius: p.Public.Constants.Lipschitz}) {
					t.Fatalf("%s: question %d: %s at %v, ball %v: want a gradient at %v", p.Name, k, a.Question.Name(),
						terms[0].Point(), terms[0].Ball(), w)
				}
				onEverybody(t, k, terms[0], 1)
				if p.Public.Set != nil && !p.Public.Set.Contains(terms[0].Point()) {
					t.Fatalf("%s: question %d is outside the set", p.Name, k)
				}
				want := float64(k + 1)
				if constant {
					want = 1
				}
				if !close(a.Question.Charge(), want*o.Asked[0].Question.Charge(), 1e-12) {
					t.Fatalf("%s: charge %d is %v times the first: want %v", p.Name, k,
						a.Question.Charge()/o.Asked[0].Question.Charge(), want)
				}
				if 2*(k+1) >= T {
					tail = add(tail, want, w)
					weight += want
				}
				w = descend(p.Public, w, a.Answer.Mean, stepSize(p.Public, .5))
			}
			if want := add(make([]float64, len(w)), 1/weight, tail); !same(result.W, want) {
				t.Errorf("%s: result %v: want the tail average %v", p.Name, result.W, want)
			}
		}
	}
}

// TestGDSpendsItsBudget: for any number of steps, the charges must sum to at most mu^2 and nearly to mu^2,
// with sums rounded up as the privacy filter rounds them. The test fails if plans divide all of mu^2 and
// leave no part for rounding.
func TestGDSpendsItsBudget(t *testing.T) {
	p := optimizetest.Problems()[0]
	many := optimize.MostSteps
	if testing.Short() {
		many /= 10
	}
	for _, mu := range []float64{.01, .2, math.Sqrt(1.5), 3} {
		for _, T := range []int{1, 2, 3, 10, 1000, many} {
			if T == many && mu != math.Sqrt(1.5) { // with mu^2 = 1.5, where rounding up adds most
				continue
			}
			for _, constant := range []bool{false, true} {
				plan, err := firstorder.GD{Steps: T, ConstantCharges: constant}.Plan(ctx,
					with(p.Public, size{Records: 1000, Mu: mu}))
				if err != nil {
					t.Fatal(err)
				}
				withinBudget(t, mu, firstorder.GDCharges(plan))
			}
		}
	}
	for _, T := range []int{1, 500} {
		o := optimizetest.New(p.Config(budget(t), 1000, 1))
		plan, err := firstorder.GD{Steps: T}.Plan(ctx, with(p.Public, o.Size()))
		if err != nil {
			t.Fatal(err)
		}
		run(t, plan, o)
		_, charged := charges(o.Asked)
		withinBudget(t, o.Size().Mu, charged)
	}
}

// TestGDStepRule: the default number of steps must be T = ceil(c G0 N/(2 L0 h)), G0 = sqrt(2 L1 F0),
// between 1 and 1000, with c = 4, and h = 4 on rank-one losses and 1 on others. The expected numbers
// are computed by hand from the constants.
func TestGDStepRule(t *testing.T) {
	logistic, quadratic := optimizetest.Problems()[2].Public, optimizetest.Problems()[1].Public
	logistic.Shape, quadratic.Shape = optimize.Vector(100), optimize.Vector(100)
	regularized := logistic
	regularized.Regularizer = l2(t, .25)
	for _, c := range []struct {
		gd   firstorder.GD
		p    optimize.Problem
		N    float64
		want int
	}{
		// G0 = sqrt(.5 ln 2) = .588705; 4 G0 N/8 = .294353 N.
		{firstorder.GD{}, logistic, 1000, 295},
		{firstorder.GD{Multiplier: 1}, logistic, 1000, 74},
		{firstorder.GD{StepScale: 1}, logistic, 500, 589},
		{firstorder.GD{}, logistic, 3300, 972},
		{firstorder.GD{}, logistic, 3500, 1000},
		{firstorder.GD{}, logistic, .001, 1},
		{firstorder.GD{Steps: 1234}, logistic, 1000, 1234},
		// L1 = .5 doubles G0^2: G0 = .832555.
		{firstorder.GD{}, regularized, 1000, 417},
		// G0 = sqrt(2 * 1 * .5) = 1, L0 = 2: N.
		{firstorder.GD{}, quadratic, 300.5, 301},
	} {
		plan, err := c.gd.Plan(ctx, with(c.p, size{Records: c.N * 10 / .5, Mu: .5}))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Summary().Steps; got != c.want {
			t.Errorf("%+v at N = %v: %d steps: want %d", c.gd, c.N, got, c.want)
		}
	}
}

// TestGDAverageGradient checks the textbook's bound. For eta <= 1/L1 the mean over t of E||grad
// F(w_t)||^2 must be at most 2 (F(w_0) - min F)/(eta T) + L1 eta V, where V is the noise's variance.
// The test allows for the sampling error of 400 runs. It fails if steps go up the gradient or are
// longer than 2/L1.
func TestGDAverageGradient(t *testing.T) {
	const runs, T = 400, 25
	for _, p := range optimizetest.Problems()[:2] {
		for _, h := range []float64{.3, 1} {
			var squares, variance float64
			for seed := range uint64(runs) {
				o := optimizetest.New(p.Config(budget(t), 400, seed))
				plan, err := firstorder.GD{Steps: T, StepScale: h, ConstantCharges: true}.Plan(ctx, with(p.Public, o.Size()))
				if err != nil {
					t.Fatal(err)
				}
				run(t, plan, o)
				for _, a := range o.Asked {
					g := length(p.Gradient(a.Question.Terms()[0].Point()))
					squares += g * g / runs / T
					variance += a.Answer.Sigma * a.Answer.Sigma * float64(len(a.Exact)) / runs / T
				}
			}
			eta := stepSize(p.Public, h)
			start := p.Objective(make([]float64, p.Public.Dim())) - p.Minimum
			if bound := 2*start/(eta*T) + h*variance; squares > bound*(1+deviation(runs)) {
				t.Errorf("%s, h = %v: mean square %v: want at most %v", p.Name, h, squares, bound)
			}
		}
	}
}

// TestGDPredictionIsExact compares the predicted gradient norm with the root mean square norm at the
// output of 3000 runs, on the quadratic that predictions assume. The tolerance is .15 of the square,
// for a failure rate below 1e-6 in each case (see deviation). The test fails if an eigenvalue, the
// starting point, a charge or a weight is wrong.
func TestGDPredictionIsExact(t *testing.T) {
	runs := 3000
	if testing.Short() {
		runs = 300
	}
	for _, c := range []struct {
		gd     firstorder.GD
		lambda float64
		// f0 is the initial gap. With a large f0 most of the gradient comes from the start. With a small f0
		// most of it comes from noise.
		f0 float64
	}{
		{firstorder.GD{Steps: 12}, 0, 400},
		{firstorder.GD{Steps: 16}, 0, .7},
		{firstorder.GD{Steps: 16, ConstantCharges: true, Output: optimize.Last}, 0, .7},
		{firstorder.GD{Steps: 12, StepScale: 1}, .02, 100},
		{firstorder.GD{Steps: 12, Output: optimize.Random}, 0, 1},
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
				if plan, err = c.gd.Plan(ctx, with(p, o.Size())); err != nil {
					t.Fatal(err)
				}
			}
			g := length(family.Gradient(run(t, plan, o).W))
			squares += g * g / float64(runs)
			for _, a := range o.Asked {
				if a.Clipped > 0 {
					t.Fatal("a gradient was clipped")
				}
			}
		}
		want := math.Pow(plan.Summary().Predicted, 2)
		if tolerance := deviation(float64(runs)); !(math.Abs(squares/want-1) <= tolerance) {
			t.Errorf("%+v, lambda %v: mean square is %.3f of the predicted: want 1 +- %.3f", c.gd, c.lambda, squares/want,
				tolerance)
		}
	}
}

// TestGDPredictionWhereStepsOvershoot: the predicted gradient norm of steps far longer than 2/L1 must
// be positive or +Inf, not NaN.
func TestGDPredictionWhereStepsOvershoot(t *testing.T) {
	p := optimizetest.Problems()[2].Public
	for _, h := range []float64{8, 16, 64, 1e3, 1e200} {
		plan, err := firstorder.GD{Steps: 400, StepScale: h}.Plan(ctx, with(p, size{Records: 1000, Mu: 1}))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Summary().Predicted; !(got > 0) {
			t.Errorf("h = %v: predicted %v", h, got)
		}
	}
}

func ExampleGD() {
	p := optimizetest.Problems()[2] // logistic
	plan, err := firstorder.GD{}.Plan(ctx, with(p.Public, size{Records: 10000, Mu: .25}))
	if err != nil {
		fmt.Println(err)
		return
	}
	o := plan.Summary()
	fmt.Printf("%d steps of %g, %s, %s\n", o.Steps, o.StepSize, o.Charges, o.Output)
	// Output:
	// 425 steps of 16, step t in proportion to t, tail-average
}
