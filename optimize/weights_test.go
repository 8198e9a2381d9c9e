package optimize_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestPassWeights: the tail average of a pass weights the points reached by the
// steps t >= T/2 with the sizes of their cohorts; the last is the last reached.
func TestPassWeights(t *testing.T) {
	for rule, want := range map[optimize.Output][]float64{
		optimize.TailAverage: {0, 0, .2, .3, .5},
		optimize.Last:        {0, 0, 0, 0, 1},
	} {
		if got := optimize.Weights(rule, true, 7, 2, 3, 5); !same(got, want) {
			t.Errorf("%v: %v: want %v", rule, got, want)
		}
	}
}
