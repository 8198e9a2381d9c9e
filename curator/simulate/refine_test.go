package simulate_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
)

// TestRefine: after Refine, answers are those of a session over the refined rows, faulty records included, while
// cohorts and the ledger are as without it.
func TestRefine(t *testing.T) {
	rows, targets := table(50, 4)
	targets[7] = math.NaN()
	rows[9] = []float32{1, 1, 1, 1}
	change := func(x []float32) []float32 { return []float32{x[3], x[0] / 2, x[1]} }
	c := simulate.Config{Rows: rows, Targets: targets, Loss: parse(t, "logistic"), Budget: budget(t, account.ReplaceOne),
		Seed: 4, BlockRows: 8}
	refined := c
	refined.Rows = nil
	for _, x := range rows {
		refined.Rows = append(refined.Rows, change(x))
	}
	refined.Rows[9] = []float32{2, 0, 0}
	a, b := record(t, c), record(t, refined)
	if _, err := a.Draw(5); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Draw(5); err != nil {
		t.Fatal(err)
	}
	if err := a.Refine(3, change); err != nil || a.Dim() != 3 {
		t.Fatalf("%d features, %v", a.Dim(), err)
	}
	for name, terms := range kinds(t, 3, c.Loss) {
		if x, y := ask(t, a.Session, 1e-4, terms(a.All())), ask(t, b.Session, 1e-4, terms(b.All())); !slices.Equal(x.Mean,
			y.Mean) {
			t.Errorf("%s: %v, want %v", name, x.Mean, y.Mean)
		}
	}
	if !slices.Equal(a.Ledger().Events(), b.Ledger().Events()) {
		t.Error("the ledger is not as without Refine")
	}
}
