package firstorder_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// crowded returns a logistic problem on rows near (.8, .4, 0).
func crowded() optimizetest.Problem {
	p := optimizetest.Problems()[2]
	r := rand.New(rand.NewPCG(71, 1))
	p.Public.Shape, p.Public.Start, p.Public.Set, p.Public.Regularizer = optimize.Vector(3), nil, nil, nil
	p.Rows, p.Targets = nil, nil
	for range 400 {
		x, y := []float32{.8, .4, 0}, 1.
		for j := range x {
			x[j] += float32(.05 * r.NormFloat64())
		}
		if r.NormFloat64() > 10*float64(x[2]) {
			y = -1
		}
		p.Rows, p.Targets = append(p.Rows, x), append(p.Targets, y)
	}
	return p
}

// TestCentringAsksAsItsPageSays recomputes the release of the centred second moment (see centring). The
// queries must be the mean row, the mean squared distance from it, and the second moment about it with
// rows shortened to R, with their shares of the moment's charge. The metric must be (C_+ + 3 m m' +
// lambda I)^(-1/2), where lambda is the larger of the noise's edge and of the solution of worth's
// equation. Clip norms must follow from this metric's d_eff. The charges must sum to the budget. The
// test fails for a wrong share, radius, edge or weight of m m', and for a solution of another equation.
func TestCentringAsksAsItsPageSays(t *testing.T) {
	const T, kappa = 12, 1.7
	for _, epsilon := range []float64{2, 6, 11} {
		for _, smooth := range []float64{0, .05} {
			p := crowded()
			if smooth > 0 {
				p.Public.Regularizer = optimizetest.L2(t, smooth)
			}
			for relation, o := range optimizetest.Relations(t, p, epsilon) {
				public := o.Problem(p.Public)
				name := fmt.Sprintf("epsilon %v, regularizer %v, %v, N = %.3g", epsilon, smooth, relation, public.Effective())
				if N := public.Effective(); N < 50 || N >= 1000 {
					t.Fatalf("%s: the test is not about it", name)
				}
				plan, err := firstorder.Preconditioned{Steps: T, ClipScale: kappa, MomentShare: .2, ClipShare: .1}.Plan(ctx, public)
				if err != nil {
					t.Fatal(err)
				}
				run(t, plan, o)
				if got, most := o.Charged(), public.Mu*public.Mu; !(got <= most) || got < most*(1-1e-6) {
					t.Errorf("%s: charged %v: want %v", name, got, most)
				}
				budget := public.Charge()
				var terms []query.Term
				for i, want := range []struct {
					kind  query.Kind
					share float64
				}{{query.RowMean, .15}, {query.SquaredDistance, .02}, {query.CentredMoment, .83}} {
					a := o.Asked[i]
					terms = append(terms, a.Question.Terms()[0])
					if terms[i].Kind() != want.kind || !close(a.Question.Charge(), .2*want.share*budget, 1e-12) {
						t.Fatalf("%s: question %d is %s of charge %v: want %v of %v", name, i, a.Question.Name(), a.Question.Charge(),
							want.kind, .2*want.share*budget)
					}
				}
				m := add(make([]float64, 3), 1/max(1, length(o.Asked[0].Answer.Mean)), o.Asked[0].Answer.Mean)
				rho := o.Asked[1].Answer.Mean[0] + 2*o.Asked[1].Answer.Sigma
				R := min(1.15*max(1, math.Pow(public.Effective()/200, .25))*math.Sqrt(max(rho, .01)), 1)
				if ball := terms[1].Ball(); !near(terms[1].Point(), m) || ball != (query.ClipBall{Radius: .5, Centre: .5}) {
					t.Fatalf("%s: distances from %v, cut to %+v: want %v", name, terms[1].Point(), ball, m)
				}
				if ball := terms[2].Ball(); !near(terms[2].Point(), m) || !close(ball.Radius, R*R, 1e-9) {
					t.Fatalf("%s: second moment about %v, of norm %v: want %v, %v", name, terms[2].Point(), ball.Radius, m, R*R)
				}
				edge := o.Asked[2].Answer.Sigma * math.Sqrt(2*3)
				if factor := map[account.Relation]float64{account.ReplaceOne: math.Sqrt2,
					account.AddOrRemove: 1}[relation]; !close(edge, factor*R*R/public.Records/math.Sqrt(.2*.83*budget)*math.Sqrt(6),
					1e-6) {
					t.Fatalf("%s: edge %v", name, edge)
				}
				gt, seen := about(t, o.Asked[2].Answer.Mean, m)
				lambda := max(edge, fixedPoint(plan, public, T, kappa, gt, seen, edge))
				metric, effective := rootOf(gt, lambda+smooth/public.DataSmoothness())
				first := o.Asked[3].Question.Terms()[0]
				for j := range metric {
					for i, x := range column(first.Metric(), j) {
						if !(math.Abs(x-metric[j][i]) <= 2e-3*metric[j][j]+first.Metric().Step()) {
							t.Fatalf("%s: metric %v at %d, %d: want %v for lambda %v, edge %v", name, x, j, i, metric[j][i], lambda, edge)
						}
					}
				}
				ridge := lambda + smooth/public.DataSmoothness()
				if want := .7 * public.Constants.Lipschitz * min(math.Sqrt(max(effective, .5)),
					1/math.Sqrt(ridge)); first.Kind() != query.MetricGradient || !close(first.Ball().Radius, want, 2e-3) {
					t.Errorf("%s: first clip %v: want %v", name, first.Ball().Radius, want)
				}
			}
		}
	}
}

