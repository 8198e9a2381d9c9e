package firstorder_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// samples is an oracle that follows a schedule of Poisson samples. It answers with the gradient (w -
// 1)/4 in every coordinate, without noise, and records the queries.
type samples struct {
	optimize.Oracle
	schedule *account.Schedule
	drawn    int
	asked    []query.Question
}

func (s *samples) All() query.Cohort { return query.NewCohort(account.Everyone, 1000) }

func (s *samples) Sample() (query.Cohort, error) {
	if s.drawn >= s.schedule.Len() {
		return query.Cohort{}, &account.BudgetError{Want: 1}
	}
	_, q := s.schedule.Step(s.drawn)
	s.drawn++
	return query.NewCohort(uint64(s.drawn), 1000*q), nil
}

func (s *samples) Ask(_ context.Context, q query.Question) (query.Release, error) {
	s.asked = append(s.asked, q)
	t := q.Terms()[0]
	w := t.Point()
	if t.Kind() == query.Difference {
		w = t.Step()
	}
	mean := make([]float64, len(w))
	for j := range w {
		mean[j] = w[j] / 4
		if t.Kind() == query.Gradient {
			mean[j] -= .25
		}
	}
	return query.Release{Mean: mean, Sigma: 1}, nil
}

func sampledProblem(t *testing.T) (optimize.Problem, size, account.Budget) {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p := optimize.Problem{Shape: optimize.Vector(3), Constants: loss.Logistic().Constants()}
	return p, size{Records: 1000, Mu: b.Mu()}, b
}

// TestSGDAsksItsSchedule (Abadi et al. 2016, Algorithm 1): each step must make one gradient query on a new
// sample, clipped at L0, and move against the gradient. The privacy cost of the schedule must be within the
// budget and not far below it. The test fails if the noise is not calibrated, or if there are more queries
// than the schedule has.
func TestSGDAsksItsSchedule(t *testing.T) {
	p, s, b := sampledProblem(t)
	for _, adam := range []bool{false, true} {
		var algorithm optimize.Algorithm = firstorder.SGD{Sampling: .2, Steps: 30, Output: optimize.Last}
		if adam {
			algorithm = firstorder.Adam{Sampling: .2, Steps: 30, Output: optimize.Last}
		}
		plan, err := algorithm.Plan(ctx, with(p, s, b))
		if err != nil {
			t.Fatal(err)
		}
		schedule := plan.Needs().Schedule
		if e := schedule.Epsilon(); !(e <= 1 && e > .99) || schedule.Len() != 30 || !plan.Properties().Sampled {
			t.Errorf("schedule of %d steps with epsilon %v: want 30 and just below 1", schedule.Len(), e)
		}
		o := &samples{schedule: schedule}
		var shown int
		r, err := plan.Run(context.Background(), o, func(optimize.Step) { shown++ })
		if err != nil {
			t.Fatal(err)
		}
		if len(o.asked) != 30 || shown != 30 || !r.Complete {
			t.Errorf("%d questions, %d steps shown, complete %v", len(o.asked), shown, r.Complete)
		}
		for i, q := range o.asked {
			term := q.Terms()[0]
			if len(q.Terms()) != 1 || term.Kind() != query.Gradient || term.Ball().Radius != 1 ||
				q.Cohort().ID() != uint64(i+1) {
				t.Fatalf("question %d: %v on cohort %d", i, q.Name(), q.Cohort().ID())
			}
		}
		// The expected points are computed by hand: eta = h/L1 = 1/(1/4) = 4 takes SGD to the minimum
		// in one step, and the length of Adam's first step is its rate.
		first := o.asked[1].Terms()[0].Point()[0]
		want := 1.0
		if adam {
			want = .05
		}
		if !(math.Abs(first-want) <= 1e-6) {
			t.Errorf("adam %v: second iterate %v, want %v", adam, first, want)
		}
	}
}

// TestAdamAgainstItsRecursion compares the iterates with the recursion of Kingma and Ba 2015, Algorithm
// 1, for one coordinate.
func TestAdamAgainstItsRecursion(t *testing.T) {
	p, s, b := sampledProblem(t)
	plan, err := firstorder.Adam{Rate: .1, Sampling: .5, Steps: 20}.Plan(ctx, with(p, s, b))
	if err != nil {
		t.Fatal(err)
	}
	o := &samples{schedule: plan.Needs().Schedule}
	if _, err := plan.Run(context.Background(), o, nil); err != nil {
		t.Fatal(err)
	}
	var w, m, v float64
	for i, q := range o.asked {
		if got := q.Terms()[0].Point()[1]; !(math.Abs(got-w) <= 1e-9) {
			t.Fatalf("iterate %d = %v, want %v", i, got, w)
		}
		g := w/4 - .25
		m, v = .9*m+.1*g, .999*v+.001*g*g
		n := float64(i + 1)
		w -= .1 * m / (1 - math.Pow(.9, n)) / (math.Sqrt(v/(1-math.Pow(.999, n))) + 1e-8)
	}
}

