package recursive_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// stableOracle makes passes over the rows without noise, in the order in which Draw returned them, and
// records the queries.
type stableOracle struct {
	*optimizetest.Oracle
	p      optimizetest.Problem
	handed map[uint64][]int
	next   int
	asked  []query.Stable
	stop   int // number, counted from 1, of the query that is refused; 0 for none
}

var errStop = errors.New("stop")

func newStableOracle(p optimizetest.Problem, o *optimizetest.Oracle) *stableOracle {
	return &stableOracle{Oracle: o, p: p, handed: map[uint64][]int{}}
}

func (o *stableOracle) Draw(size int) (query.Cohort, error) {
	c, err := o.Oracle.Draw(size)
	for range size {
		// A stride with no factor in common with the number of rows mixes the rows.
		o.handed[c.ID()] = append(o.handed[c.ID()], o.next*7%len(o.p.Rows))
		o.next++
	}
	return c, err
}

func (o *stableOracle) Stable(_ context.Context, q query.Stable) (query.Release, error) {
	if o.asked = append(o.asked, q); len(o.asked) == o.stop {
		return query.Release{}, errStop
	}
	return query.Release{Mean: o.pass(q.Pass(), o.handed[q.Cohort().ID()]), Sigma: 1, Charge: q.Charge()}, nil
}

// pass returns the average of w_1, ..., w_n of the pass, as query.Pass defines them.
func (o *stableOracle) pass(p query.Pass, rows []int) []float64 {
	w, mean := slices.Clone(p.Start), make([]float64, len(p.Start))
	for _, i := range rows {
		mean = add(mean, 1/float64(len(rows)), w)
		x := make([]float64, len(w))
		var z float64
		for j, v := range o.p.Rows[i] {
			x[j] = float64(v)
			z += w[j] * x[j]
		}
		slope := make([]float64, 1)
		o.p.Loss.(loss.RankOne).Slopes(slope, []float64{z}, o.p.Targets[i:i+1])
		g := add(add(make([]float64, len(w)), min(max(slope[0], -p.Clip), p.Clip), x), p.Lambda, w)
		if p.Linear != nil {
			g = add(g, -1, p.Linear)
		}
		w = add(w, -p.Step, g)
		centre := make([]float64, len(w))
		copy(centre, p.Centre)
		if away := add(w, -1, centre); p.Radius > 0 && length(away) > p.Radius {
			w = add(centre, p.Radius/length(away), away)
		}
	}
	return mean
}