// about returns the matrix C_+ + 3 m m' for a released second moment C about the mean row m, and the
// eigenvalues of C + m m'.
func about(t *testing.T, svec, m []float64) (gt [][]float64, seen []float64) {
	t.Helper()
	flat, d, err := query.Symmetric(svec)
	if err != nil {
		t.Fatal(err)
	}
	square := func(weight float64, c func(j, k int) float64) [][]float64 {
		a := make([][]float64, d)
		for j := range a {
			for k := range d {
				a[j] = append(a[j], c(j, k)+weight*m[j]*m[k])
			}
		}
		return a
	}
	values, vectors := jacobi(square(0, func(j, k int) float64 { return flat[j*d+k] }))
	seen, _ = jacobi(square(1, func(j, k int) float64 { return flat[j*d+k] }))
	return square(3, func(j, k int) (sum float64) {
		for i, v := range values {
			sum += max(v, 0) * vectors[i][j] * vectors[i][k]
		}
		return sum
	}), seen
}

// released returns Gt_+, and the eigenvalues of Gt, for a released second moment in svec form.
func released(t *testing.T, svec []float64) (gt [][]float64, values []float64) {
	t.Helper()
	flat, d, err := query.Symmetric(svec)
	if err != nil {
		t.Fatal(err)
	}
	a := make([][]float64, d)
	for j := range a {
		a[j] = append([]float64(nil), flat[j*d:(j+1)*d]...)
	}
	values, vectors := jacobi(a)
	gt = make([][]float64, d)
	for j := range gt {
		gt[j] = make([]float64, d)
		for k := range gt {
			for i, v := range values {
				gt[j][k] += max(v, 0) * vectors[i][j] * vectors[i][k]
			}
		}
	}
	return gt, values
}

// rootOf returns the preconditioner (gt + ridge I)^(-1/2) for a second moment gt of the rows, and its
// effective dimension d_eff.
func rootOf(gt [][]float64, ridge float64) (p [][]float64, effective float64) {
	a := make([][]float64, len(gt))
	for j := range a {
		a[j] = append([]float64(nil), gt[j]...)
	}
	values, vectors := jacobi(a)
	p = make([][]float64, len(gt))
	for j := range p {
		p[j] = make([]float64, len(gt))
		for i, v := range values {
			for k := range p {
				p[j][k] += vectors[i][j] * vectors[i][k] / math.Sqrt(v+ridge)
			}
		}
	}
	for _, v := range values {
		effective += v / (v + ridge)
	}
	return p, effective
}

