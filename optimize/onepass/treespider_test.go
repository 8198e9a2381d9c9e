package onepass_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// spider follows the queries of a run by recursion over the tree, independently of depthFirst.
type spider struct {
	t        *testing.T
	name     string
	p        optimize.Problem
	fraction float64
	sizes    []float64
	asked    []optimizetest.Asked
	// step returns the step size for an estimate. points has the points reached so far.
	step   func(g []float64) float64
	points [][]float64
	w      []float64
}

// take returns the next query and its answer. The test fails unless the query is on a cohort of the
// size that belongs to its depth in the tree.
func (s *spider) take(depth int) (query.Term, []float64) {
	if len(s.asked) == 0 {
		s.t.Fatalf("%s: no more questions at depth %d", s.name, depth)
	}
	a := s.asked[0]
	s.asked = s.asked[1:]
	terms := a.Question.Terms()
	if size := a.Question.Cohort().Size(); len(terms) != 1 || terms[0].Weight() != 1 ||
		!close(size, s.sizes[depth], 1e-9) {
		s.t.Fatalf("%s: %s of %v records at depth %d: want %v", s.name, a.Question.Name(), size, depth, s.sizes[depth])
	}
	return terms[0], a.Answer.Mean
}

// visit visits a vertex with its point and its estimate, and all vertices below it.
func (s *spider) visit(depth int, at, g []float64) {
	if depth == len(s.sizes)-1 {
		if !same(at, s.w) {
			s.t.Fatalf("%s: leaf at %v: want %v", s.name, at, s.w)
		}
		s.w = descend(s.p, s.w, g, s.step(full(s.p, s.w, g)))
		s.points = append(s.points, s.w)
		return
	}
	s.visit(depth+1, at, g)
	term, answer := s.take(depth + 1)
	isDifference(s.t, len(s.points), s.p, s.fraction, term, s.w, at)
	s.visit(depth+1, s.w, add(g, 1, answer))
}

// TestTreeSpiderIsAlgorithm2 recomputes a run by Algorithm 2 of Arora et al. 2023. A root must release
// the gradient on b fresh records, and a left child nothing. A right child at depth j must release the
// gradient difference between its point and its parent's point on b/2^(k j) fresh records; the
// difference is added to its parent's estimate. Leaves must step along their estimates, with size eta
// or with one length. Every query must be charged mu^2, and no record may be in two queries. The test
// fails if a left child draws records, if a difference starts at another point or is added to another
// estimate, or if an estimate is kept for the next round.
func TestTreeSpiderIsAlgorithm2(t *testing.T) {
	const rounds = 2
	turns := 0
	everywhere(t, 150, func(name string, p optimizetest.Problem, open func() *optimizetest.Oracle) {
		for depth := 1; depth <= 3; depth++ {
			for _, c := range []onepass.TreeSpider{
				{StepScale: .5}, {StepScale: 40, Decay: 1},
				{StepScale: .5, Decay: 1.5, Ball: optimize.DifferenceBall{Fraction: .5}},
				{Theorem: true, Accuracy: 1e-12, Beta: .3},
			} {
				o := open()
				c.Rounds, c.Depth, c.Output = rounds, depth, optimize.Last
				b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
				if err != nil {
					t.Fatal(err)
				}
				plan, err := c.Plan(ctx, with(p.Public, o.Size(), b))
				if err != nil {
					t.Fatal(err)
				}
				result := run(t, plan, o)
				_, _, sizes := onepass.Tree(plan)
				usesEachRecordOnce(t, name, o, nil)
				pace := paced{eta: stepSize(p.Public, c.StepScale)}
				s := &spider{t: t, name: name, p: p.Public, fraction: c.Ball.Fraction, sizes: sizes, asked: o.Asked,
					w: start(p.Public), step: pace.step}
				if c.Theorem {
					s.step = func(g []float64) float64 {
						return .3 / math.Sqrt(math.Pow(2, float64(depth))) * stepSize(p.Public, 1) / length(g)
					}
					// The length follows from L1 of loss plus regularizer, and is not limited by the
					// regularizer alone.
					if p.Public.Regularizer != nil {
						s.step = func(g []float64) float64 {
							return .3 / math.Sqrt(math.Pow(2, float64(depth))) / p.Public.Smoothness() / length(g)
						}
					}
				}
				for range rounds {
					term, g := s.take(0)
					if term.Kind() != query.Gradient || !same(term.Point(), s.w) ||
						term.Ball() != (query.ClipBall{Radius: p.Public.Constants.Lipschitz}) {
						t.Fatalf("%s: %v at %v: want a root at %v", name, term.Kind(), term.Point(), s.w)
					}
					s.visit(0, s.w, g)
				}
				if len(s.asked) != 0 || len(o.Asked) != rounds<<depth || !same(result.W, s.w) || result.Steps != len(o.Asked) ||
					!result.Complete {
					t.Errorf("%s: %d questions, %d too many, %+v: want %v", name, len(o.Asked), len(s.asked), result, s.w)
				}
				// The estimate of the first leaf of a round is the root's, and its noise is independent
				// of earlier noise.
				for t0 := range result.Steps {
					if keep := result.Trace.Keep; len(keep) == result.Steps && (keep[t0] == 0) != (t0%(1<<depth) == 0) {
						t.Errorf("%s: step %d of trees of depth %d keeps %v of an estimate", name, t0+1, depth, keep[t0])
					} else if len(keep) != result.Steps {
						t.Fatalf("%s: what steps keep is %v", name, keep)
					}
				}
				turns += pace.turns
				if c.Decay == 1 && !close(sizes[depth]*math.Exp2(float64(depth)), sizes[0], math.Exp2(float64(depth))/sizes[0]) {
					t.Errorf("%s: cohorts of %v", name, sizes)
				}
			}
		}
	})
	if turns == 0 {
		t.Error("no step overshot")
	}
}

