package audit_test

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/query"
)

// linear is the loss y <x, w>. A record's gradient is y x at every point, which has the largest
// possible norm for a row of norm 1.
type linear struct{}

func (linear) Name() string        { return "linear" }
func (linear) Target() loss.Target { return loss.Real }

// Constants declares a curvature for the loss, although a linear loss has none, so that optimizers
// have a step size.
func (linear) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Lo: 0, Hi: 1}, InitialGap: 1}
}

func (linear) Value(w []float64, x []float32, y float64) (v float64) {
	for j := range w {
		v += y * w[j] * float64(x[j])
	}
	return v
}

func (linear) Gradient(dst, _ []float64, x []float32, y float64) {
	for j := range dst {
		dst[j] = y * float64(x[j])
	}
}

// watcher is a session that adds up the first coordinates of its answers, each with a weight. Only these
// coordinates depend on the canary, the record in which the two tables differ. The weight of an answer is
// the factor of the canary's gradient in the query, divided by the variance of the answer's noise. The sum
// determines the likelihood ratio of the two tables, because all other coordinates have the same
// distribution on both.
type watcher struct {
	*simulate.Session
	ratio float64
}

func (w *watcher) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	r, err := w.Session.Ask(ctx, q)
	if err == nil {
		for _, t := range q.Terms() {
			if t.Kind() == query.Gradient {
				w.ratio += t.Weight() * r.Mean[0] / (r.Sigma * r.Sigma)
			}
		}
	}
	return r, err
}

// wholeRuns runs a plan many times on two tables: rows of zeros, and a canary whose gradient is the
// first unit vector or its opposite. It returns two statistics of each run: the log-likelihood
// ratio of all releases, and the canary's coordinate of the run's result.
func wholeRuns(t testing.TB, runs int, plan optimize.Plan, b account.Budget) (releases, point audit.Runs) {
	t.Helper()
	const n = 10
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = []float32{0, 0}
	}
	rows[n-1][0] = 1
	one := func(i int, second bool) (ratio, w float64) {
		targets := make([]float64, n)
		targets[n-1] = 1
		seed := uint64(2 * i)
		if second {
			targets[n-1] = -1
			seed++
		}
		s, err := simulate.Open(simulate.Config{Rows: rows, Targets: targets, Loss: linear{}, Budget: b, Seed: seed,
			Workers: 1, BlockRows: n})
		if err != nil {
			t.Fatal(err)
		}
		if schedule := plan.Needs().Schedule; schedule != nil {
			if err := s.Follow(schedule); err != nil {
				t.Fatal(err)
			}
		}
		o := &watcher{Session: s}
		r, err := plan.Run(context.Background(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o.ratio, r.W[0]
	}
	releases = audit.Runs{First: make([]float64, runs), Second: make([]float64, runs)}
	point = audit.Runs{First: make([]float64, runs), Second: make([]float64, runs)}
	for i := range runs {
		releases.First[i], point.First[i] = one(i, false)
		releases.Second[i], point.Second[i] = one(i, true)
	}
	return releases, point
}

// TestLowerBoundsOfWholeRuns computes lower bounds on epsilon for whole runs of 12 steps, whose charges
// compose to epsilon 4. No bound may exceed 4. The bound from the releases of gradient descent must be at
// least six tenths of 4. Other methods release differences, which this canary does not move, or samples,
// and their bounds are lower.
func TestLowerBoundsOfWholeRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("33,000 runs")
	}
	const epsilon, runs = 4, 4096
	b := auditBudget(t, epsilon, account.ReplaceOne)
	p, err := optimize.NewProblem(linear{}, b, optimize.Stated(2, 10))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	gd, err := firstorder.GD{Steps: 12}.Plan(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	storm, err := firstorder.STORM{Steps: 12}.Plan(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	spider, err := firstorder.SpiderBoost{Steps: 12, Period: 3, AnchorShare: .8}.Plan(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	sgd, err := firstorder.SGD{Steps: 12, Sampling: .5}.Plan(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		plan  optimize.Plan
		bound func(testing.TB, audit.Runs, float64, float64) audit.Lower
		share float64
	}{
		{"gd", gd, lowerGaussian, .6},
		{"storm", storm, lowerGaussian, .35},
		{"spiderboost", spider, lowerGaussian, .4},
		{"dp-sgd", sgd, lowerEpsilon, .1},
	} {
		releases, point := wholeRuns(t, runs, c.plan, b)
		l, black := c.bound(t, releases, auditDelta, certain), c.bound(t, point, auditDelta, certain)
		t.Logf("%s: epsilon %v, bound from all releases %.2f, from the result %.2f", c.name, epsilon, l.Epsilon,
			black.Epsilon)
		if l.Epsilon > epsilon || black.Epsilon > epsilon {
			t.Errorf("%s: bounds %v and %v: above the claim, %v", c.name, l.Epsilon, black.Epsilon, epsilon)
		}
		if l.Epsilon < c.share*epsilon {
			t.Errorf("%s: bound %v: want at least %v", c.name, l.Epsilon, c.share*epsilon)
		}
	}
}
