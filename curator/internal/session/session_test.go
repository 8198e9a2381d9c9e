package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestNoiseHasTheChargedLaw asks many queries and compares the noise with the ledger: the standard
// deviation of the noise with the sigma that the event states, and the noise of the released mean
// with its stated sigma. With 4e4 normals the variance is within 4.9 sqrt(2/4e4) = 3.5% of 1 except
// with probability 1e-6.
func TestNoiseHasTheChargedLaw(t *testing.T) {
	const d, asks = 400, 100
	r := rand.New(rand.NewPCG(2, 2))
	records := randomRecords(r, 10, d)
	l := parse(t, "logistic")
	s := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), nil)
	silent := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), func(c *Config) { c.Noiseless = true })
	var total, charged float64
	for i := range asks {
		w := point(r, d, 2)
		charge := s.Ledger().Budget().Charge() / (asks + 1) * (.5 + r.Float64())
		q := question(t, charge, query.GradientAt(s.All(), w, .8))
		noisy, err := s.Ask(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		exact, err := silent.Ask(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		e := s.Ledger().Events()[i]
		if e.Sensitivity < 2*.8 || e.Sensitivity > 2*.8*1.0001 {
			t.Fatalf("event %d: sensitivity %v, want 1.6 and a little", i, e.Sensitivity)
		}
		if e.Charge > charge || e.Charge < charge*(1-1e-6) || noisy.Charge != e.Charge {
			t.Fatalf("event %d: charge %v for %v offered, release says %v", i, e.Charge, charge, noisy.Charge)
		}
		if want := e.Sigma / 10; !(math.Abs(noisy.Sigma/want-1) <= 1e-12) {
			t.Fatalf("event %d: release has sigma %v, ledger %v", i, noisy.Sigma, want)
		}
		charged += e.Charge
		for j := range noisy.Mean {
			z := (noisy.Mean[j] - exact.Mean[j]) * 10 / e.Sigma
			total += z * z
		}
	}
	if v := total / (d * asks); !(math.Abs(v-1) <= .035) {
		t.Errorf("noise has variance %v of the ledger's: want 1", v)
	}
	if got := s.Ledger().Charged(); !(math.Abs(got/charged-1) <= 1e-12) {
		t.Errorf("ledger charged %v, events sum to %v", got, charged)
	}
}

// TestExactMean tests that without noise the answer is the mean of the contributions, with the
// centres included once, for every kind of query.
func TestExactMean(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n, d = 50, 6
	records := randomRecords(r, n, d)
	records[7].ok = false
	l := parse(t, "logistic").(loss.RankOne)
	s := open(t, records, l, budget(t, 50, .1, account.ReplaceOne), func(c *Config) { c.Noiseless = true })
	w, prev := point(r, d, 3), point(r, d, 3)
	grad := func(p []float64, rec record) []float64 {
		var z float64
		for j := range p {
			z += p[j] * float64(rec.x[j])
		}
		slope := []float64{0}
		l.Slopes(slope, []float64{z}, []float64{rec.y})
		g := make([]float64, d)
		for j := range g {
			g[j] = slope[0] * float64(rec.x[j])
		}
		return g
	}
	wantGradient, wantDifference := make([]float64, d), make([]float64, d)
	for i, rec := range records {
		a, b := grad(w, rec), grad(prev, rec)
		for j := range a {
			if i == 7 {
				continue // faulty: zero
			}
			wantGradient[j] += a[j] / n
			wantDifference[j] += (a[j] - b[j]) / n
		}
	}
	all := s.All()
	shift := point(r, d, 1)
	var length float64
	for j := range shift {
		length = math.Hypot(length, wantGradient[j]+shift[j])
	}
	for name, c := range map[string]struct {
		q    query.Question
		want func(j int) float64
	}{
		"gradient": {question(t, 1, query.GradientAt(all, w, 1)), func(j int) float64 { return wantGradient[j] }},
		"difference": {question(t, 1, query.DifferenceByCurvature(all, w, prev, 0, .25)),
			func(j int) float64 { return wantDifference[j] }},
		"norm": {question(t, 1, query.NormAt(all, w, 1, shift)), func(int) float64 { return length }},
		"mix": {question(t, 1, query.GradientAt(all, w, 1).Weighted(.3),
			query.DifferenceByCurvature(all, w, prev, 0, .25).Weighted(.7)),
			func(j int) float64 {
				return .3*wantGradient[j] + .7*wantDifference[j]
			}},
		"heavy mix": {question(t, 1, query.GradientAt(all, w, 1).Weighted(3),
			query.DifferenceByCurvature(all, w, prev, 0, .25).Weighted(5)),
			func(j int) float64 { return 3*wantGradient[j] + 5*wantDifference[j] }},
	} {
		got, err := s.Ask(context.Background(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range got.Mean {
			if !(math.Abs(v-c.want(j)) <= 1e-8) {
				t.Errorf("%s: coordinate %d = %v, want %v", name, j, v, c.want(j))
			}
		}
	}
}

// counting is a loss that counts the rows on which it is evaluated.
type counting struct {
	loss.RankOne
	rows *atomic.Int64
}

func (c counting) Slopes(dst, z, y []float64) { c.rows.Add(int64(len(z))); c.RankOne.Slopes(dst, z, y) }

func TestOverBudgetNothingIsComputed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var rows atomic.Int64
	b := budget(t, 1, 1e-6, account.ReplaceOne)
	s := open(t, randomRecords(r, 100, 3), counting{parse(t, "logistic").(loss.RankOne), &rows}, b, nil)
	ask := func(charge float64) error {
		_, err := s.Ask(context.Background(), question(t, charge, query.GradientAt(s.All(), []float64{1, 2, 3}, 1)))
		return err
	}
	if err := ask(b.Charge() * .75); err != nil {
		t.Fatal(err)
	}
	before := rows.Load()
	var over *account.BudgetError
	if err := ask(b.Charge() * .26); !errors.As(err, &over) {
		t.Fatalf("got %v, want a *account.BudgetError", err)
	}
	if rows.Load() != before {
		t.Errorf("the loss saw %d rows of a refused question", rows.Load()-before)
	}
	if over.Have > b.Charge()*.2500001 || over.Have < b.Charge()*.2499 {
		t.Errorf("refusal says %v is left, want a quarter of %v", over.Have, b.Charge())
	}
	if err := ask(b.Charge() * .249); err != nil {
		t.Errorf("what is left cannot be used: %v", err)
	}
	if n := len(s.Ledger().Events()); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// panics is a loss that panics on every row, with a message that contains the row's margin.
type panics struct{ loss.RankOne }

func (panics) Slopes(dst, z, y []float64) { panic(fmt.Sprintf("secret %v", z)) }

func TestPanicStaysChargedAndSilent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := open(t, randomRecords(r, 100, 3), panics{parse(t, "logistic").(loss.RankOne)},
		budget(t, 1, 1e-6, account.ReplaceOne), nil)
	if _, err := s.Ask(context.Background(),
		question(t, 1e-3, query.GradientAt(s.All(), []float64{1, 2, 3}, 1))); err != nil {
		t.Errorf("error = %v: a record the loss fails on is faulty, and silent", err)
	}
	if s.Ledger().Charged() < .9e-3 {
		t.Errorf("charged %v after a panic, want what was reserved", s.Ledger().Charged())
	}
}

// stops is a loss that cancels the context while it runs.
type stops struct {
	loss.RankOne
	cancel func()
}

func (s stops) Slopes(dst, z, y []float64) { s.cancel(); s.RankOne.Slopes(dst, z, y) }

func TestCancelledStaysCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ctx, cancel := context.WithCancel(context.Background())
	s := open(t, randomRecords(r, 5000, 3), stops{parse(t, "logistic").(loss.RankOne), cancel},
		budget(t, 1, 1e-6, account.ReplaceOne), nil)
	q := question(t, 1e-3, query.GradientAt(s.All(), []float64{1, 2, 3}, 1))
	if _, err := s.Ask(ctx, q); !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v, want context.Canceled", err)
	}
	charged := s.Ledger().Charged()
	if charged < .9e-3 {
		t.Errorf("charged %v after a cancelled answer, want what was reserved", charged)
	}
	if _, err := s.Ask(ctx, q); !errors.Is(err, context.Canceled) || s.Ledger().Charged() != charged {
		t.Errorf("a context cancelled beforehand: error %v, charged %v more", err, s.Ledger().Charged()-charged)
	}
}