// TestTreeSpiderAverages: the result must be the average of the points that the second half of the
// steps reach, with the weight t^2 for step t. With Theorem it must be a random leaf, one of the points
// at which estimates were computed.
func TestTreeSpiderAverages(t *testing.T) {
	p := crowd(optimizetest.Problems()[2], 40)
	o := optimizetest.New(p.Config(budget(t), 1, 4))
	var reached [][]float64
	plan, err := onepass.TreeSpider{Rounds: 3, Depth: 2, StepScale: 1}.Plan(ctx, with(p.Public, o.Size(), budget(t)))
	resolve(t, plan, err)
	r, err := plan.Run(context.Background(), o, func(s optimize.Step) {
		reached = append(reached, add(s.W, 1, make([]float64, len(s.W))))
	})
	if err != nil {
		t.Fatal(err)
	}
	want, weight := make([]float64, p.Public.Dim()), 0.
	for k := 6.; k <= 12; k++ {
		want = add(want, k*k, reached[int(k)-1])
		weight += k * k
	}
	if !same(r.W, add(make([]float64, len(want)), 1/weight, want)) {
		t.Errorf("%v: want the average %v", r.W, add(make([]float64, len(want)), 1/weight, want))
	}
	o = optimizetest.New(p.Config(budget(t), 1, 4))
	random, err := onepass.TreeSpider{Theorem: true, Accuracy: 1e-12, Rounds: 3, Depth: 2}.Plan(ctx,
		with(p.Public, o.Size(), budget(t)))
	if err != nil {
		t.Fatal(err)
	}
	points := [][]float64{start(p.Public)}
	if r, err = random.Run(context.Background(), o, func(s optimize.Step) {
		points = append(points, add(s.W, 1, make([]float64, len(s.W))))
	}); err != nil {
		t.Fatal(err)
	}
	var pick, of int
	if _, err := fmt.Sscanf(r.Output, "random: iterate %d of %d,", &pick, &of); err != nil || of != 12 ||
		!same(r.W, points[pick-1]) {
		t.Errorf("%q, %v: %v: want leaf %d, %v", r.Output, err, r.W, pick, points[pick-1])
	}
}

