package secondorder_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// spikes returns a saddle problem and an oracle on its n random rows. Each row has length 1, and the
// second moment of the rows has the eigenvalue .6 along the first axis. The point w = 0 is a saddle:
// with the regularizer, the least eigenvalue of the Hessian at 0 is about -.5.
func spikes(t *testing.T, n int, relation account.Relation) (*optimizetest.Oracle, optimize.Problem) {
	t.Helper()
	const d = 5
	r := rand.New(rand.NewPCG(7, uint64(n)))
	rows := make([][]float32, n)
	for i := range rows {
		v := make([]float64, d)
		for j := range v[1:] {
			v[j+1] = r.NormFloat64()
		}
		size := optimize.Norm(v)
		rows[i] = []float32{float32(math.Copysign(math.Sqrt(.6), r.Float64()-.5))}
		for _, x := range v[1:] {
			rows[i] = append(rows[i], float32(math.Sqrt(.4)*x/size))
		}
	}
	b, err := account.NewBudget(4, 1e-6, relation)
	if err != nil {
		t.Fatal(err)
	}
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: make([]float64, n), Loss: testloss.Saddle(), Budget: b,
		Declared: float64(n), Seed: 11})
	p, err := optimize.NewProblem(testloss.Saddle(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	p.Regularizer = optimizetest.L2(t, .1)
	return o, p
}

// release is a query and its answer.
type release struct {
	term   query.Term
	answer query.Release
	prefix query.Prefix // zero for a query outside a prefix sum
}

// witness is an oracle that records its queries and answers, with the items of prefix sums.
type witness struct {
	*optimizetest.Oracle
	seen []release
}

func (w *witness) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a, err := w.Oracle.Ask(ctx, q)
	kept := a
	kept.Mean = slices.Clone(a.Mean) // a copy, since the caller may write into Mean
	w.seen = append(w.seen, release{q.Terms()[0], kept, query.Prefix{}})
	return a, err
}

func (w *witness) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	sum, err := w.Oracle.OpenPrefix(p)
	return &witnessed{sum, w, p}, err
}

type witnessed struct {
	query.PrefixSum
	witness *witness
	prefix  query.Prefix
}

func (s *witnessed) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	a, err := s.PrefixSum.Add(ctx, terms...)
	s.witness.seen = append(s.witness.seen, release{terms[0], a, s.prefix})
	return a, err
}

