package session

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEachCandidateHasItsShift tests that candidates by norm that differ only in their shift, or
// only in their point, have different scores, whichever candidate has the lowest score and in
// either order.
func TestEachCandidateHasItsShift(t *testing.T) {
	records := make([]record, 10)
	for i := range records {
		records[i] = record{[]float32{1, 0}, 1, true}
	}
	s := open(t, records, parse(t, "logistic"), budget(t, 50, .1, account.ReplaceOne), noiseless)
	// The mean gradient at 0 is (-.5, 0). The mean gradient at (5, 0) is shorter.
	o, far := []float64{0, 0}, []float64{5, 0}
	for name, c := range map[string]struct {
		best, other query.Term
	}{
		"shift that cancels": {query.NormAt(s.All(), o, 1, []float64{.5, 0}),
			query.NormAt(s.All(), o, 1, []float64{0, .5})},
		"shift beside none":    {query.NormAt(s.All(), o, 1, nil), query.NormAt(s.All(), o, 1, []float64{-.1, 0})},
		"none beside shift":    {query.NormAt(s.All(), o, 1, []float64{.3, 0}), query.NormAt(s.All(), o, 1, nil)},
		"point of a short one": {query.NormAt(s.All(), far, 1, nil), query.NormAt(s.All(), o, 1, nil)},
		"loss of a point":      {query.ValueAt(s.All(), far, .5, 1), query.ValueAt(s.All(), o, .5, 1)},
		"point and shift together": {query.NormAt(s.All(), far, 1, []float64{.01, 0}),
			query.NormAt(s.All(), far, 1, []float64{.5, 0})},
	} {
		for place := range 3 {
			terms := []query.Term{c.other, c.other, c.other}
			terms[place] = c.best
			sel, err := query.NewSelection(1, terms...)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Select(context.Background(), sel); err != nil || got != place {
				t.Errorf("%s: candidate %d (%v), want %d", name, got, err, place)
			}
		}
	}
}