// TestTheorem4 computes the settings of Theorem 4 of Arora et al. 2023 a second time, with the proof's
// beta, and counts the records of a round vertex by vertex. The test fails for another exponent,
// another base of logarithms, another factor of C~, or a D that is too large by one.
func TestTheorem4(t *testing.T) {
	p := optimizetest.Problems()[3].Public // tanh with a regularizer
	early, late := false, false
	for _, d := range []int{3, 100, 40000} {
		for _, n := range []float64{1e5, 1e6, 3e7} {
			for _, epsilon := range []float64{.5, 1} {
				const delta, failure = 1e-7, .01
				p.Shape = optimize.Vector(d)
				b, err := account.NewBudget(epsilon, delta, account.ReplaceOne)
				if err != nil {
					t.Fatal(err)
				}
				plan, err := onepass.TreeSpider{Theorem: true, Failure: failure}.Plan(ctx, with(p, size{Records: n, Mu: b.Mu()}, b))
				if err != nil {
					t.Fatal(err)
				}
				rounds, depth, sizes := onepass.Tree(plan)
				cohort := math.Cbrt(n) * math.Cbrt(n)
				if other := math.Sqrt(n * math.Sqrt(float64(d)) / epsilon); other > cohort {
					cohort, late = other, true
				} else {
					early = true
				}
				D := 1
				for float64((D+1)*int(1<<(D+2))) <= cohort {
					D++
				}
				leaf := math.Floor(cohort / math.Pow(2, float64(D)))
				if depth != D || sizes[0] != leaf*math.Pow(2, float64(D)) {
					t.Fatalf("n = %v, d = %d: b = %v, D = %d: want %v, %d", n, d, sizes[0], depth, leaf*math.Pow(2, float64(D)), D)
				}
				perRound := 0.
				for j := 0; j <= D; j++ {
					if sizes[j] != sizes[0]/math.Pow(2, float64(j)) {
						t.Fatalf("n = %v, d = %d: cohorts of %v", n, d, sizes)
					}
					for vertex := range 1 << j { // numbered from the left; odd ones are right children
						if j == 0 || vertex%2 == 1 {
							perRound += sizes[j]
						}
					}
				}
				if !close(perRound, sizes[0]*(float64(D)/2+1), 1e-12) || float64(rounds) != math.Floor(n/perRound) {
					t.Fatalf("n = %v, d = %d: %d rounds of %v", n, d, rounds, perRound)
				}
				l0, l1, f0 := p.Constants.Lipschitz, p.Smoothness(), p.Constants.InitialGap
				alpha := math.Sqrt2 * l0 * math.Max(1/math.Cbrt(n), math.Sqrt(math.Sqrt(float64(d))/(n*epsilon)))
				beta := alpha * math.Min(1, math.Sqrt(sizes[0])*epsilon/math.Sqrt(float64(d)))
				C := 256*math.Log(1.25/delta)*math.Log(float64(rounds)*math.Pow(2, float64(D+2))/failure) +
					8*l1*f0*math.Sqrt(2*float64(D))*(float64(D)/2+1)/(2*l0*l0)
				length, accuracy := onepass.Steps(plan)
				if !close(length, beta/math.Pow(2, float64(D)/2)/l1, 1e-12) || !close(accuracy, C*alpha, 1e-12) {
					t.Errorf("n = %v, d = %d: steps of %v, accuracy %v: want %v, %v", n, d, length, accuracy,
						beta/math.Pow(2, float64(D)/2)/l1, C*alpha)
				}
			}
		}
	}
	if !early || !late {
		t.Error("one branch of b was not reached")
	}
}

// TestTheorem4Predicts: the forecast must be the smaller of 3 alpha~ and the gradient norm at the
// start. If the setting Accuracy replaces the theorem's alpha~, it must be neither.
func TestTheorem4Predicts(t *testing.T) {
	p := optimizetest.Problems()[2].Public
	_, _, gradients := optimizetest.Spectrum(p)
	for n, bound := range map[float64]bool{1e6: false, 1e22: true} {
		plan, err := onepass.TreeSpider{Theorem: true}.Plan(ctx, with(p, size{Records: n, Mu: .2}, budget(t)))
		if err != nil {
			t.Fatal(err)
		}
		_, accuracy := onepass.Steps(plan)
		want := length(gradients)
		if bound {
			want = 3 * accuracy
		}
		if o := plan.Summary(); !close(o.Predicted, want, 1e-12) || !close(o.Population, want, 1e-12) ||
			bound != (3*accuracy < length(gradients)) {
			t.Errorf("n = %v: predicted %v: want %v", n, o.Predicted, want)
		}
		other, err := onepass.TreeSpider{Theorem: true, Accuracy: accuracy}.Plan(ctx,
			with(p, size{Records: 1e6, Mu: .2}, budget(t)))
		if o := resolve(t, other, err).Summary(); close(o.Predicted, want, 1e-12) {
			t.Errorf("n = %v: predicted the theorem's %v for another accuracy", n, o.Predicted)
		}
	}
}

