package optimize_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestPassWeights: in a pass, the tail average must be over the points to which the steps t >= T/2 lead,
// with the sizes of these steps' cohorts as weights. The rule Last must give the point to which the last
// step leads.
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