// TestPhasedSGDAsksAsItsPageSays (Feldman, Koren and Talwar 2020): phase i of a round must pass over
// 2^-i of the round's records, which no other phase uses. It must make steps of size 4^-i eta, start at
// the last release, and be charged the whole budget. The objective must have every quadratic so far and
// the problem's own regularizer. The test fails for phases on the same records, for steps that are
// halved from phase to phase, without a quadratic or the regularizer, and for a wrong ball.
func TestPhasedSGDAsksAsItsPageSays(t *testing.T) {
	const T, lambda, growth, radius = 3, .02, 2.5, .4
	for i, p := range convexProblems(t)[6:] { // rank-one losses
		lean := make([]float64, 3)
		if i == 1 {
			lean = []float64{.2, 0, -.1}
			p.Public.Regularizer = leaning{p.Public.Regularizer, lean}
		}
		for stop := range 8 {
			o := newStableOracle(p, relations(t, p, 1)[account.ReplaceOne])
			o.stop = stop
			plan, err := recursive.Recursive{
				Inner: recursive.PhasedSGD, Rounds: T, Lambda: lambda, Growth: growth, Radius: radius, StepScale: .6,
			}.Plan(ctx, with(p.Public, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			var steps []optimize.Step
			r, err := plan.Run(context.Background(), o, func(s optimize.Step) {
				s.W = slices.Clone(s.W)
				steps = append(steps, s)
			})
			sizes := []int{}
			for n := 240 / T / 2; n >= 2; n /= 2 {
				sizes = append(sizes, n)
			}
			if stop > 0 {
				if !errors.Is(err, errStop) || r.Complete || r.Steps != stop-1 || stop > 1 && !same(r.W, steps[stop-2].W) {
					t.Errorf("%s: stop at %d: %+v, %v", p.Name, stop, r, err)
				}
				continue
			}
			if err != nil || !r.Complete || len(o.asked) != T*len(sizes) || len(steps) != len(o.asked) ||
				plan.Summary().Steps != len(steps) {
				t.Fatalf("%s: %d questions, %d steps, %+v, %v", p.Name, len(o.asked), len(steps), r, err)
			}
			origin := make([]float64, 3)
			copy(origin, p.Public.Start)
			if p.Public.Set != nil {
				p.Public.Set.Project(origin)
			}
			var reg float64
			if p.Public.Regularizer != nil {
				reg = p.Public.Regularizer.Smoothness()
			}
			w, pull, linear := origin, 0., make([]float64, 3)
			seen := map[uint64]bool{}
			for k, q := range o.asked {
				round, i := k/len(sizes), k%len(sizes)
				if i == 0 {
					s := lambda * math.Pow(growth, float64(round))
					pull += s
					linear = add(linear, s, w)
				}
				eta := .6 * math.Log(80) / (lambda * math.Pow(growth, float64(round+1)) * 80)
				if least := 2 / (.25 + reg + pull); eta/4 > least {
					eta = 4 * least
				}
				centre, at := math.Pow(growth, float64(round+1)/2)*radius, origin
				if p.Public.Set != nil {
					centre, at = .5, nil
				}
				pass := q.Pass()
				if !same(pass.Start, w) || !close(pass.Step, eta*math.Pow(4, -float64(i+1)), 1e-5) ||
					pass.Step*(.25+pass.Lambda) > 2 ||
					pass.Clip != 1 || !close(pass.Lambda, pull+reg, 1e-12) || !same(pass.Linear, add(linear, -1, lean)) ||
					!close(pass.Radius, centre, 1e-12) || !(at == nil && pass.Centre == nil || same(pass.Centre, at)) {
					t.Fatalf("%s: phase %d of round %d: %+v: want start %v, step %v, lambda %v, linear %v, radius %v", p.Name, i+1,
						round+1,
						pass, w, eta*math.Pow(4, -float64(i+1)), pull+reg, linear, centre)
				}
				if mu := o.Size().Mu; seen[q.Cohort().ID()] || q.Cohort().Size() != float64(sizes[i]) ||
					!close(q.Charge(), mu*mu, 1e-8) || q.Charge() > mu*mu {
					t.Fatalf("%s: phase %d of round %d: charge %v, %v records, seen %v", p.Name, i+1, round+1, q.Charge(),
						q.Cohort().Size(), seen[q.Cohort().ID()])
				}
				seen[q.Cohort().ID()] = true
				w = o.pass(pass, o.handed[q.Cohort().ID()])
				if s := steps[k]; !same(s.W, w) || !close(s.Charged, q.Charge(), 1e-12) {
					t.Fatalf("%s: step %+v: want %v", p.Name, s, w)
				}
			}
			if !same(r.W, w) {
				t.Errorf("%s: result %v: want %v", p.Name, r.W, w)
			}
		}
	}
}

// TestPhasedSGDTheorem5: lambda must be at least L1 log(n)/n. eta must be log(n/T)/(lambda_t n/T), or
// smaller if steps of this size would not be stable (Arora et al. 2023, Theorem 5).
func TestPhasedSGDTheorem5(t *testing.T) {
	p, s := optimizetest.Problems()[2].Public, size{Records: 1e5, Mu: .3}
	plan, err := recursive.Recursive{Inner: recursive.PhasedSGD, Theorem: true, Radius: 50}.Plan(ctx, with(p, s))
	if err != nil {
		t.Fatal(err)
	}
	lambda := .25 * math.Log(1e5) / 1e5
	T := int(math.Log2(.25 / lambda))
	rounds := recursive.Rounds(plan)
	if len(rounds) != T {
		t.Fatalf("%d rounds: want %d", len(rounds), T)
	}
	n := math.Floor(1e5 / float64(T))
	var pull float64
	stable := 0
	for i, r := range rounds {
		lt := lambda * math.Pow(2, float64(i+1))
		pull += lt / 2
		eta := math.Log(n) / (lt * n)
		if eta/4 > 2/(.25+pull) {
			eta, stable = 8/(.25+pull), stable+1
		}
		if !close(r.Centre, lt/2, 1e-12) || !close(r.StepSizes[0], eta/4, 1e-5) || !close(r.StepSizes[2], eta/64, 1e-5) ||
			r.Sizes[0] != int(n)/2 || r.Sizes[2] != int(n)/8 {
			t.Errorf("round %d: %+v: want eta %v", i+1, r, eta)
		}
		if r.StepSizes[0]*(.25+pull) > 2 {
			t.Errorf("round %d: a step of %v is not stable", i+1, r.StepSizes[0])
		}
	}
	if stable == len(rounds) {
		t.Error("every round is at the bound")
	}
	// A very large step scale must be reduced to a stable step.
	plan, err = recursive.Recursive{Inner: recursive.PhasedSGD, StepScale: 1e6}.Plan(ctx, with(p, s))
	if err != nil {
		t.Fatal(err)
	}
	pull = 0
	for i, r := range recursive.Rounds(plan) {
		pull += r.Centre
		if x := r.StepSizes[0] * (.25 + pull); !(x <= 2 && x > 1.999) {
			t.Errorf("round %d: step times smoothness is %v: want just below 2", i+1, x)
		}
	}
}

// TestPhasedSGDIsResolved: for every size, the rounding errors of a phase, (d/2) 2^-53 of the ball's radius
// in each step, must be less than 1/64 of a step. The plan must omit phases whose steps would be too small.
// It must have fewer rounds if a round's first phase would be too small. If the setting Rounds is larger
// than the possible number, Plan must return an error.
func TestPhasedSGDIsResolved(t *testing.T) {
	p := optimizetest.Problems()[2].Public
	left, cut := 0, 0
	for _, d := range []int{3, 1000} {
		p.Shape = optimize.Vector(d)
		for _, n := range []float64{300, 1e4, 1e6, 1e7, 1e8} {
			s := size{Records: n, Mu: .3}
			plan, err := recursive.Recursive{Inner: recursive.PhasedSGD, Radius: 10}.Plan(ctx, with(p, s))
			if err != nil {
				t.Errorf("%v records, d = %d: %v", n, p.Dim(), err)
				continue
			}
			rounds := recursive.Rounds(plan)
			if T := math.Floor(math.Log(n/(5*math.Log(n)))/math.Log(8) + 1e-9); float64(len(rounds)) < max(T, 1) {
				cut++
				_, err := recursive.Recursive{Inner: recursive.PhasedSGD, Radius: 10, Rounds: int(T)}.Plan(ctx, with(p, s))
				if err == nil || !strings.Contains(err.Error(), "phased-sgd: steps of ") {
					t.Errorf("%v records, d = %d, %v rounds: error %v", n, p.Dim(), T, err)
				}
			}
			for i, r := range rounds {
				ball := r.Set.(convex.Ball)
				if want := 10 * min(math.Pow(8, float64(i+1)/2), 8); !close(ball.Radius(), want, 1e-12) {
					t.Errorf("%v records, round %d: radius %v: want %v", n, i+1, ball.Radius(), want)
				}
				for j, step := range r.StepSizes {
					if rounding := float64(p.Dim()) / 2 * 0x1p-53 * ball.Radius() * float64(r.Sizes[j]); rounding > step/64 {
						t.Errorf("%v records, d = %d, phase %d of round %d: rounding %v in steps of %v", n, p.Dim(), j+1, i+1, rounding,
							step)
					}
				}
				if r.Sizes[len(r.Sizes)-1] > 3 {
					left++
				}
			}
		}
	}
	if left == 0 || cut == 0 {
		t.Errorf("%d rounds left out phases, %d plans left out rounds", left, cut)
	}
}

// TestPhasedSGDConverges: without noise the gradient norm at the last release must be at most a tenth
// of the norm at the start. It is not zero, because steps on single records scatter.
func TestPhasedSGDConverges(t *testing.T) {
	p := convexProblems(t)[7]
	for len(p.Rows) < 100_000 {
		p.Rows, p.Targets = append(p.Rows, p.Rows...), append(p.Targets, p.Targets...)
	}
	// 7, the stride of stableOracle, must not divide the number of rows.
	p.Rows, p.Targets = append(p.Rows, p.Rows[0]), append(p.Targets, p.Targets[0])
	o := newStableOracle(p, relations(t, p, 1)[account.ReplaceOne])
	plan, err := recursive.Recursive{Inner: recursive.PhasedSGD, Lambda: 1e-3, Rounds: 2}.Plan(ctx,
		with(p.Public, o.Size()))
	r := run(t, resolve(t, plan, err), o)
	start := make([]float64, 3)
	copy(start, p.Public.Start)
	if slope := length(p.Gradient(r.W)); !(slope <= .02) || slope > length(p.Gradient(start))/10 {
		t.Errorf("gradient %v at %v, %v at the start", slope, r.W, length(p.Gradient(start)))
	}
}

// TestPhasedResponse compares phasedSGD.response with simulated passes on a quadratic. Each simulation
// has a single impulse: in the start, in one record's gradient or in one release.
func TestPhasedResponse(t *testing.T) {
	sizes := []int{12, 6, 3}
	const eta, charge, reach, gradient = 1.7, .3, 2., .6
	for _, curve := range []float64{.05, .4, 4 / eta} {
		// impulse returns the result for an impulse in the gradient of record k of phase i. For k = n_i
		// the impulse is in the release of phase i, and for i < 0 in the start.
		impulse := func(phase, k int) float64 {
			var w float64
			if phase < 0 {
				w = 1
			}
			for i, n := range sizes {
				step := eta * math.Pow(4, -float64(i+1))
				var mean float64
				at := w
				for r := range n {
					mean += at / float64(n)
					at -= step * curve * at
					if phase == i && k == r {
						at -= step
					}
				}
				w = mean
				if phase == i && k == n {
					w += step * reach
				}
			}
			return w
		}
		var variance float64
		for i, n := range sizes {
			for k := range n {
				variance += impulse(i, k) * impulse(i, k) * gradient
			}
			variance += impulse(i, n) * impulse(i, n) / charge
		}
		keep, got := recursive.PhasedResponse(sizes, eta, charge, curve, reach, gradient)
		if !close(keep, impulse(-1, 0), 1e-9) || !close(got, variance, 1e-9) {
			t.Errorf("curvature %v: keeps %v, variance %v: want %v, %v", curve, keep, got, impulse(-1, 0), variance)
		}
	}
}

// deaf is an oracle that refuses passes.
type deaf struct{ *optimizetest.Oracle }

func (deaf) Stable(context.Context, query.Stable) (query.Release, error) {
	return query.Release{}, errors.New("no stable SGD here")
}

// TestPhasedSGDNeedsAStableOracle: if the oracle offers no passes, a run must fail with an error.
func TestPhasedSGDNeedsAStableOracle(t *testing.T) {
	p := convexProblems(t)[6]
	o := relations(t, p, 1)[account.ReplaceOne]
	plan, err := recursive.Recursive{Inner: recursive.PhasedSGD}.Plan(ctx, with(p.Public, o.Size()))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := plan.Run(context.Background(), deaf{o}, nil); err == nil || !plan.Needs().Stable ||
		!strings.Contains(err.Error(), "stable SGD") || r.Complete || len(r.W) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	p.Public.Regularizer = wavy{l2(t, .1)}
	if _, err := (recursive.Recursive{Inner: recursive.PhasedSGD}).Plan(ctx, with(p.Public, o.Size())); err == nil ||
		!strings.Contains(err.Error(), "must be quadratic") {
		t.Errorf("a regularizer that is not quadratic: %v", err)
	}
	p.Public.Regularizer, p.Public.Set = nil, convex.Whole{}
	if _, err := (recursive.Recursive{Inner: recursive.PhasedSGD}).Plan(ctx, with(p.Public, o.Size())); err != nil {
		t.Errorf("the whole space: %v", err)
	}
}

// leaning is a quadratic regularizer whose minimum is not at 0.
type leaning struct {
	loss.Regularizer
	by []float64
}

func (l leaning) AddGradient(dst, w []float64) {
	l.Regularizer.AddGradient(dst, w)
	copy(dst, add(dst, 1, l.by))
}

// wavy is a convex regularizer that is not quadratic.
type wavy struct{ loss.Regularizer }

func (wavy) Convexity() float64 { return 0 }
func (wavy) Name() string       { return "wavy" }