// TestTreeSpiderReturnsEarly: the run must end at the first leaf whose estimate, with the regularizer's
// gradient, is at most 2 alpha~, before the leaf's step and without further queries. The test fails for
// alpha~ in place of 2 alpha~, or if the result is the point after the step.
func TestTreeSpiderReturnsEarly(t *testing.T) {
	p := crowd(optimizetest.Problems()[3], 40)
	var norms []float64
	points := [][]float64{start(p.Public)}
	c := onepass.TreeSpider{Rounds: 3, Depth: 2, StepScale: 1}
	plan := func(c onepass.TreeSpider) optimize.Plan {
		plan, err := c.Plan(ctx, with(p.Public, optimizetest.New(p.Config(budget(t), 1, 4)).Size(), budget(t)))
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	whole := optimizetest.New(p.Config(budget(t), 1, 4))
	if _, err := plan(c).Run(context.Background(), whole, func(s optimize.Step) {
		norms = append(norms, s.GradientNorm)
		points = append(points, add(s.W, 1, make([]float64, len(s.W))))
	}); err != nil {
		t.Fatal(err)
	}
	for i, threshold := range norms {
		c.Accuracy = threshold / 2 * (1 + 1e-9)
		first := 0
		for norms[first] > 2*c.Accuracy {
			first++
		}
		o := optimizetest.New(p.Config(budget(t), 1, 4))
		r := run(t, plan(c), o)
		if !r.Complete || r.Steps != first || !same(r.W, points[first]) || len(o.Asked) != first+1 ||
			!strings.Contains(r.Output, "the first whose estimate") {
			t.Errorf("leaf %d: %+v after %d questions: want leaf %d, %v", i+1, r, len(o.Asked), first+1, points[first])
		}
	}
	// The theorem's own alpha~ is far above L0, so that the run returns the start.
	big := crowd(optimizetest.Problems()[3], 1000)
	o := optimizetest.New(big.Config(budget(t), 1, 4))
	theorem, err := onepass.TreeSpider{Theorem: true}.Plan(ctx, with(big.Public, o.Size(), budget(t)))
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, theorem, o); r.Steps != 0 || length(r.W) != 0 || len(o.Asked) != 1 {
		t.Errorf("%+v after %d questions: want the start", r, len(o.Asked))
	}
}

// TestTreeSpiderStill: a right child at its parent's point must take its parent's estimate and draw no
// records. Here no point ever moves, since the feasible set is the origin.
func TestTreeSpiderStill(t *testing.T) {
	p := crowd(optimizetest.Problems()[0], 100)
	p.Public.Set = convex.Ball{}
	o := optimizetest.New(p.Config(budget(t), 1, 2))
	plan, err := onepass.TreeSpider{Rounds: 3, Depth: 3}.Plan(ctx, with(p.Public, o.Size(), budget(t)))
	resolve(t, plan, err)
	var norms []float64
	if _, err := plan.Run(context.Background(), o,
		func(s optimize.Step) { norms = append(norms, s.GradientNorm) }); err != nil {
		t.Fatal(err)
	}
	if len(o.Asked) != 3 || len(norms) != 24 {
		t.Fatalf("%d questions, %d steps: want 3, 24", len(o.Asked), len(norms))
	}
	for k, g := range norms {
		if want := length(o.Asked[k/8].Answer.Mean); !close(g, want, 1e-12) {
			t.Errorf("step %d: estimate of %v: want its root's, %v", k+1, g, want)
		}
	}
}

