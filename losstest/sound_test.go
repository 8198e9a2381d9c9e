package losstest

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// pseudoHuber is a loss as another module may define it: sqrt(1 + r^2) - 1, r = z - y. With q =
// sqrt(1 + r^2), the slope is r/q, the curvature 1/q^3 and the third derivative -3r/q^5, which is
// extremal at r = 1/2.
type pseudoHuber struct{}

func (pseudoHuber) Name() string        { return "pseudo-huber" }
func (pseudoHuber) Target() loss.Target { return loss.Real }
func (pseudoHuber) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:        1,
		Curvature:        loss.CurvatureInterval{Lo: 0, Hi: 1},
		HessianLipschitz: 1.5 / math.Pow(1.25, 2.5),
		InitialGap:       math.Sqrt2 - 1,
	}
}

func (pseudoHuber) each(dst, z, y []float64, f func(r, q float64) float64) {
	if len(dst) != len(z) || len(dst) != len(y) {
		panic("lengths")
	}
	for i := range dst {
		r := z[i] - y[i]
		dst[i] = f(r, math.Hypot(1, r))
	}
}

func (p pseudoHuber) Values(dst, z, y []float64) {
	p.each(dst, z, y, func(r, q float64) float64 {
		if math.Abs(r) < 1 {
			return r * r / (q + 1)
		}
		return q - 1
	})
}

func (p pseudoHuber) Slopes(dst, z, y []float64) {
	p.each(dst, z, y, func(r, q float64) float64 {
		if math.IsInf(r, 0) {
			return math.Copysign(1, r)
		}
		return r / q
	})
}

func (p pseudoHuber) Curvatures(dst, z, y []float64) {
	p.each(dst, z, y, func(_, q float64) float64 { return 1 / q / q / q })
}

// written is the logistic loss as a general loss, one that computes its own gradient. It has the
// constants of the rank-one loss, since rows have norm at most 1.
type written struct{}

func (written) Name() string              { return "written" }
func (written) Target() loss.Target       { return loss.Binary }
func (written) Constants() loss.Constants { return loss.Logistic().Constants() }

func (written) margin(w []float64, x []float32) float64 {
	if len(w) != len(x) {
		panic("lengths")
	}
	z := 0.0
	for j := range w {
		z += w[j] * float64(x[j])
	}
	return z
}

func (l written) Value(w []float64, x []float32, y float64) float64 {
	return one(loss.Logistic().Values, l.margin(w, x), y)
}

func (l written) Gradient(dst, w []float64, x []float32, y float64) {
	s := one(loss.Logistic().Slopes, l.margin(w, x), y)
	if len(dst) != len(w) {
		panic("lengths")
	}
	for j := range dst {
		dst[j] = s * float64(x[j])
	}
}

func TestSoundLossesOfOtherModulesPass(t *testing.T) {
	Conformance(t, pseudoHuber{})
	Conformance(t, written{})
}

// TestLooseConstants tests losses whose declared constants are larger than any value that the search finds.
// The losses must pass only if their field Loose gives a reason.
func TestLooseConstants(t *testing.T) {
	slack := func(why string) loss.Loss {
		return rankOneMutant{RankOne: pseudoHuber{}, constants: func(c *loss.Constants) {
			c.Lipschitz, c.Curvature.Hi, c.HessianLipschitz, c.InitialGap = 2, 2, 2, 2
			c.Loose = why
		}}
	}
	Conformance(t, slack("bounds are doubled for the test"))
	for _, rule := range []string{ruleLipschitz, ruleInterval, ruleThird, ruleInitialGap} {
		requireCaught(t, "slack "+rule, checkLoss(slack("")), rule+ruleTight)
	}
}