// TestBatchedSpiderBoost (Arora et al. 2023, Algorithm 1 with b1, b2 < n): anchors must be released on
// samples of b1 records and differences on samples of b2, at the right points.
func TestBatchedSpiderBoost(t *testing.T) {
	p, s, b := sampledProblem(t)
	boost := firstorder.SpiderBoost{Steps: 10, Period: 4, StepScale: .5, AnchorBatch: .5, DifferenceBatch: .1,
		Output: optimize.Last}
	plan, err := boost.Plan(ctx, with(p, s, b))
	if err != nil {
		t.Fatal(err)
	}
	o := &samples{schedule: plan.Needs().Schedule}
	r, err := plan.Run(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.asked) != 10 || o.schedule.Len() != 10 || !r.Complete {
		t.Fatalf("%d questions, schedule of %d", len(o.asked), o.schedule.Len())
	}
	zAnchor, _ := o.schedule.Step(0)
	zDifference, _ := o.schedule.Step(1)
	// On all records the noise has the ratio sqrt(m_d/m_a). Poisson samples multiply it by the ratio of
	// the sample sizes.
	anchor, difference := .8/3, .2/7
	if want := .5 / .1 * math.Sqrt(difference/anchor); !(math.Abs(zAnchor/zDifference/want-1) <= 1e-9) {
		t.Errorf("multipliers %v and %v: want a ratio of %v", zAnchor, zDifference, want)
	}
	for i, q := range o.asked {
		term := q.Terms()[0]
		kind, size := query.Difference, 100.
		if i%4 == 0 {
			kind, size = query.Gradient, 500
		}
		if term.Kind() != kind || q.Cohort().Size() != size {
			t.Errorf("question %d: %v on %v records, want %v on %v", i, term.Kind(), q.Cohort().Size(), kind, size)
		}
		if i%4 != 0 && term.Previous()[0] != o.asked[i-1].Terms()[0].Point()[0] {
			t.Errorf("question %d: the difference is not against the iterate before", i)
		}
	}
	if e := o.schedule.Epsilon(); !(e <= 1 && e > .99) {
		t.Errorf("epsilon %v: want just below 1", e)
	}
}

func TestSampledRules(t *testing.T) {
	p, s, b := sampledProblem(t)
	for _, c := range []struct {
		sgd  optimize.Algorithm
		want string
	}{
		{firstorder.SGD{Sampling: 1.5}, "sampling = 1.5"},
		{firstorder.SGD{Sampling: math.NaN()}, "sampling = NaN"},
		{firstorder.Adam{Rate: -1}, "rate = -1"},
		{firstorder.SGD{StepScale: math.Inf(1)}, "step scale"},
		{firstorder.SGD{Steps: -3}, "steps = -3"},
		{firstorder.SGD{Output: 9}, "output"},
	} {
		if _, err := c.sgd.Plan(ctx, with(p, s, b)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error = %v, want one about %q", c.sgd, err, c.want)
		}
	}
	for _, batches := range []firstorder.SpiderBoost{{DifferenceBatch: .1}, {AnchorBatch: .1, DifferenceBatch: 2}} {
		if _, err := batches.Plan(ctx, with(p, s, b)); err == nil {
			t.Errorf("%+v accepted", batches)
		}
	}
	plan, err := firstorder.SGD{Steps: 2}.Plan(ctx, with(p, s, b))
	if err != nil {
		t.Fatal(err)
	}
	q := optimizetest.Problems()[2]
	if _, err := plan.Run(context.Background(), optimizetest.New(q.Config(b, 1, 1)), nil); err == nil {
		t.Error("ran on an oracle that follows no schedule")
	}
	// A schedule with too few steps must end the run with an error and the points so far.
	short, err := account.NewSchedule(t.Context(), b, 0, account.SampledSteps{NoiseMultiplier: 50, Sampling: .1, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plan.Run(context.Background(), &samples{schedule: short}, nil)
	over := (*account.BudgetError)(nil)
	if !errors.As(err, &over) || r.Complete || r.Steps != 1 {
		t.Errorf("beyond its schedule: %v after %d steps, complete %v", err, r.Steps, r.Complete)
	}
}
