package session

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestCohortsAreAtMostTheRecords tests that no more cohorts are drawn than there are declared
// records, and that each release charges its own cohort only.
func TestCohortsAreAtMostTheRecords(t *testing.T) {
	for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		records := randomRecords(rand.New(rand.NewPCG(7, 7)), 7, 3)
		s := open(t, records, parse(t, "logistic"), budget(t, 1, 1e-6, r), nil)
		for i := range 7 {
			c, err := s.DrawEach(.01)
			if err != nil || c.ID() != uint64(i+1) {
				t.Fatalf("%v: draw %d: cohort %d, %v", r, i, c.ID(), err)
			}
		}
		if c, err := s.DrawEach(.01); err == nil {
			t.Errorf("%v: cohort %d of 7 records", r, c.ID())
		}
	}
}

// TestCohortOfNobody tests that every way of asking about a cohort that no record joined, the first
// or a later one, answers over no records, and not over all records.
func TestCohortOfNobody(t *testing.T) {
	for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		coins := rand.New(rand.NewPCG(7, 7))
		s := open(t, randomRecords(coins, 50, 3), parse(t, "logistic"), budget(t, 1, 1e-6, r),
			func(c *Config) { c.Noiseless = true })
		for range 3 {
			c, err := s.DrawEach(1e-12)
			if err != nil {
				t.Fatal(err)
			}
			if rows, err := s.rowsOf(c); rows == nil || len(rows) > 0 || err != nil {
				t.Fatalf("%v: cohort %d has rows %v, %v", r, c.ID(), rows, err)
			}
			a, err := s.Ask(context.Background(), question(t, 1e-3, query.GradientAt(c, point(coins, 3, 1), 1)))
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range a.Mean {
				if v != 0 {
					t.Errorf("%v: cohort %d: coordinate %d of nobody's gradient is %v", r, c.ID(), j, v)
				}
			}
		}
	}
}