// TestReadsAsItsPage recomputes a run from its released answers by Liu and Talwar 2025, Algorithms 2 to
// 4. The first item of a prefix sum must be a fresh gradient, and each other item the difference from
// the previous item's point. Each cohort must be large enough for the declared sensitivity. Each step
// must follow the last partial sum. In an escape, the product of a Hessian and the vector from the
// anchor to the iterate is added to the sum, with the Hessian of the fresh estimate's cohort at the
// anchor. The test fails if the Hessian is taken at the iterate instead.
func TestReadsAsItsPage(t *testing.T) {
	for _, theorem := range []bool{false, true} {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			oracle, p := spikes(t, 6000, relation)
			plan, err := secondorder.Spider{Theorem: theorem, Gap: map[bool]float64{false: .5}[theorem],
				StepScale: map[bool]float64{false: 4}[theorem]}.Plan(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			o := &witness{Oracle: oracle}
			type reached struct {
				w    []float64
				seen int
			}
			var steps []reached
			result, err := plan.Run(context.Background(), o, func(s optimize.Step) {
				steps = append(steps, reached{slices.Clone(s.W), len(o.seen)})
			})
			if err != nil {
				t.Fatal(err)
			}
			charged := map[uint64]float64{}
			for _, r := range o.seen {
				charged[r.term.Cohort().ID()] += r.answer.Charge
			}
			for id, m := range charged {
				if !(m <= p.Mu*p.Mu) {
					t.Errorf("theorem %v, %v: cohort %d is charged %v of %v", theorem, relation, id, m, p.Mu*p.Mu)
				}
			}
			w, anchor, estimate := make([]float64, p.Dim()), []float64(nil), []float64(nil)
			var root query.Cohort
			var before []float64
			at, products, fresh, extended := 0, 0, 0, 0
			for k, s := range steps {
				g := []float64(nil)
				for _, r := range o.seen[at:s.seen] {
					label := fmt.Sprintf("theorem %v, %v, step %d: %v", theorem, relation, k, r.term.Kind())
					sensitivity := p.Neighbours() * r.term.Ball().Radius / r.term.Cohort().Size()
					switch r.term.Kind() {
					case query.Gradient:
						root, anchor, estimate, before = r.term.Cohort(), nil, r.answer.Mean, w
						if !optimizetest.Same(r.term.Point(), w) || r.term.Ball().Radius != p.Constants.Lipschitz {
							t.Fatalf("%s: at %v, clip %v", label, r.term.Point(), r.term.Ball())
						}
						fresh++
					case query.Difference:
						anchor, estimate = nil, r.answer.Mean
						if !optimizetest.Same(r.term.Point(), w) || !optimizetest.Same(r.term.Previous(), before) {
							t.Fatalf("%s: from %v to %v: want from %v to %v", label, r.term.Previous(), r.term.Point(), before, w)
						}
						before = w
						extended++
					case query.Product, query.ProductChange:
						if anchor == nil {
							anchor = make([]float64, p.Dim())
							if k > 1 {
								anchor = steps[k-2].w
							}
						}
						if g == nil {
							g = slices.Clone(estimate)
						}
						g = optimizetest.Add(g, 1, r.answer.Mean)
						v := optimizetest.Add(w, -1, anchor)
						if !optimizetest.Same(r.term.Along(), v) {
							t.Fatalf("%s: along %v, want %v", label, r.term.Along(), v)
						}
						if !theorem && (r.term.Cohort() != root || !optimizetest.Same(r.term.Point(), anchor)) {
							t.Fatalf("%s: at %v of cohort %d: want at %v of %d", label, r.term.Point(), r.term.Cohort().ID(), anchor,
								root.ID())
						}
						products++
						continue
					}
					if !(sensitivity <= r.prefix.Sensitivity) {
						t.Fatalf("%s: sensitivity %v, declared %v", label, sensitivity, r.prefix.Sensitivity)
					}
				}
				if g == nil {
					g = estimate
				}
				at = s.seen
				if want := optimizetest.Descend(p, w, g, plan.Summary().StepSize); !optimizetest.Same(s.w, want) &&
					!(theorem && products > 0) {
					t.Fatalf("theorem %v, %v: step %d leads to %v, want %v", theorem, relation, k, s.w, want)
				}
				w = s.w
			}
			if fresh < 2 || products == 0 || extended == 0 || !result.Complete {
				t.Errorf("theorem %v, %v: %d fresh estimates, %d differences, %d products, complete %v: not all were tried",
					theorem, relation, fresh, extended, products, result.Complete)
			}
		}
	}
}

