package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestCohortsAreAtMostTheRecords: each release charges its own cohort only, so
// that no more cohorts are drawn than there are declared records.
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
