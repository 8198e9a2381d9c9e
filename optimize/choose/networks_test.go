package choose_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// TestNetworksAreNotRankedByWork: for networks gd must come first at every size, for every output and
// goal, and a limit on passes must hold. The test fails if forecasts and passes order the plans: in
// some of these settings they choose a few steps of another algorithm.
func TestNetworksAreNotRankedByWork(t *testing.T) {
	for _, name := range []string{"network(4,tanh,logistic)", "network(8-8,tanh,softmax(3))"} {
		for _, epsilon := range []float64{.1, 1} {
			for _, records := range []float64{2000, 50_000} {
				for _, auto := range []choose.Auto{{WithoutSamples: true}, {WithoutSamples: true, Passes: 20},
					{WithoutSamples: true, Goal: choose.Population}} {
					at := fmt.Sprintf("%s, epsilon %v, %v records, %v, passes %v", name, epsilon, records, auto.Goal, auto.Passes)
					l, err := loss.Parse(name)
					if err != nil {
						t.Fatal(err)
					}
					b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
					if err != nil {
						t.Fatal(err)
					}
					p, err := optimize.NewProblem(l, b, optimize.Stated(loss.RecordFeatures(l, 20), records))
					if err != nil {
						t.Fatal(err)
					}
					list, err := auto.Candidates(t.Context(), p)
					if err != nil {
						t.Fatal(err)
					}
					s := list[0].Summary
					if s.Algorithm != "gd" || auto.Passes > 0 && s.Passes > auto.Passes {
						t.Errorf("%s: %s with %v passes: must be gd", at, s.Algorithm, s.Passes)
					}
					if !math.IsInf(list[0].Ranked, 1) {
						t.Errorf("%s: ranked by %v", at, list[0].Ranked)
					}
				}
			}
		}
	}
}
