package engine

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEveryKindIsComputed tests that each kind in package query's table has an entry in the
// engine's table for each form of loss for which it is defined, and for no other form.
func TestEveryKindIsComputed(t *testing.T) {
	if got, want := len(computations)-1, len(query.Kinds()); got != want {
		t.Fatalf("%d kinds are computed, the table has %d", got, want)
	}
	for _, k := range query.Kinds() {
		f := k.Facts()
		if c := computations[k]; (c.rankOne == nil) != f.Weighted ||
			(c.general != nil) != (f.Losses == query.AnyLoss || f.Losses == query.Twice) {
			t.Errorf("%v: is not computed for the losses that it is asked of", k)
		}
	}
}