func TestConcurrentAsking(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	b := budget(t, 1, 1e-6, account.ReplaceOne)
	s := open(t, randomRecords(r, 500, 4), parse(t, "logistic"), b, nil)
	q := question(t, b.Charge()/50, query.GradientAt(s.All(), []float64{1, 2, 3, 4}, 1))
	var mu sync.Mutex
	answers := map[string]bool{}
	var wg sync.WaitGroup
	for range 80 {
		wg.Go(func() {
			a, err := s.Ask(context.Background(), q)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				answers[fmt.Sprint(a.Mean)] = true
			} else if over := (*account.BudgetError)(nil); !errors.As(err, &over) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(s.Ledger().Events()); n != len(answers) || n < 49 || n > 50 {
		t.Errorf("%d events and %d different answers: want as many, 49 or 50", n, len(answers))
	}
}

func TestCohorts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 60
	// Row i is the unit vector i, so that a sum shows which records took part.
	records := make([]record, n)
	for i := range records {
		x := make([]float32, n)
		x[i] = 1
		records[i] = record{x, 1, true}
	}
	first := map[int]int{}
	for seed := range 300 {
		s := open(t, records, parse(t, "logistic"), budget(t, 40, .1, account.ReplaceOne), func(c *Config) {
			c.Coins, c.Noiseless = coin.Simulated([32]byte{byte(seed), byte(seed >> 8)}), true
		})
		seen := make([]int, n)
		for k, size := range []int{20, 1, 39} {
			c, err := s.Draw(size)
			if err != nil {
				t.Fatal(err)
			}
			// Each cohort spends the whole budget: disjoint cohorts compose in parallel.
			a, err := s.Ask(context.Background(),
				question(t, s.Ledger().Budget().Charge()*.999, query.GradientAt(c, make([]float64, n), 1)))
			if err != nil {
				t.Fatal(err)
			}
			took := 0
			for i, v := range a.Mean {
				if math.Abs(v) > 1e-6 {
					seen[i]++
					took++
					if !(math.Abs(v*float64(size)+.5) <= 1e-6) {
						t.Fatalf("cohort of %d: record counted %v", size, -v*float64(size)/.5)
					}
					if k == 1 {
						first[i]++
					}
				}
			}
			if took != size {
				t.Fatalf("cohort of %d has %d records", size, took)
			}
		}
		for i, k := range seen {
			if k != 1 {
				t.Fatalf("record %d was drawn %d times", i, k)
			}
		}
		if _, err := s.Draw(1); err == nil {
			t.Fatal("drew a 61st record")
		}
		// All records are charged in full by now.
		over := (*account.BudgetError)(nil)
		if _, err := s.Ask(context.Background(), question(t, .01*s.Ledger().Budget().Charge(),
			query.GradientAt(s.All(), make([]float64, n), 1))); !errors.As(err, &over) {
			t.Fatalf("asked everyone beyond the budget: %v", err)
		}
	}
	// The record drawn first is uniform. In 300 draws of 60 records, no count may be above 25,
	// which has probability below 1e-9 for each record.
	for i, k := range first {
		if k > 25 {
			t.Errorf("record %d was drawn alone %d times of 300", i, k)
		}
	}
	_ = r
}

// TestCohortsByCoins tests that under add-or-remove records join disjoint cohorts by independent
// random bits, and that declared sizes depend on the declared number of records alone.
func TestCohortsByCoins(t *testing.T) {
	const n = 400
	records := make([]record, n)
	for i := range records {
		x := make([]float32, 4)
		x[i%4] = 1
		records[i] = record{x, 1, true}
	}
	joined := 0.0
	for seed := range 100 {
		s := open(t, records, parse(t, "logistic"), budget(t, 40, .1, account.AddOrRemove), func(c *Config) {
			c.Coins, c.Noiseless, c.Declared = coin.Simulated([32]byte{byte(seed)}), true, 500
		})
		total := 0.0
		want := []float64{.25 * 500, .5 * .75 * 500, 1 * .5 * .75 * 500}
		for k, p := range []float64{.25, .5, 1} {
			c, err := s.DrawEach(p)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(c.Size()-want[k]) <= 1e-9) {
				t.Fatalf("cohort %d is declared to have %v records, want %v", k, c.Size(), want[k])
			}
			a, err := s.Ask(context.Background(),
				question(t, s.Ledger().Budget().Charge()*.99, query.GradientAt(c, make([]float64, 4), 1)))
			if err != nil {
				t.Fatal(err)
			}
			took := 0.0
			for _, v := range a.Mean {
				took -= v * c.Size() / .5
			}
			total += took
			if k == 0 {
				joined += took
			}
		}
		if !(math.Abs(total-n) <= 1e-5) {
			t.Fatalf("%v records took part in disjoint cohorts, want all %d", total, n)
		}
		if _, err := s.DrawEach(.5); err == nil {
			t.Fatal("drew from nobody")
		}
	}
	// The sum of 40000 Bernoulli variables of probability 1/4 is within 5 standard deviations
	// except with probability 6e-7.
	if !(math.Abs(joined-10000) <= 5*math.Sqrt(40000*.25*.75)) {
		t.Errorf("%v of 40000 joined by coins of 1/4", joined)
	}
	s := open(t, records, parse(t, "logistic"), budget(t, 1, 1e-6, account.ReplaceOne), nil)
	for _, p := range []float64{0, -1, 1.1, math.NaN()} {
		if _, err := s.DrawEach(p); err == nil {
			t.Errorf("probability %v accepted", p)
		}
	}
	if _, err := s.Draw(3); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DrawEach(.5); err == nil {
		t.Error("drew by coins after drawing by number")
	}
}