// fixedPoint solves lambda = sqrt(2 E(lambda)/F0)/2, the equation of the function worth, by plain
// iteration. E(lambda) is the excess risk that noise is forecast to leave with the ridge lambda, for
// slopes of the usual size, whose root mean square is sqrt(.15 d_eff) L0.
func fixedPoint(plan optimize.Plan, p optimize.Problem, T, kappa float64, gt [][]float64, seen []float64,
	edge float64) float64 {
	law := plan.(interface{ UpdateRule() optimize.UpdateRule }).UpdateRule()
	each := .8 * .9 * p.Charge() / T
	lambda, l0 := edge, p.Constants.Lipschitz
	for range 100 {
		_, effective := rootOf(gt, lambda)
		clip := min(kappa*math.Sqrt(.15*max(effective, .5))*l0, l0/math.Sqrt(lambda))
		law.Metric = func(eigenvalue float64) float64 { return 1 / (eigenvalue/p.DataSmoothness() + lambda) }
		law.Answer = func(int, float64, float64) (float64, optimize.Variance) {
			return 1, optimize.Variance{Noise: math.Pow(p.Neighbours()*clip/p.Records, 2) / each}
		}
		lambda = math.Sqrt(lambda * math.Sqrt(2*forecast.ReleasedExcess(p, seen, edge, law)/p.Constants.InitialGap) / 2)
	}
	return lambda
}

// TestCentringRule: the second moment must be centred for effective sizes N from 50 to below 1000
// only, and with curves below 200, for losses whose Lipschitz constant is not a clip, for one margin, and if
// n d^2 is not too large, for n records of d features.
func TestCentringRule(t *testing.T) {
	for name, c := range map[string]struct {
		N       float64
		d       int
		change  func(p *optimize.Problem)
		centred bool
	}{
		"few":             {49, 9, nil, false},
		"least":           {51, 9, nil, true},
		"most":            {999, 9, nil, true},
		"many":            {1001, 9, nil, false},
		"clipped":         {100, 9, func(p *optimize.Problem) { p.Constants.Clipped = true }, false},
		"a few curves":    {199, 9, func(p *optimize.Problem) { p.Curved = true }, true},
		"many for curves": {201, 9, func(p *optimize.Problem) { p.Curved = true }, false},
		"margins":         {100, 9, func(p *optimize.Problem) { p.Shape = optimize.Shape{Margins: 3, Features: 3} }, false},
		"wide":            {999, 2000, func(p *optimize.Problem) { p.Mu, p.Records = .005, 999*math.Sqrt(2000)/.005 }, false},
	} {
		p := optimizetest.Problems()[2].Public
		p.Set, p.Regularizer, p.Start, p.Shape = nil, nil, nil, optimize.Vector(c.d)
		p = with(p, size{Records: c.N * math.Sqrt(float64(c.d)) / .5, Mu: .5})
		if c.change != nil {
			c.change(&p)
		}
		plan, err := firstorder.Preconditioned{Steps: 20}.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		// Without centring there are 31 passes: 10 mean squares, 20 steps and the second moment.
		// Centring adds two queries.
		if got := plan.Summary().Passes; (got == 33) != c.centred || (got == 31) == c.centred {
			t.Errorf("%s: %v passes: centred is %v", name, got, c.centred)
		}
	}
}

