package audit

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// heavyBall is gradient descent with Polyak's momentum, m = .9 m + g. Its variants compute the momentum m
// in different places of the code, as authors of new algorithms may do. The noise that the run states does
// not account for some of these variants.
type heavyBall struct {
	optimize.Settled
	steps  int
	charge float64
	// A variant consists of begin, which runs before the first step, and body, which runs in each step.
	begin func(run *optimize.Run)
	body  func(run *optimize.Run, a optimize.Answer)
}

const polyak, ballEta = .9, 4.

func newHeavyBall(t *testing.T, p optimize.Problem) *heavyBall {
	t.Helper()
	const steps = 60
	b := &heavyBall{steps: steps, charge: p.Charge() / steps, begin: func(*optimize.Run) {}}
	var err error
	b.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p, Output: optimize.Last, UpdateRule: optimize.UpdateRule{StepSize: ballEta},
		Summary: optimize.Summary{Algorithm: "heavy-ball", Steps: steps, StepSize: ballEta},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *heavyBall) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	run := b.Begin(ctx, o, observe)
	b.begin(run)
	result, err := run.Loop(func() error {
		for range b.steps {
			a, err := run.Ask(b.charge, query.GradientAt(run.All(), run.W, b.Problem().Constants.Lipschitz))
			if err != nil {
				return err
			}
			b.body(run, a)
		}
		return nil
	})
	return result, err
}

// polyaks updates the momentum m with the gradient g: m = .9 m + g.
func polyaks(m, g []float64) {
	for j, v := range g {
		m[j] = polyak*m[j] + v
	}
}

// TestMomentumDoesNotHide runs gradient descent with momentum in several variants, each of which
// computes the momentum in another place of the code. A run's certificate states the noise in its
// weights by a law ([optimize.Trace]). For every variant the stated noise must be at least the
// spread of the simulated runs, or the law must state none. The test first shows that it would
// detect momentum that is left out of the law.
func TestMomentumDoesNotHide(t *testing.T) {
	b, err := account.NewBudget(20, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	g := flat("logistic", b, flatRecords, flatFeatures)
	p := g.problem(t)
	below, above := deviates(flatSeeds*flatFeatures, flatCases)
	m := make([]float64, p.Dim())
	var e *optimize.Estimate
	var before optimize.Answer
	fresh := func(*optimize.Run) { clear(m); e, before = nil, optimize.Answer{} }
	with := func(begin func(*optimize.Run), body func(*optimize.Run, optimize.Answer)) *heavyBall {
		ball := newHeavyBall(t, p)
		ball.begin = func(run *optimize.Run) { fresh(run); begin(run) }
		ball.body = body
		return ball
	}
	nothing := func(*optimize.Run) {}
	inTheLaw := with(nothing, func(run *optimize.Run, a optimize.Answer) {
		e = run.Mix(e, polyak, a, 1)
		run.Descend(e, optimize.Use{})
	})
	left := onFlat(t, g, inTheLaw, flatSeeds, func(l optimize.Trace) optimize.Trace {
		l.Keep = nil // the law then leaves the momentum out
		_, l.WeightNoise = l.Noises()
		return l
	})
	if !(left.square > 25*(1+above)) {
		t.Errorf("left out of the law: weights spread by %.3f of what is stated: the test would not see it",
			math.Sqrt(left.square))
	}
	for name, c := range map[string]struct {
		ball            *heavyBall
		exact, unstated bool
	}{
		"in the law": {inTheLaw, true, false},
		"in the answer": {with(nothing, func(run *optimize.Run, a optimize.Answer) {
			polyaks(m, a.Mean)
			copy(a.Mean, m)
			run.Descend(run.Estimate(a), optimize.Use{})
		}), true, false},
		"in the estimate's vector": {with(nothing, func(run *optimize.Run, a optimize.Answer) {
			e := run.Estimate(a)
			polyaks(m, e.Vector())
			copy(e.Vector(), m)
			run.Descend(e, optimize.Use{})
		}), true, false},
		"in the iterate": {with(nothing, func(run *optimize.Run, a optimize.Answer) {
			for j := range m {
				w := run.W[j]
				run.W[j] += polyak * (w - m[j])
				m[j] = w
			}
			run.Descend(run.Estimate(a), optimize.Use{})
		}), true, false},
		"in the step size's argument": {with(func(run *optimize.Run) {
			run.Eta = func(g []float64, _ float64) float64 {
				polyaks(m, g)
				copy(g, m)
				return ballEta
			}
		}, func(run *optimize.Run, a optimize.Answer) { run.Descend(run.Estimate(a), optimize.Use{}) }), true, false},
		"in a direction, by a bound that is too small": {with(func(run *optimize.Run) {
			run.Bounded(1e-4, func(g []float64) ([]float64, float64) { polyaks(m, g); return m, ballEta })
		}, func(run *optimize.Run, a optimize.Answer) { run.Descend(run.Estimate(a), optimize.Use{}) }), false, false},
		"in an answer used twice": {with(nothing, func(run *optimize.Run, a optimize.Answer) {
			run.Descend(run.Mix(run.Estimate(a), 1, before, polyak), optimize.Use{})
			before = a
		}), false, true},
		"in an estimate kept twice": {with(nothing, func(run *optimize.Run, a optimize.Answer) {
			last := run.Estimate(a)
			if e == nil {
				e = last
			}
			run.Descend(run.Mix(e, polyak, optimize.Answer{}, 0), optimize.Use{})
			e = last
			run.Mix(last, 1, optimize.Answer{}, 0)
		}), false, true},
		"in steps of its own": {with(nothing, func(run *optimize.Run, a optimize.Answer) {
			polyaks(m, a.Mean)
			w := append([]float64(nil), run.W...)
			optimize.Descend(w, m, ballEta)
			run.Reach(w, optimize.Norm(m), a.Sigma, ballEta)
		}), false, true},
		"in steps of its own, by a bound that is too small": {with(func(run *optimize.Run) { run.Bound(1e-6) },
			func(run *optimize.Run, a optimize.Answer) {
				polyaks(m, a.Mean)
				w := append([]float64(nil), run.W...)
				optimize.Descend(w, m, ballEta)
				run.Reach(w, optimize.Norm(m), a.Sigma, ballEta)
			}), false, true},
	} {
		s := onFlat(t, g, c.ball, flatSeeds, asStated)
		if c.unstated {
			if !math.IsNaN(s.square) {
				t.Errorf("%s: weights spread by %.3f of what is stated: want none stated", name, math.Sqrt(s.square))
			}
			continue
		}
		if !(s.square <= 1+above) || s.exact != c.exact || s.exact && s.square < 1-below {
			t.Errorf("%s: weights spread by %.3f of what is stated (exact: %t): want at most %.3f, exact: %t", name,
				math.Sqrt(s.square), s.exact, math.Sqrt(1+above), c.exact)
		}
	}
}
