package runfolder

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// fragile is a loss that calls strike at one of its evaluations.
type fragile struct {
	loss.RankOne
	n, at  atomic.Int64
	strike func()
}

func (f *fragile) evaluate() {
	if f.n.Add(1) == f.at.Load() {
		f.strike()
	}
}

func (f *fragile) Slopes(dst, z, y []float64) { f.evaluate(); f.RankOne.Slopes(dst, z, y) }
func (f *fragile) Values(dst, z, y []float64) { f.evaluate(); f.RankOne.Values(dst, z, y) }
func (f *fragile) Curvatures(dst, z, y []float64) {
	f.evaluate()
	f.RankOne.Curvatures(dst, z, y)
}

// brittle is a fragile loss whose slope jumps, and which can be smoothed.
type brittle struct {
	*fragile
	kinked loss.Kinked
}

func (b brittle) SmoothedSlopes(dst, z, y, long []float64, s loss.Smoothing) {
	b.evaluate()
	b.kinked.SmoothedSlopes(dst, z, y, long, s)
}

func (b brittle) SmoothedConstants(s loss.Smoothing) (loss.Constants, error) {
	return b.kinked.SmoothedConstants(s)
}

// watched is a session that sums, for each cohort of records, the charges of the answers that it returned.
type watched struct {
	*curator.Session
	answers int
	totals  map[uint64]float64
}

func (w *watched) answered(c query.Cohort, charge float64, err error) {
	if err == nil {
		w.answers++
		w.totals[c.ID()] += charge
	}
}

func (w *watched) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	r, err := w.Session.Ask(ctx, q)
	w.answered(q.Cohort(), r.Charge, err)
	return r, err
}

func (w *watched) Select(ctx context.Context, s query.Selection) (int, error) {
	i, err := w.Session.Select(ctx, s)
	mu, _ := mechanism.SelectionMu(s.Epsilon())
	w.answered(s.Questions()[0].Cohort(), mu*mu, err)
	return i, err
}

func (w *watched) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	sum, err := w.Session.OpenPrefix(p)
	return watchedSum{sum, w}, err
}

type watchedSum struct {
	query.PrefixSum
	w *watched
}

func (s watchedSum) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	r, err := s.PrefixSum.Add(ctx, terms...)
	s.w.answered(terms[0].Cohort(), r.Charge, err)
	return r, err
}

// most returns the largest total charge of any record, over all cohorts.
func (w *watched) most() float64 {
	var most float64
	for c, total := range w.totals {
		if c != account.Everyone {
			most = max(most, total)
		}
	}
	return w.totals[account.Everyone] + most
}

// TestFaultsOfTheLoss runs every algorithm with a loss that panics, ends its goroutine or cancels
// the fit, at one of its evaluations. The charges in the session's ledger must be at least the
// charges of the answers that were returned. If the loss panics or ends its goroutine on a record,
// the run goes on. After a cancellation, the query that was being computed is charged, and no other
// query follows.
func TestFaultsOfTheLoss(t *testing.T) {
	most := 40
	if testing.Short() {
		most = 3
	}
	for _, algorithm := range train.Algorithms() {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, algorithm)
			evaluations := s.suffer(t, 0, func(context.CancelFunc) {})
			if evaluations == 0 {
				t.Fatal("no evaluations: the test shows nothing")
			}
			for i := range min(most, evaluations) {
				at := 1 + i*(evaluations-1)/max(1, min(most, evaluations)-1)
				for name, strike := range map[string]func(context.CancelFunc){
					"panic":  func(context.CancelFunc) { panic("secret") },
					"exit":   func(context.CancelFunc) { runtime.Goexit() },
					"cancel": func(cancel context.CancelFunc) { cancel() },
				} {
					s.suffer(t, at, strike)
					if t.Failed() {
						t.Fatalf("%s at evaluation %d of %d", name, at, evaluations)
					}
				}
			}
		})
	}
}

// suffer runs the scene's algorithm on a session whose loss calls strike at the evaluation with
// number at, or never if at is 0. It compares the session's ledger with the answers that were
// returned, and returns the number of evaluations.
func (s scene) suffer(t *testing.T, at int, strike func(context.CancelFunc)) (evaluations int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, _, err := s.begin(func() {})
	if err != nil {
		t.Fatal(err)
	}
	budget, err := account.NewBudget(*c.Privacy.Epsilon, *c.Privacy.Delta, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	problem, l, err := c.Problem(budget, 300)
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := c.Train.Plan(context.Background(), problem)
	if err != nil {
		t.Fatal(err)
	}
	f := &fragile{RankOne: l.(loss.RankOne), strike: func() { strike(cancel) }}
	var given loss.Loss = f
	if kinked, ok := l.(loss.Kinked); ok {
		given = brittle{f, kinked}
	}
	session, err := curator.Open(context.Background(),
		curator.Config{Path: c.DataPath(), Schema: c.Schema, Loss: given, Budget: budget, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	// Opening a session evaluates the loss on generated rows.
	f.n.Store(0)
	f.at.Store(int64(at))
	sampled := false
	if schedule := plan.Needs().Schedule; schedule != nil {
		sampled = true
		if err := session.Follow(schedule); err != nil {
			t.Fatal(err)
		}
	}
	w := &watched{session, 0, map[uint64]float64{}}
	_, err = plan.Run(ctx, w, nil)
	events, charged := session.Ledger().Events(), session.Ledger().Charged()
	if total, err := account.Total(events); err != nil || total != charged {
		t.Errorf("events sum to %v, ledger says %v: %v", total, charged, err)
	}
	if charged < w.most()*(1-1e-12) || charged > budget.Charge() {
		t.Errorf("charged %v: answers were charged %v, the budget is %v", charged, w.most(), budget.Charge())
	}
	if at == 0 {
		if err != nil || w.answers == 0 || len(events) != w.answers {
			t.Errorf("undisturbed: %d events, %d answers, error %v", len(events), w.answers, err)
		}
		return int(f.n.Load())
	}
	// Random bits determine how many evaluations some methods make.
	if f.n.Load() < int64(at) {
		return int(f.n.Load())
	}
	// The answer that was being computed is charged too.
	cancelled := 0
	if ctx.Err() != nil {
		cancelled = 1
	}
	if len(events) != w.answers+cancelled {
		t.Errorf("%d events, %d answers: must be %d more", len(events), w.answers, cancelled)
	}
	if last := events[len(events)-1]; !sampled && charged < last.Charge*(1-1e-12) || math.IsNaN(charged) {
		t.Errorf("charged %v, the last event is of %v", charged, last.Charge)
	}
	if cancelled == 0 && err != nil || cancelled == 1 && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	return int(f.n.Load())
}
