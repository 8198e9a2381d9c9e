package loss

import "math"

// Huber is r^2/2 for |r| <= delta and delta(|r| - delta/2) for |r| > delta, where r =
// z - y is the residual (Huber 1964). y lies in [-1, 1], delta between 1e-6 and 1e6.
//
//	d/dr = r clamped to [-delta, delta]
//	d2/dr2 = 1 for |r| <= delta and 0 beyond: in [0, 1], with jumps, so there is
//	no bound on the third derivative
//
// Values increase with |r| from 0 at r = 0. At z = 0, |r| is at most 1. InitialGap is
// therefore the value at r = 1.
func Huber(delta float64) (RankOne, error) {
	return scaled(huber{delta}.loss(), "huber", "delta", delta)
}

// IsHuber reports whether l is a [Huber] loss.
func IsHuber(l Loss) bool { return shaped[huber](l) }

type huber struct{ delta float64 }

func (h huber) loss() blockwise {
	return blockwise{
		shape: h, target: Real,
		constants: Constants{
			Lipschitz:        h.delta,
			Curvature:        CurvatureInterval{0, 1},
			HessianLipschitz: math.Inf(1),
			InitialGap:       h.value(1),
		},
	}
}

// value returns the loss of the residual r, q(|r| - q/2) with q = min(|r|, delta).
func (h huber) value(r float64) float64 {
	a := math.Abs(r)
	q := min(a, h.delta)
	return float64(q * (a - float64(q/2)))
}

func (h huber) block(dst, z, y []float64, of derivative) {
	for i := range dst {
		switch r := z[i] - y[i]; of {
		case values:
			dst[i] = h.value(r)
		case slopes:
			dst[i] = clamp(r, -h.delta, h.delta)
		case curvatures:
			dst[i] = bendWithin(r, h.delta, 1)
		}
	}
}
