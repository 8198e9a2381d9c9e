package engine

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEveryKindIsComputed: each kind in package query's table has an entry here,
// for losses of both forms, and there are no others.
func TestEveryKindIsComputed(t *testing.T) {
	if got, want := len(computations)-1, len(query.Kinds()); got != want {
		t.Fatalf("%d kinds are computed, the table has %d", got, want)
	}
	for _, k := range query.Kinds() {
		if c := computations[k]; c.rankOne == nil || c.general == nil {
			t.Errorf("%v: is not computed for every loss", k)
		}
	}
}
