package enginetest

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEveryKindIsAsked tests that the conformance tests make queries of every kind.
func TestEveryKindIsAsked(t *testing.T) {
	asked := map[query.Kind]bool{}
	for _, q := range questions(t, loss.Logistic(), 3) {
		for _, term := range q.Terms() {
			asked[term.Kind()] = true
		}
	}
	for _, k := range query.Kinds() {
		if !asked[k] {
			t.Errorf("%v: no case asks for it", k)
		}
	}
}