// TestNoiseIsWorthItsSteps compares the ridge lambda with the solution of lambda = over sqrt(2 e/gap), by hand for an
// excess e that does not depend on lambda: over is .5, and .35 for a fit that begins at a released base rate.
func TestNoiseIsWorthItsSteps(t *testing.T) {
	p := optimizetest.Problems()[2].Public
	p.Set, p.Regularizer, p.Start, p.Shape = nil, nil, nil, optimize.Vector(4)
	p = with(p, size{Records: 400, Mu: .5})
	for name, over := range map[string]float64{"from zero": .5, "from a base rate": .35, "curves from it": .35} {
		p := p
		if over < .5 {
			p.Base = &optimize.Base{Margins: []float64{-1}, Curvature: .2}
		}
		if p.Curved = name == "curves from it"; p.Curved {
			over *= p.Base.Curvature / p.DataSmoothness()
		}
		plan, err := firstorder.Preconditioned{Steps: 20}.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		gap := p.AtBase().Constants.InitialGap
		if got, want := firstorder.Least(plan, .01), over*math.Sqrt(2*.01/gap); !(math.Abs(got/want-1) <= 1e-4) {
			t.Errorf("%s: lambda %v: must be %v", name, got, want)
		}
	}
}

// TestCentredIsStable: on tables of very different rows, with any noise in the mean row and with or without
// shortened rows, long runs must end near the minimum. The second derivative of the loss is b everywhere.
// The test fails for m m' in place of 3 m m', on tables where the noise in m is large compared with the
// rows' variation.
func TestCentredIsStable(t *testing.T) {
	problem := optimizetest.Problems()[2]
	for name, rows := range map[string][][]float32{
		"alike":   {{.99, .01, 0}, {.99, -.01, 0}, {.99, 0, .01}},
		"two":     {{.9, .1, 0}, {.1, .9, 0}},
		"spread":  {{.9, 0, 0}, {-.9, 0, 0}, {0, .9, 0}, {0, -.9, .1}},
		"at zero": {{.01, 0, 0}, {0, .001, 0}},
		"far":     {{.5, 0, 0}, {.5, 0, 0}, {.5, 0, 0}, {.5, 0, 0}, {.5, 0, 0}, {.5, 0, 0}, {-.9, .1, 0}},
	} {
		for seed := range uint64(6) {
			targets := make([]float64, len(rows))
			for i := range targets {
				targets[i] = 1 - 2*float64(i%2)
			}
			o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Repeat: 600 / len(rows), Loss: problem.Loss,
				Budget: budget(t), Seed: seed})
			p := optimize.Problem{Shape: optimize.Vector(3), RankOne: true, Constants: problem.Public.Constants,
				Start: []float64{2, 1, 0}}
			p = with(p, o.Size())
			if N := p.Effective(); N < 50 || N >= 1000 {
				t.Fatalf("N = %v: the test is not about it", N)
			}
			plan, err := firstorder.Preconditioned{Steps: 60}.Plan(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, plan, o)
			family := optimizetest.Problem{Public: p, Loss: problem.Loss, Rows: rows, Targets: targets}
			if g := length(family.Gradient(result.W)); !(g < 10*plan.Summary().Floor) {
				t.Errorf("%s: gradient %v at %v: floor %v", name, g, result.W, plan.Summary().Floor)
			}
		}
	}
}

// TestMeanRowIsWithin: if noise makes the released mean row longer than 1, the following queries must
// be about the mean row shortened to length 1.
func TestMeanRowIsWithin(t *testing.T) {
	p := crowded()
	longer := 0
	for seed := range uint64(10) {
		c := p.Config(budget(t), 1, seed)
		c.Rows = append([][]float32(nil), c.Rows...)
		for i := range c.Rows {
			c.Rows[i] = []float32{1, 0, 0}
		}
		o := optimizetest.New(c)
		plan, err := firstorder.Preconditioned{Steps: 8}.Plan(ctx, o.Problem(p.Public))
		if err != nil {
			t.Fatal(err)
		}
		run(t, plan, o)
		mean := length(o.Asked[0].Answer.Mean)
		if mean > 1.001 {
			longer++
		}
		for _, a := range o.Asked[1:3] {
			if got := length(a.Question.Terms()[0].Point()); !close(got, min(mean, 1), 1e-9) {
				t.Errorf("seed %d: %s about a point of length %v: the mean row has %v", seed, a.Question.Name(), got, mean)
			}
		}
	}
	if longer == 0 {
		t.Error("no mean row was longer than 1")
	}
}
