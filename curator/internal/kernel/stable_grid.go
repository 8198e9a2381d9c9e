package kernel

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// mostDirt is the largest share that rounding errors may have in a sensitivity. With a larger
// share, query.Pass.Sensitivity would not predict it well.
const mostDirt = 1. / 64

// newStableGrid chooses the grid on which the average of the iterates, minus the start, is
// released. docs/exactness.md derives it. It is an error if the step is too long, the share of
// rounding errors too large, or no grid exact.
func newStableGrid(q query.Stable, k loss.Constants, n int) (grid, error) {
	p := q.Pass()
	if total := k.Curvature.Hi + p.Lambda; !(p.Step*total <= 2) {
		return grid{}, fmt.Errorf("curator: stable sgd: step = %v: must be at most 2/(curvature + lambda) = 2/(%v + %v) = %v, or steps take points apart", p.Step, k.Curvature.Hi, p.Lambda, 2/total)
	}
	b := engine.Bound(p, k, n)
	clean, dirt := b.Moved()
	if !(dirt <= mostDirt*clean) {
		return grid{}, fmt.Errorf("curator: stable sgd: %d records: rounding errors of up to %v beside a sensitivity of %v: must be at most 1/64 of it: take fewer records, longer steps or a smaller ball", n, dirt, clean)
	}
	root, z := math.Sqrt(float64(q.Dim())), math.Sqrt(q.Charge())
	for bits := startBits(root, z); bits >= minBits; bits-- {
		g := grid{bits: bits}
		noise := math.Ldexp(1, bits)
		// 2^-44 keeps the charge, after all roundings, below the charge offered.
		g.scale = (float64(noise*z*(1-0x1p-44)) - root) / (clean + dirt)
		if !(g.scale > 0) || math.IsInf(g.scale, 0) {
			break
		}
		if most := float64((b.Point+b.Start)*g.scale*(1+0x1p-19)) + 1; !(most <= maxContribution) {
			continue
		}
		g.sensitivity = (clean + dirt + root/g.scale) * (1 + 0x1p-50)
		g.sigma = noise / g.scale * (1 - 0x1p-50)
		return g, nil
	}
	return grid{}, fmt.Errorf("curator: charge = %v: no exact grid for stable sgd: %d coordinates, steps of %v and iterates of norm up to %v", q.Charge(), q.Dim(), b.Jump, b.Point)
}
