package losstest

import (
	"runtime"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestLossesThatFailAreCaught tests losses of which any one method panics or ends its goroutine,
// always or for some records only.
func TestLossesThatFailAreCaught(t *testing.T) {
	type gradients = func(dst, w []float64, x []float32, y float64)
	for name, fail := range map[string]func(){"panics": func() {
		panic("no")
	}, "panics with nil": func() { panic(nil) }, "ends its goroutine": runtime.Goexit} {
		always := func(batch) batch { return func(_, _, _ []float64) { fail() } }
		sometimes := func(f batch) batch {
			return func(dst, z, y []float64) {
				if len(y) > 0 && len(z) > 0 && y[0] < 0 && z[0] == 1 {
					fail()
				}
				f(dst, z, y)
			}
		}
		l := parse(t, "logistic").(loss.RankOne)
		for _, f := range []func(batch) batch{always, sometimes} {
			requireCaught(t, name+": values", checkLoss(rankOneMutant{RankOne: l, values: f}), ruleReturns)
			requireCaught(t, name+": slopes", checkLoss(rankOneMutant{RankOne: l, slopes: f}), ruleReturns)
			requireCaught(t, name+": curvatures", checkLoss(rankOneMutant{RankOne: l, curvatures: f}), ruleReturns)
		}
		requireCaught(t, name+": gradient", checkLoss(generalMutant{General: testloss.SlowTail(),
			gradient: func(gradients) gradients {
				return func(_, _ []float64, _ []float32, _ float64) { fail() }
			}}), ruleReturns)
	}
	if fs := checkLoss(parse(t, "logistic")); len(fs) > 0 {
		t.Errorf("a sound loss: %v", fs)
	}
}
