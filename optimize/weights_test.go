package optimize_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestPassWeights: in a pass, the tail average must weight the points that the steps t >= T/2 lead to
// with the sizes of these steps' cohorts. Last must be the point that the last step leads to.
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
