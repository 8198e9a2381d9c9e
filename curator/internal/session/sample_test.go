package session

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/query"
)

func schedule(t testing.TB, b account.Budget, steps ...account.SampledSteps) *account.Schedule {
	t.Helper()
	s, err := account.NewSchedule(t.Context(), b, 0, steps...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSamplesFollowTheSchedule tests that probability, noise and declared size of every sample are
// the schedule's, for both relations, and that the ledger states them. The noise of 100 samples of
// 200 coordinates has a variance within 4.9 sqrt(2/2e4) = 5% of 1 except with probability 1e-6. The
// sizes are sums of 100 x 300 random bits of each probability, within 5 standard deviations except
// with probability 6e-7.
func TestSamplesFollowTheSchedule(t *testing.T) {
	const n, d, each = 300, 200, 100
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		b := budget(t, 8, 1e-3, relation)
		steps := []account.SampledSteps{{NoiseMultiplier: 4, Sampling: .25, Count: each},
			{NoiseMultiplier: 9, Sampling: .75, Count: each}}
		var sessions [2]*Session
		for i := range sessions {
			records := make([]record, n)
			for i := range records {
				x := make([]float32, d)
				x[i%d] = 1
				records[i] = record{x, 1, true}
			}
			sessions[i] = open(t, records, parse(t, "logistic"), b, func(c *Config) {
				c.Coins, c.Noiseless, c.Declared = coin.Simulated([32]byte{7}), i == 1, 0
				if relation == account.AddOrRemove {
					c.Declared = 400
				}
			})
			if err := sessions[i].Follow(schedule(t, b, steps...)); err != nil {
				t.Fatal(err)
			}
		}
		s, silent := sessions[0], sessions[1]
		declared := s.All().Size()
		for k, step := range steps {
			var squares, joined float64
			for range each {
				c, err := s.Sample()
				if err != nil {
					t.Fatal(err)
				}
				if want := step.Sampling * declared; c.Size() != want {
					t.Fatalf("declared size %v, want %v", c.Size(), want)
				}
				a, err := s.Ask(context.Background(), question(t, 1, query.GradientAt(c, make([]float64, d), 1)))
				if err != nil {
					t.Fatal(err)
				}
				if want := step.NoiseMultiplier / c.Size(); !(math.Abs(a.Sigma/want-1) <= 1e-4) {
					t.Fatalf("sigma of the mean %v, want %v", a.Sigma, want)
				}
				events := s.Ledger().Events()
				e := events[len(events)-1]
				if e.Kind != account.SampledGaussian || e.Sampling != step.Sampling ||
					e.Sigma/e.Sensitivity < step.NoiseMultiplier {
					t.Fatalf("event %+v does not cover %+v", e, step)
				}
				// The session without noise draws other samples, because it uses no random bits for
				// noise.
				q, err := silent.Sample()
				if err != nil {
					t.Fatal(err)
				}
				exact, err := silent.Ask(context.Background(), question(t, 1, query.GradientAt(q, make([]float64, d), 1)))
				if err != nil {
					t.Fatal(err)
				}
				for j := range exact.Mean {
					joined -= exact.Mean[j] * q.Size() / .5
				}
				for _, v := range a.Mean {
					// A coordinate is a count of at most two records times 1/2, plus noise with a
					// standard deviation of 4 or 9.
					z := (v*c.Size() + .5*step.Sampling*n/d) / e.Sigma
					squares += z * z
				}
			}
			// The counts add a variance below (n/d) q (1-q)/4, for the sampling probability q.
			slack := .5 * step.Sampling / (step.NoiseMultiplier * step.NoiseMultiplier)
			if v := squares / (each * d); v < 1-.05 || v > 1+.05+slack {
				t.Errorf("%v step %d: noise has variance %v of the ledger's, want 1", relation, k, v)
			}
			mean, sigma := each*n*step.Sampling, math.Sqrt(each*n*step.Sampling*(1-step.Sampling))
			if !(math.Abs(joined-mean) <= 5*sigma) {
				t.Errorf("%v step %d: %v joined, want %v give or take %v", relation, k, joined, mean, sigma)
			}
		}
		over := (*account.BudgetError)(nil)
		if _, err := s.Sample(); !errors.As(err, &over) {
			t.Errorf("a sample beyond the schedule: %v", err)
		}
		if _, err := s.Ask(context.Background(),
			question(t, 1e-6, query.GradientAt(s.All(), make([]float64, d), 1))); !errors.As(err, &over) {
			t.Errorf("everyone was asked beside a schedule that keeps nothing for that: %v", err)
		}
	}
}

// TestSampledSensitivity tests that the contribution of one record to a sampled sum, in integers
// without noise, is at most the event's sensitivity, for every kind of query and replacement. The
// privacy-loss distributions assume this.
func TestSampledSensitivity(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	const d = 6
	l := parse(t, "logistic")
	records := randomRecords(r, 8, d)
	w, prev := point(r, d, 3), point(r, d, 3)
	all := query.NewCohort(account.Everyone, 8)
	for kind, q := range inOrder(questionsAt(t, all, w, prev, l)) {
		g, err := gridFor(q, 1, 1./9, 8)
		if err != nil {
			t.Fatal(err)
		}
		without := residual(t, records, l, q, g)
		for i, x := range replacements(r, d, w, prev) {
			with := residual(t, append(records[:8:8], x), l, q, g)
			if moved := distance(without, with) / g.scale; !(moved <= g.sensitivity) {
				t.Errorf("%s: record %d contributes %v, the event says %v", kind, i, moved, g.sensitivity)
			}
		}
	}
}

func TestFaultsOfSampling(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	records := randomRecords(r, 10, 3)
	b := budget(t, 1, 1e-6, account.ReplaceOne)
	steps := account.SampledSteps{NoiseMultiplier: 50, Sampling: 1e-9, Count: 3}
	s := open(t, records, parse(t, "logistic"), b, nil)
	if _, err := s.Sample(); err == nil || !strings.Contains(err.Error(), "follows no schedule") {
		t.Errorf("a sample without a schedule: %v", err)
	}
	if err := s.Follow(schedule(t, b, steps)); err != nil {
		t.Fatal(err)
	}
	if s.Follow(schedule(t, b, steps)) == nil {
		t.Error("followed a second schedule")
	}
	ask := func(c query.Cohort) error {
		_, err := s.Ask(context.Background(), question(t, 1, query.GradientAt(c, []float64{1, 2, 3}, 1)))
		return err
	}
	first, err := s.Sample()
	if err != nil {
		t.Fatal(err)
	}
	// No record joins at a probability of 1e-9. An empty sample is valid.
	if err := ask(first); err != nil {
		t.Errorf("an empty sample: %v", err)
	}
	if err := ask(first); err == nil || !strings.Contains(err.Error(), "asked already") {
		t.Errorf("asked twice: %v", err)
	}
	if _, err := s.Sample(); err != nil {
		t.Fatal(err)
	}
	if err := ask(first); err == nil || !strings.Contains(err.Error(), "not the latest") {
		t.Errorf("asked an old sample: %v", err)
	}
	if n := len(s.Ledger().Events()); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	late := open(t, records, parse(t, "logistic"), b, nil)
	if _, err := late.Ask(context.Background(),
		question(t, 1e-4, query.GradientAt(late.All(), []float64{1, 2, 3}, 1))); err != nil {
		t.Fatal(err)
	}
	if late.Follow(schedule(t, b, steps)) == nil {
		t.Error("followed a schedule after a release")
	}
	other := budget(t, 2, 1e-6, account.ReplaceOne)
	if open(t, records, parse(t, "logistic"), b, nil).Follow(schedule(t, other, steps)) == nil {
		t.Error("followed a schedule for another budget")
	}
}
