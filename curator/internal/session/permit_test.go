package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestReservedBeforeAnythingIsComputed tests that nothing is charged and no row is read until the
// session's budget is reserved in its store. The budget is reserved once, by the first query, and
// cannot be changed afterwards.
func TestReservedBeforeAnythingIsComputed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ctx := context.Background()
	asked := 0
	var rows atomic.Int64
	var refusal error
	b := budget(t, 1, 1e-6, account.ReplaceOne)
	s := open(t, randomRecords(r, 100, 3), counting{parse(t, "logistic").(loss.RankOne), &rows}, b, func(c *Config) {
		c.Before = func(_ context.Context, v account.View) error {
			asked++
			if v.Budget() != b || v.Len() != 0 || rows.Load() != 0 {
				t.Errorf("reserved for %v after %d events and %d rows", v.Budget(), v.Len(), rows.Load())
			}
			return refusal
		}
	})
	schedule, err := account.CalibrateSchedule(ctx, b, 0, account.SampledSteps{NoiseMultiplier: 2, Sampling: .1, Count: 4})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		_, err := s.Ask(ctx, question(t, b.Charge()/32, query.GradientAt(s.All(), []float64{1, 2, 3}, 1)))
		return err
	}
	refusal = errors.New("over the cap")
	if err := ask(); !errors.Is(err, refusal) || rows.Load() != 0 || s.Ledger().Len() != 0 {
		t.Fatalf("refused: %v, %d rows, %d events", err, rows.Load(), s.Ledger().Len())
	}
	// The reservation may hold although its reply was lost.
	if s.Follow(schedule) == nil {
		t.Error("a schedule is followed after another law may have been reserved")
	}
	refusal = nil
	if err := ask(); err != nil || asked != 2 || s.Ledger().Len() != 1 {
		t.Fatalf("asked again: %v, reserved %d times for %d events", err, asked, s.Ledger().Len())
	}
	charged := s.Ledger().Charged()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if ask() == nil || s.Ledger().Charged() != charged {
		t.Error("a closed session charges")
	}
	e, err := account.GaussianEvent("gradient", account.Everyone, 1e-6, 1)
	if err != nil {
		t.Fatal(err)
	}
	records, _ := s.ledger.Records()
	e.Simulated = records.Simulated // or the event would be refused for another reason
	if err := s.ledger.Reserve(e); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("the ledger of a closed session was asked for an event: %v, want that it has ended", err)
	}
}

// TestReservedOnce tests that one of several concurrent queries reserves the session's budget, and
// that the others wait.
func TestReservedOnce(t *testing.T) {
	asked := 0
	b := budget(t, 1, 1e-6, account.ReplaceOne)
	s := open(t, randomRecords(rand.New(rand.NewPCG(2, 1)), 100, 3), parse(t, "logistic"), b, func(c *Config) {
		c.Before = func(_ context.Context, v account.View) error {
			asked++
			time.Sleep(20 * time.Millisecond) // during which all other queries start
			if v.Len() != 0 {
				t.Errorf("reserved after %d events", v.Len())
			}
			return nil
		}
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.Ask(context.Background(),
				question(t, b.Charge()/32, query.GradientAt(s.All(), []float64{1, 2, 3}, 1))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if asked != 1 || s.Ledger().Len() != 8 {
		t.Errorf("reserved %d times for %d events", asked, s.Ledger().Len())
	}
}
