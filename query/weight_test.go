package query_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestWeightsMultiply: two calls of Weighted multiply a term's weight and its clip norm by both
// factors, for terms of every kind that has a weight.
func TestWeightsMultiply(t *testing.T) {
	all := query.NewCohort(account.Everyone, 10)
	w, prev := []float64{1, 2}, []float64{0, 3}
	for name, term := range map[string]query.Term{
		"gradient":   query.GradientAt(all, w, 3),
		"value":      query.ValueAt(all, w, 1, 3),
		"difference": query.DifferenceWithin(all, w, prev, 3),
		"curvature":  query.DifferenceByCurvature(all, w, prev, -1, 2),
	} {
		once, err := query.New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(1, term.Weighted(.5).Weighted(4).Weighted(.25))
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Terms()[0].Weight(); got != .5 || q.Clip() != once.Clip()/2 {
			t.Errorf("%s: weight %v, clip norm %v of %v: must be half", name, got, q.Clip(), once.Clip())
		}
	}
}
