package losstest

import (
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/internal/losscheck"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// checkSmoothed tests the smoothed slopes of a loss: that they are at most the Lipschitz constant of the
// loss, that their divided differences lie in the curvature interval of SmoothedConstants, and that they
// equal the slopes of the loss for a row of norm 0. It also tests SmoothedConstants, NaN and wrong lengths.
func checkSmoothed(fs *findings, l loss.Kinked) {
	rng := rand.New(rand.NewPCG(0x5eed, 7))
	n := 64
	z, y, long, got, next := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n),
		make([]float64, n)
	for _, s := range losscheck.Smoothings() {
		c, err := l.SmoothedConstants(s)
		if err != nil {
			continue // the loss declares that it has no such smoothing
		}
		raw := l.Constants()
		bounded := c.Lipschitz == raw.Lipschitz && c.InitialGap >= raw.InitialGap &&
			!math.IsInf(c.Curvature.Hi-c.Curvature.Lo, 0)
		if !bounded || c.Curvature.Lo < raw.Curvature.Lo || c.Curvature.Hi > raw.Curvature.Hi {
			fs.add(ruleSmoothed, "constants %+v of a loss with %+v", c, raw)
			continue
		}
		for range 40 {
			for i := range z {
				z[i], y[i], long[i] = 3*rng.NormFloat64(), float64(2*rng.IntN(2)-1), rng.Float64()
				if i%2 == 0 { // each odd record is near the record before it, for divided differences
					continue
				}
				z[i], y[i], long[i] = z[i-1]+1e-4, y[i-1], long[i-1]
			}
			l.SmoothedSlopes(got, z, y, long, s)
			for i := range z {
				if !(math.Abs(got[i]) <= raw.Lipschitz+1e-12) {
					fs.add(ruleSmoothed, "slope %v at z = %v, y = %v", got[i], z[i], y[i])
				}
			}
			for i := 1; i < n; i += 2 {
				// phi'' ||x||^2 is the curvature in w for a row x. The slack covers the error of the
				// interpolated distribution function of OverBall.
				bend := (got[i] - got[i-1]) / (z[i] - z[i-1]) * long[i] * long[i]
				if slack := 1e-3 * max(1, c.Curvature.Hi); !(bend >= c.Curvature.Lo-slack && bend <= c.Curvature.Hi+slack) {
					fs.add(ruleSmoothed, "curvature %v of a row of norm %v at z = %v, y = %v: declared [%v, %v]", bend, long[i], z[i],
						y[i], c.Curvature.Lo, c.Curvature.Hi)
				}
			}
			// For a row of norm 0 the smoothed slope is the slope.
			l.SmoothedSlopes(got, z, y, make([]float64, n), s)
			l.Slopes(next, z, y)
			for i := range got {
				if !same(got[i], next[i]) {
					fs.add(ruleSmoothed, "slope %v of a row of norm 0, %v of the loss, at z = %v, y = %v", got[i], next[i], z[i], y[i])
				}
			}
		}
		z[3] = math.NaN()
		if l.SmoothedSlopes(got, z, y, long, s); got[3] == got[3] {
			fs.add(ruleNaN, "SmoothedSlopes gives %v for a NaN margin", got[3])
		}
		if !panics(func() { l.SmoothedSlopes(got, z, y, long[1:], s) }) {
			fs.add(ruleLengths, "SmoothedSlopes with one norm too few does not panic")
		}
	}
}
