package audit

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// turnedColumns reorders three features: turnedColumns[j] is the new position of feature j.
var turnedColumns = []int{2, 0, 1}

// turned returns a copy of v, a matrix stored row by row, in which the features of the given number of
// first rows are reordered by turnedColumns. The rest is unchanged.
func turned[E any](v []E, rows int) []E {
	out := append([]E(nil), v...)
	d := len(turnedColumns)
	for j := range min(rows*d, len(v)) {
		out[j/d*d+turnedColumns[j%d]] = v[j]
	}
	return out
}

// exactly runs a subject, an algorithm on a table, without noise. It returns the final weights and
// the run's exchanges, its queries with their answers.
func exactly(t *testing.T, s Subject) ([]float64, []simulate.Exchange) {
	t.Helper()
	s.Open = func(c simulate.Config, _ []simulate.Exchange) (Session, error) {
		c.Noiseless = true
		return recordtest.Record(c)
	}
	session, err := s.open(s.Table, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(context.Background(), session, func(optimize.Step) {})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return result.(optimize.Result).W, session.Exchanges()
}

// sumsApart returns the largest difference between the exact sums of two runs, divided by the scale of the
// sums. In the second run, the table's columns are in the order of turnedColumns. Before the comparison,
// the first rows*d coordinates of the first run's sums, which belong to features, are put in this order.
// Sums over pairs of features are left out, since package enginetest compares them.
func sumsApart(t *testing.T, first, second []simulate.Exchange, rows int) (far float64) {
	t.Helper()
	if len(first) != len(second) {
		t.Fatalf("%d questions: with other columns first they are %d", len(first), len(second))
	}
	for i, e := range first {
		q, ok := e.Asked.(query.Question)
		if !ok || q.Facts().Pairs || q.Dim() > q.PointDim() {
			continue
		}
		n := rows
		if q.Facts().Number {
			n = 0
		}
		for j, v := range turned(e.Exact, n) {
			far = max(far, math.Abs(float64(v-second[i].Exact[j]))/e.Scale)
		}
	}
	return far
}

// TestAlgorithmsKnowNoOrder tests that the order of columns has no effect. Without noise, every algorithm
// must make the same queries on a table whose columns are in another order. Up to rounding, its answers and
// its final weights must be the same, in the other order. The test leaves out networks, whose public start
// differs between coordinates, and perturbed-gd and dpzero, whose public random numbers do.
func TestAlgorithmsKnowNoOrder(t *testing.T) {
	for _, algorithm := range train.Algorithms() {
		if algorithm == "perturbed-gd" || algorithm == "dpzero" {
			continue
		}
		tried := 0
		for _, name := range []string{"tanh", "huber(0.3)", "softmax(3)", "pinball(0.3)"} {
			for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
				b, err := account.NewBudget(20, 1e-6, relation)
				if err != nil {
					t.Fatal(err)
				}
				s, err := trainedAs(train.Train{Algorithm: algorithm}, name, b)
				if err != nil {
					continue // the algorithm does not accept this loss or relation
				}
				tried++
				other := s
				other.Table.Rows = nil
				for _, x := range s.Table.Rows {
					other.Table.Rows = append(other.Table.Rows, turned(x, 1))
				}
				w, asked := exactly(t, s)
				v, again := exactly(t, other)
				rows := loss.Count(s.Loss)
				for j, x := range turned(w, rows) {
					if !(math.Abs(x-v[j]) <= 1e-9) {
						t.Errorf("%s: weight %d is %v: with other columns first it is %v", s.Name, j, x, v[j])
					}
				}
				if far := sumsApart(t, asked, again, rows); !(far <= 1e-6) {
					t.Errorf("%s: sums are %v apart", s.Name, far)
				}
			}
		}
		if tried == 0 {
			t.Errorf("%s: is not tried", algorithm)
		}
	}
}