// TestLeavesTheSaddle starts a run at the saddle w = 0, where the gradient is exactly zero. The result
// must be within 20 % of the minimum along the first axis. The outcome depends on the noise, and the
// seed is fixed.
func TestLeavesTheSaddle(t *testing.T) {
	if testing.Short() {
		t.Skip("a long run")
	}
	o, p := spikes(t, 40_000, account.ReplaceOne)
	plan, err := secondorder.Spider{Gap: .5}.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	result := optimizetest.RunPlan(t, plan, o)
	// slope is the derivative of the objective along the first axis in the population. The objective is
	// -psi(sqrt(.6) w)/2 + .05 w^2 with psi(z) = z^2/(1+z^2).
	slope := func(w float64) float64 {
		z := .6 * w * w
		return -.6*w/((1+z)*(1+z)) + .1*w
	}
	lo, hi := .5, 5.
	for range 100 {
		if mid := (lo + hi) / 2; slope(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	if got := math.Abs(result.W[0]); !(math.Abs(got-lo) <= .2*lo) || optimize.Norm(result.W[1:]) > .2*lo {
		t.Errorf("result %v (%s): the minimum is at %v along the first axis", result.W, result.Output, lo)
	}
}

// TestResultIsTheAverageOfTheLastThird recomputes the result of a run without escapes from its
// queries: the mean of the points at which estimates were released while at most a third of the records
// was unused.
func TestResultIsTheAverageOfTheLastThird(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	c := optimizetest.Config{Loss: loss.Logistic(), Budget: optimizetest.Budget(t), Seed: 5}
	for range 2000 {
		x := []float32{.8, float32(1.2*r.Float64() - .6)}
		c.Rows, c.Targets = append(c.Rows, x), append(c.Targets, math.Copysign(1, r.Float64()-.2))
	}
	o := &witness{Oracle: optimizetest.New(c)}
	p, err := optimize.NewProblem(c.Loss, c.Budget, o)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := secondorder.Spider{}.Plan(context.Background(), p)
	result := optimizetest.RunPlan(t, optimizetest.Resolve(t, plan, err), o)
	unused, drawn, count, mean := p.Records, map[uint64]bool{}, 0., make([]float64, p.Dim())
	for _, a := range o.seen {
		if id := a.term.Cohort().ID(); !drawn[id] {
			drawn[id] = true
			unused -= a.term.Cohort().Size()
		}
		if 3*unused <= p.Records {
			count++
			mean = optimizetest.Add(mean, 1, a.term.Point())
		}
	}
	if count < 3 || optimize.Norm(mean) < .1*count {
		t.Fatalf("%v points, sum %v: too few, or too close to zero for this test", count, mean)
	}
	for j := range mean {
		mean[j] /= count
	}
	if !optimizetest.Same(result.W, mean) {
		t.Errorf("result %v, mean of the %v points of the last third %v", result.W, count, mean)
	}
}

// TestLongAndShortSteps: by default the step size of the descent must be at most 16/L1 on rank-one losses, and
// no step may be longer than the path kappa/L1 of a prefix sum. A step of this length must occur. The step
// size in an escape must be 4/L1. A step scale that is set must apply to the descent and to escapes.
func TestLongAndShortSteps(t *testing.T) {
	for _, h := range []float64{0, 4} {
		oracle, p := spikes(t, 6000, account.ReplaceOne)
		plan, err := secondorder.Spider{Gap: .5, StepScale: h}.Plan(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		o := &witness{Oracle: oracle}
		w, at, long, limited, escapes := p.StartPoint(), 0, 0, 0, 0
		var sums int
		if _, err := fmt.Sscanf(plan.Summary().Charges[strings.Index(plan.Summary().Charges, "up to"):],
			"up to %d prefix sums", &sums); err != nil {
			t.Fatal(err)
		}
		kappa := min(2*p.Constants.Lipschitz,
			3*p.InitialGradient()/math.Sqrt(float64(sums))*max(1, p.Effective()/500))
		var estimate []float64
		_, err = plan.Run(context.Background(), o, func(s optimize.Step) {
			g, escape := estimate, at == len(o.seen)
			for _, r := range o.seen[at:] {
				if escape = r.term.Kind() == query.Product; escape {
					g = optimizetest.Add(estimate, 1, r.answer.Mean)
				} else {
					estimate = r.answer.Mean
					g = estimate
				}
			}
			at = len(o.seen)
			full := slices.Clone(g)
			p.AddRegularizer(full, w)
			moved := optimize.Apart(s.W, w) * p.Smoothness()
			eta := moved / optimize.Norm(full)
			w = slices.Clone(s.W)
			switch {
			case escape:
				escapes++
				if !(math.Abs(eta-4) <= 1e-6) {
					t.Errorf("step scale %v: a step of an escape is %v/L1", h, eta)
				}
			case math.Abs(eta-map[float64]float64{0: p.StepSize(16) * p.Smoothness(), 4: 4}[h]) < 1e-6:
				long++
			case h == 0 && math.Abs(moved-kappa) < 1e-5*kappa:
				limited++
			case h == 0 && eta < 16 && moved < kappa:
			case math.Abs(eta-4) < 1e-6: // the first step of an escape makes no query for a product
			default:
				t.Errorf("step scale %v: a step is %v/L1", h, eta)
			}
		})
		if err != nil || long+limited == 0 || escapes == 0 || h == 0 && limited == 0 {
			t.Errorf("step scale %v: %d steps of full length, %d as long as paths, %d of escapes, %v", h, long, limited, escapes,
				err)
		}
	}
}

// TestNoiseEndsEscapes: where an estimate's noise is longer than the gradient gap Xi at the end of an escape, the
// plan must make no products and hold out no records, and must say why. The number of records decides, by the rule
// alone: with ten times as many the plan has escapes.
func TestNoiseEndsEscapes(t *testing.T) {
	_, p := spikes(t, 100, account.ReplaceOne)
	for _, n := range []float64{100, 4000} {
		p.Records = n
		plan, err := secondorder.Spider{Gap: .3}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		hidden := n == 100
		if s := plan.Summary().Charges; strings.Contains(s, "noise hides curvature of -0.3") != hidden ||
			plan.Needs().Selection == hidden || plan.Properties().Escapes == hidden {
			t.Errorf("%v records: %q, needs %+v", n, s, plan.Needs())
		}
	}
}

// TestConvex plans a convex problem. Every stationary point of a convex objective is a second-order
// stationary point, so the plan must need no selection on held-out records, and its summary must say
// why there are no escapes.
func TestConvex(t *testing.T) {
	b := optimizetest.Budget(t)
	p, err := optimize.NewProblem(loss.Logistic(), b, optimize.Stated(10, 10_000))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := secondorder.Spider{}.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if n := plan.Needs(); n.Selection || !n.PrefixSums || !n.Cohorts {
		t.Errorf("needs %+v", n)
	}
	const want = "every stationary point of a convex objective is one of second order"
	if s := plan.Summary().Charges; !strings.Contains(s, want) {
		t.Errorf("charges: %q: want to read %q", s, want)
	}
}

// TestRefusals: the error for each invalid setting must name the field, its value and its limits.
func TestRefusals(t *testing.T) {
	_, p := spikes(t, 100, account.ReplaceOne)
	blind, rough := p, p
	blind.Products = false
	rough.Constants.HessianLipschitz = math.Inf(1)
	for want, c := range map[string]struct {
		of secondorder.Spider
		p  optimize.Problem
	}{
		"gap = -1: must be finite and > 0": {secondorder.Spider{Gap: -1}, p},
		"step scale = NaN: must be finite": {secondorder.Spider{StepScale: math.NaN()}, p},
		"rounds = -1, items = 64: must be": {secondorder.Spider{Rounds: -1}, p},
		"rounds = 1, items = -2: must be":  {secondorder.Spider{Items: -2}, p},
		"records = 1: must be more than the 1 held out": {secondorder.Spider{Rounds: 200},
			optimizetest.With(p, optimizetest.Size{Records: 1, Mu: 1})},
		"gap: must not be set beside theorem":            {secondorder.Spider{Gap: .1, Theorem: true}, p},
		"without_products must be true":                  {secondorder.Spider{}, blind},
		"Lipschitz constant of the Hessian = +Inf: must": {secondorder.Spider{Theorem: true}, rough},
	} {
		if _, err := c.of.Plan(context.Background(), c.p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	if _, err := (secondorder.Spider{WithoutProducts: true}).Plan(context.Background(), blind); err != nil {
		t.Errorf("without products: %v", err)
	}
}

// TestTheoremOfFewRecords: for a table of one record or of a few records, the theorem's settings must give
// a plan whose numbers are finite, or an error about the number of records. The test fails for a division
// by zero.
func TestTheoremOfFewRecords(t *testing.T) {
	_, p := spikes(t, 100, account.ReplaceOne)
	refused := 0
	for _, neighbours := range []float64{1, 2} {
		for n := 1.; n <= 6; n++ {
			for _, mu := range []float64{.01, 1, 30} {
				for _, c := range []secondorder.Spider{{Theorem: true}, {Theorem: true, WithoutSelection: true},
					{Theorem: true, WithoutProducts: true}} {
					few := optimizetest.With(p, optimizetest.Size{Records: n, Mu: mu, Neighbours: neighbours}, p.Budget)
					plan, err := c.Plan(context.Background(), few)
					if err != nil {
						refused++
						if s := err.Error(); !strings.Contains(s, "records") || strings.Contains(s, "NaN") {
							t.Errorf("%+v, n = %v, mu = %v: %v", c, n, mu, err)
						}
						continue
					}
					s := plan.Summary()
					for _, x := range []float64{s.StepSize, s.Clip, s.Effective, s.Floor, s.Passes, s.Predicted} {
						if !(x >= 0) || math.IsInf(x, 0) || s.Steps < 1 || strings.Contains(s.Charges, "NaN") {
							t.Errorf("%+v, n = %v, mu = %v: %+v", c, n, mu, s)
							break
						}
					}
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no table is too small")
	}
}