// TestTreeSpiderRule: there must be about 4 sqrt(N)/h steps, for the effective size N, in four to
// eight rounds, or in two or three rounds of depth 1. All records must be used, up to less than one
// for each cohort. A cohort at depth j must have b/2^(3j/2) records, for b at the root, if, with
// these cohorts, 1/b is above the noise at the root, and b/2^j otherwise.
func TestTreeSpiderRule(t *testing.T) {
	p := optimizetest.Problems()[2].Public
	p.Shape = optimize.Vector(100)
	thin, even := false, false
	for _, n := range []float64{.2, 1, 2, 3, 10, 100, 1e4, 3e4, 1e5, 1e6, 1e8} {
		s := size{Records: n, Mu: .2}
		plan, err := onepass.TreeSpider{}.Plan(ctx, with(p, s, account.Budget{}))
		if err != nil {
			t.Fatal(err)
		}
		rounds, depth, sizes := onepass.Tree(plan)
		var used, cohorts float64
		for j, size := range sizes {
			k := math.Max(1, math.Pow(2, float64(j-1)))
			used, cohorts = used+k*size*float64(rounds), cohorts+k*float64(rounds)
		}
		if used > n || used < n-cohorts || !close(plan.Summary().Passes, used/n, 1e-12) || sizes[depth] < min(n, 1) {
			t.Errorf("n = %v: %v records in cohorts of %v", n, used, sizes)
		}
		if n < 1e3 {
			continue
		}
		steps := math.Ceil(4 * math.Sqrt(with(p, s).Effective()) / 16)
		if taken := float64(int(rounds) << depth); taken < steps || taken-steps >= math.Pow(2, float64(depth)) ||
			depth > 1 && (rounds < 4 || rounds > 8) || depth == 1 && rounds > 8 {
			t.Errorf("n = %v: %d rounds of depth %d for %v steps", n, rounds, depth, steps)
		}
		decay := math.Log2(sizes[0] / sizes[1])
		if math.Abs(decay-1.5) < .05 {
			thin = true
			if b := sizes[0]; 100*math.Pow(2/b/.2, 2) > 1/b {
				t.Errorf("n = %v: cohorts of %v in spite of the noise", n, sizes)
			}
		} else if even = true; !(math.Abs(decay-1) <= .05) || 100*math.Pow(2/(1.2*sizes[0])/.2, 2) < 1/(1.2*sizes[0]) {
			t.Errorf("n = %v: cohorts of %v", n, sizes)
		}
	}
	if !thin || !even {
		t.Error("one decay was not reached")
	}
}

// TestTreeSpiderInvalidSettings: each error must name the field, its value and the rule.
func TestTreeSpiderInvalidSettings(t *testing.T) {
	p, s := optimizetest.Problems()[2].Public, size{Records: 1000, Mu: .5}
	nan := math.NaN()
	for want, c := range map[string]onepass.TreeSpider{
		"rounds = -1: must be between":            {Rounds: -1},
		"depth = 20: must be between":             {Depth: 20},
		"rounds = 1000000 of depth 1: must":       {Rounds: 1e6, Depth: 1},
		"step scale = NaN: must be finite":        {StepScale: nan},
		"accuracy = -1: must be finite":           {Accuracy: -1},
		"decay = +Inf: must be finite":            {Decay: math.Inf(1)},
		"beta = -1: must be finite":               {Beta: -1, Theorem: true},
		"failure = 1: must be > 0 and < 1":        {Failure: 1, Theorem: true},
		"step scale = 1: must be 0 with the theo": {StepScale: 1, Theorem: true},
		"beta = 1, failure = 0: must be 0 withou": {Beta: 1},
		"200 rounds of depth 3: must leave every": {Rounds: 200, Depth: 3},
		"records = 1000: must suffice for a roun": {Theorem: true, Depth: 19},
		"500 rounds of depth 3: must leave every": {Theorem: true, Rounds: 500, Depth: 3},
	} {
		if _, err := c.Plan(ctx, with(p, s, budget(t))); err == nil ||
			!strings.Contains(err.Error(), "optimize: tree-spider: "+want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
	for want, err := range map[string]error{
		"optimize: tree-spider: budget": second(onepass.TreeSpider{Theorem: true}.Plan(ctx,
			with(p, s, account.Budget{}))),
		"optimize: tree-spider: records = 1000: must be >= ": second(onepass.TreeSpider{Theorem: true, Depth: 4}.Plan(ctx,
			with(optimize.Problem{Shape: optimize.Vector(12500), Constants: p.Constants}, s, budget(t)))),
		"optimize: output = output(9): must be one of": second(onepass.TreeSpider{Output: 9}.Plan(ctx,
			with(p, s, budget(t)))),
		"optimize: ball fraction = 3: must be 0": second(onepass.TreeSpider{Ball: optimize.DifferenceBall{Fraction: 3}}.Plan(ctx, with(p, s, budget(t)))),
		"optimize: mu = 0: must be finite": second(onepass.TreeSpider{}.Plan(ctx,
			with(p, size{Records: 10}, budget(t)))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}