func TestFaultsOfUse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	records := randomRecords(r, 10, 3)
	l := parse(t, "logistic")
	s := open(t, records, l, budget(t, 1, 1e-6, account.ReplaceOne), nil)
	other := open(t, records, l, budget(t, 1, 1e-6, account.ReplaceOne), nil)
	drawn, err := other.Draw(4)
	if err != nil {
		t.Fatal(err)
	}
	secretSize := open(t, records, l, budget(t, 1, 1e-6, account.AddOrRemove), nil)
	closed := open(t, records, l, budget(t, 1, 1e-6, account.ReplaceOne), nil)
	closed.Close()
	at := func(c query.Cohort, w ...float64) query.Question {
		return question(t, 1e-4, query.GradientAt(c, w, 1))
	}
	for name, c := range map[string]struct {
		err  func() error
		want string
	}{
		"no question": {func() error { _, err := s.Ask(context.Background(), query.Question{}); return err }, "query.New"},
		"dimension": {func() error { _, err := s.Ask(context.Background(), at(s.All(), 1, 2)); return err },
			"must have 3"},
		"foreign cohort": {func() error { _, err := s.Ask(context.Background(), at(drawn, 1, 2, 3)); return err },
			"not drawn"},
		"forged size": {func() error {
			_, err := s.Ask(context.Background(), at(query.NewCohort(account.Everyone, 5), 1, 2, 3))
			return err
		}, "not drawn"},
		"draw too many":      {func() error { _, err := s.Draw(11); return err }, "between 1 and the 10"},
		"draw none":          {func() error { _, err := s.Draw(0); return err }, "between 1"},
		"draw secret number": {func() error { _, err := secretSize.Draw(2); return err }, "add-or-remove"},
		"closed": {func() error {
			_, err := closed.Ask(context.Background(), at(closed.All(), 1, 2, 3))
			return err
		}, "closed"},
		"closed draw": {func() error { _, err := closed.Draw(1); return err }, "closed"},
	} {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
	}
	if s.Ledger().Charged() != 0 {
		t.Errorf("charged %v by faults of use", s.Ledger().Charged())
	}
}
