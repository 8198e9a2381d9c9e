//go:build results

package results_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	kept "github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
)

// charged is a session with a given ledger, for charging a run without making queries.
type charged struct{ own *account.Ledger }

func (c charged) Ledger() account.View { return c.own.View() }
func (c charged) Close() error         { c.own.End(); return nil }

// TestMixedRuns charges 1,000 runs to one dataset: Gaussian runs, selections, and runs on Poisson
// samples. It prints their cost by the store's privacy filter, which allows each run to be chosen
// by the results of earlier runs. It also writes the runs to the file named by the environment
// variable EVENTS, for other accountants, which treat all runs as fixed beforehand.
func TestMixedRuns(t *testing.T) {
	ctx := context.Background()
	const gaussian, selections, sampled = 700, 180, 120
	const delta = 1e-6
	book, err := stores.Make(ctx, "sqlite:"+filepath.Join(t.TempDir(), "budgets.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	limit, err := kept.NewCap(20, delta, account.ReplaceOne, sampled)
	if err == nil {
		err = book.Create(ctx, "people", limit)
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := account.NewBudget(.5, delta, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	schedules := []account.SampledSteps{
		{NoiseMultiplier: 20, Sampling: .02, Count: 500},
		{NoiseMultiplier: 15, Sampling: .01, Count: 1000},
		{NoiseMultiplier: 30, Sampling: .05, Count: 200},
	}
	type event struct {
		Kind       account.EventKind `json:"kind"`
		Multiplier float64           `json:"noise_multiplier,omitempty"`
		Sampling   float64           `json:"sampling,omitempty"`
		Epsilon    float64           `json:"epsilon,omitempty"`
		Count      int               `json:"count"`
	}
	file := struct {
		Relation account.Relation `json:"relation"`
		Events   []event          `json:"events"`
	}{Relation: account.ReplaceOne}
	var followed []*account.Schedule
	for _, s := range schedules {
		schedule, err := account.NewSchedule(ctx, run, 0, s)
		if err != nil {
			t.Fatal(err)
		}
		followed = append(followed, schedule)
	}
	r := rand.New(rand.NewPCG(19, 1))
	begin := time.Now()
	for i := range gaussian + selections + sampled {
		ledger, err := account.OpenLedger(run, account.Records{Count: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var e account.Event
		switch {
		case i < gaussian:
			z := math.Exp(math.Log(50) + r.Float64()*math.Log(8))
			e, err = account.GaussianEvent("gradient", account.Everyone, 1, z)
			file.Events = append(file.Events, event{Kind: account.Gaussian, Multiplier: z, Count: 1})
		case i < gaussian+selections:
			e, err = account.SelectionEvent("select", account.Everyone, .02)
			file.Events = append(file.Events, event{Kind: account.Selection, Epsilon: .02, Count: 1})
		default:
			s := schedules[i%len(schedules)]
			if err := ledger.Follow(followed[i%len(followed)]); err != nil {
				t.Fatal(err)
			}
			file.Events = append(file.Events, event{Kind: account.SampledGaussian, Multiplier: s.NoiseMultiplier,
				Sampling: s.Sampling, Count: s.Count})
		}
		if err != nil {
			t.Fatal(err)
		}
		reservation := book.Run("people", "")
		if err := reservation.Reserve(ctx, ledger.View()); err != nil {
			t.Fatal(err)
		}
		if e.Kind != "" {
			if err := ledger.Reserve(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := reservation.Settle(ctx, charged{ledger}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := book.Dataset(ctx, "people")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs in %v: mu^2 = %.6g, epsilon %.6g at delta %v by the filter", len(d.Runs),
		time.Since(begin).Round(time.Second), d.Spent, d.Epsilon, delta)
	begin = time.Now()
	text, err := book.Certificate(ctx, "people")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Verify(ctx, text); err != nil {
		t.Fatal(err)
	}
	t.Logf("the certificate has %d bytes and is rechecked in %v", len(text), time.Since(begin).Round(time.Millisecond))
	events, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("EVENTS"); path != "" {
		if err := os.WriteFile(path, events, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
