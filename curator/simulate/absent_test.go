package simulate_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestAbsentRowsHoldNoRecord: answers on all records must equal the answers on a table without the absent
// rows, and cohorts are the same with and without them.
func TestAbsentRowsHoldNoRecord(t *testing.T) {
	rows, targets := table(50, 4)
	for _, repeat := range []int{1, 3} {
		c := simulate.Config{Rows: rows, Targets: targets, Repeat: repeat, Loss: parse(t, "logistic"),
			Budget: budget(t, account.AddOrRemove), Declared: 50, Noiseless: true, Absent: []int{0, 17, 49}}
		without := c
		without.Absent = nil
		without.Rows, without.Targets = nil, nil
		for i := range rows {
			if !slices.Contains(c.Absent, i) {
				without.Rows, without.Targets = append(without.Rows, rows[i]), append(without.Targets, targets[i])
			}
		}
		for name, terms := range kinds(t, 4, c.Loss) {
			x, y := open(t, c), open(t, without)
			if a, b := ask(t, x, 1e-4, terms(x.All())), ask(t, y, 1e-4, terms(y.All())); !slices.Equal(a.Mean, b.Mean) {
				t.Errorf("%s: %v, want %v", name, a.Mean, b.Mean)
			}
		}
		full := c
		full.Absent = nil
		x, y := record(t, c), record(t, full)
		for _, s := range []*recordtest.Recording{x, y} {
			cohort, err := s.DrawEach(.95)
			if err != nil {
				t.Fatal(err)
			}
			q := question(t, 1e-4, []query.Term{query.GradientAt(cohort, make([]float64, 4), 1)})
			if _, err := s.Ask(context.Background(), q); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := x.Exchanges()[0], y.Exchanges()[0]; !slices.Equal(a.Members, b.Members) || slices.Equal(a.Exact, b.Exact) {
			t.Errorf("members %v, %v; sums %v, %v", a.Members, b.Members, a.Exact, b.Exact)
		}
	}
	for _, i := range []int{-1, 50, math.MaxInt32 + 1} {
		c := simulate.Config{Rows: rows, Targets: targets, Loss: parse(t, "logistic"), Budget: budget(t, account.ReplaceOne),
			Absent: []int{i}}
		if _, err := simulate.Open(c); err == nil || !strings.Contains(err.Error(), "absent") {
			t.Errorf("absent row %d: %v", i, err)
		}
	}
}

func record(t testing.TB, c simulate.Config) *recordtest.Recording {
	t.Helper()
	r, err := recordtest.Record(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
