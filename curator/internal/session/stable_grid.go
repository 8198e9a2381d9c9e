package session

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// mostDirt is the largest fraction of the sensitivity of a pass of SGD that may come from rounding
// errors. With a larger fraction, query.Pass.Sensitivity would not predict the sensitivity well.
const mostDirt = 1. / 64

// newStableGrid chooses the grid on which the average of the iterates of a pass of SGD, minus its
// start, is released. docs/explanation/exactness.md derives it. newStableGrid returns an error if the
// step is too long, if rounding errors make up too large a part of the sensitivity, or if no grid
// keeps the iterates within the limits of exact arithmetic.
func newStableGrid(q query.Stable, k loss.Constants, n int) (grid, error) {
	p := q.Pass()
	if total := k.Curvature.Hi + p.Lambda; !(p.Step*total <= 2) {
		return grid{},
			fmt.Errorf("curator: stable sgd: step = %v: must be at most 2/(curvature + lambda) = 2/(%v + %v) = %v, or steps "+
				"take points apart", p.Step, k.Curvature.Hi, p.Lambda, 2/total)
	}
	b := engine.Bound(p, k, n)
	clean, dirt := b.Moved()
	if !(dirt <= mostDirt*clean) {
		return grid{},
			fmt.Errorf("curator: stable sgd: %d records: rounding errors of up to %v beside a sensitivity of %v: must be at "+
				"most 1/64 of it: take fewer records, longer steps or a smaller ball", n, dirt, clean)
	}
	root, z := math.Sqrt(float64(q.Dim())), math.Sqrt(q.Charge())
	for bits := startBits(root, z); bits >= minBits; bits-- {
		g := grid{bits: bits}
		noise := math.Ldexp(1, bits)
		// The factor 1 - 2^-44 keeps the charge, after all roundings, below the charge offered.
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
	return grid{},
		fmt.Errorf("curator: charge = %v: no exact grid for stable sgd: %d coordinates, steps of %v and iterates of norm "+
			"up to %v", q.Charge(), q.Dim(), b.Jump, b.Point)
}
