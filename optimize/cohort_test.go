package optimize_test

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestCohortSizes: under replace-one cohorts must have whole numbers of records. Under add-or-remove they
// must have the expected sizes, computed from the declared number. The number of records left must fall to
// 0. The test fails if a probability is computed from all records instead of the records left.
func TestCohortSizes(t *testing.T) {
	p := crowd(optimizetest.Problems()[0], 500)
	for relation, want := range map[account.Relation][]float64{
		account.ReplaceOne:  {100, 101, 1, 798},
		account.AddOrRemove: {100.4, 100.6, .25, 798.75},
	} {
		c := p.Config(budgetOf(t, relation, 1), 1, 3)
		c.Declared = 1000
		o := optimizetest.New(c)
		sizes := []float64{100.4, 100.6, .25, want[3]}
		drawn, left, err := optimize.DrawSizes(o, o.Problem(p.Public), sizes...)
		if err != nil || len(drawn) != 4 || left > 1e-9 || left < -1e-9 {
			t.Fatalf("%v: %v drawn, %v left, %v", relation, drawn, left, err)
		}
		for i := range want {
			if !close(drawn[i], want[i], 1e-12) {
				t.Errorf("%v: cohort %d of %v: want %v", relation, i+1, drawn[i], want[i])
			}
		}
	}
}

// TestCohortTooLarge: a cohort larger than the number of records left must be refused before it is
// drawn.
func TestCohortTooLarge(t *testing.T) {
	p := crowd(optimizetest.Problems()[0], 50)
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		c := p.Config(budgetOf(t, relation, 1), 1, 3)
		c.Declared = 100
		o := optimizetest.New(c)
		drawn, left, err := optimize.DrawSizes(o, o.Problem(p.Public), 60, 41)
		if err == nil || !strings.Contains(err.Error(), "cohort of 41 records: must be > 0 and <= 40") || len(drawn) != 1 ||
			!close(left, 40, 1e-12) {
			t.Errorf("%v: %v drawn, %v left, %v", relation, drawn, left, err)
		}
	}
}
