package firstorder_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestPredictionsKnowTheBall: the predicted gradient norm of a plan depends on the radius of the ball
// to which differences are clipped. The centred ball has half the radius of the full ball around zero
// on a convex loss, and the same radius if the curvature interval is symmetric. Plans with centred
// balls and plans with balls around zero of the same radius must predict and charge the same. A smaller
// ball must predict a smaller norm. The test fails if predictions take the length of the interval for
// half the length.
func TestPredictionsKnowTheBall(t *testing.T) {
	for i, same := range map[int]float64{2: .5, 3: 1} {
		p := optimizetest.Problems()[i].Public
		s := size{Records: 1e4, Mu: .25}
		storm := func(fraction float64) float64 {
			plan, err := firstorder.STORM{Steps: 300, Ball: optimize.DifferenceBall{Fraction: fraction}}.Plan(ctx, with(p, s))
			return resolve(t, plan, err).Summary().Predicted
		}
		boost := func(fraction float64) float64 {
			plan, err := firstorder.SpiderBoost{Steps: 300, Period: 40,
				Ball: optimize.DifferenceBall{Fraction: fraction}}.Plan(ctx, with(p, s))
			return resolve(t, plan, err).Summary().Predicted
		}
		for name, predicted := range map[string]func(float64) float64{"storm": storm, "spiderboost": boost} {
			if a, b, c := predicted(0), predicted(same), predicted(same/2); !close(a, b, 1e-12) || !(c < a) {
				t.Errorf("%s, problem %d: centred %v, %v of the bound %v, half of that %v", name, i, a, same, b, c)
			}
		}
	}
}
