package firstorder

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Constants of the rules for fits that begin at a released base rate (lab/results/outcome.md). M is the effective size
// there (see optimize.Problem.Signal), and v the mean curvature.
const (
	stepsAtBase, mostAtBase = 16, 150 // steps where v is at least half of the bound b, and the most for smaller v
	manyAtBase              = 40      // M from which on all these steps are made
	rareFrom, rareAll       = .18, .05
	fullClip, leastLongest  = 40, .35 // M/sqrt d from which on the clip norm is L0 sqrt d_eff, and its least ratio to that
	longestGrowth           = .4
)

// begun reports whether the problem's curvature at a released base rate is known.
func begun(p optimize.Problem) bool { return p.Base != nil && p.Base.Curvature > 0 }

// enoughAtBase returns the number of steps that reach the optimum from a released base rate without noise, for the
// bound b on the curvature: the number for a curvature near the bound, times sqrt(b/(2 v)). Steps of size 1/b are
// stable on every table, also where a level of a column has another rate than the rest. The number of
// steps that momentum needs grows with the root of b/v, and the noise that it accumulates does not grow with it.
func enoughAtBase(p optimize.Problem) float64 {
	b := p.DataSmoothness()
	return min(stepsAtBase*math.Sqrt(b/min(b, 2*p.Base.Curvature)), mostAtBase)
}

// longest returns the ratio of the least clip norm to L0 sqrt d_eff, between 0 and 1. With a rare class most clipped
// gradients are of its records and point the same way, so that the fit would not reach its predictions if they were
// shortened. The ratio rises from 0 for a variance p (1-p) of the label of .18 to 1 for .05. It is smaller where noise,
// which is in proportion to the clip norm, costs more than the bias of clipping.
func longest(p optimize.Problem) float64 {
	if !begun(p) || p.Counts {
		return 0
	}
	v := p.Signal() / p.Effective() / 4
	rare := min(max((rareFrom-v)/(rareFrom-rareAll), 0), 1)
	u := p.Signal() / math.Sqrt(float64(p.Dim()))
	return rare * min(1, max(leastLongest, math.Pow(u/fullClip, longestGrowth)))
}
