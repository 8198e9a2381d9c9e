package firstorder

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Constants of the rules for fits that begin at a released base rate (lab/results/outcome.md). M is the effective size
// there (see optimize.Problem.Signal), and v the mean curvature.
const (
	stepsAtBase, mostAtBase = 16, 150 // steps where v is at least half of the bound b, and the most for smaller v
	manyAtBase              = 100     // M from which on all these steps are made
	stepsOfCounts           = 24
	clipOfCounts            = 3    // least ratio of the clip norm to the root mean square
	manyOfCounts            = 1500 // M from which on that ratio grows as M^clipOfMany
	clipOfMany              = .22
	eventClip, enoughEvents = 1.1, 400 // ratio of the clip norm to that of a record with one event, from such an M on
	rareFrom, rareAll       = .18, .05
	fullClip, leastLongest  = 40, .35 // M/sqrt d from which on the clip norm is L0 sqrt d_eff, and its least ratio to that
	longestGrowth           = .4
)

// counted reports whether the metric of a fit of counts that begins at a released base rate comes from the curvature
// there, in place of the second moment of the rows.
func counted(p optimize.Problem) bool { return p.Counts && begun(p) && !Diagonal(p) }

// steepest returns the largest second derivative of a record's loss at the released base rate of counts, that of a
// record with the largest exposure.
func steepest(p optimize.Problem) float64 {
	return min(math.Exp(p.Base.Margins[0]), 1+p.Constants.Lipschitz)
}

// usualSlope returns L0, or for counts that begin at a released base rate of mean S an estimate of the root mean
// square slope from above, L0 sqrt(4 S): counts are in [0, 1] and have a mean square of at most S.
func usualSlope(p optimize.Problem) float64 {
	if counted(p) {
		return p.Constants.Lipschitz * math.Sqrt(min(1, 4*p.Base.Curvature))
	}
	return p.Constants.Lipschitz
}

// guard shortens the steps of a fit of counts (see guarded for others), whose curvature grows with the rates that the
// model predicts and has no useful bound. It follows from released numbers alone. Steps begin at 1/(2 S), where S is the
// mean curvature at the base rate. If the released gradients at two successive points differ by more than the curvature 2 S explains, by more
// than two standard deviations of their noise, later steps are 1/c for the curvature c along the last move. No
// step moves the points by more than 1 in the metric, which is about the root mean square change of the rows' margins.
type guard struct {
	curvature, most float64
	before, at      []float64
}

const guardNoise, longestMove = 2, 1.

// guarded reports whether steps follow from the curvature of problem p, which may be below its bound, under a guard:
// for counts, and for losses of relative residuals with a large cap (optimize.Problem.AtBase).
func guarded(p optimize.Problem, bound float64) bool {
	return counted(p) || !begun(p) && !Diagonal(p) && p.DataSmoothness() < bound
}

// next returns the size of the step from the point y, in the coordinates of the metric, along the released gradient g,
// with noise of standard deviation sigma in each coordinate.
func (c *guard) next(y, g []float64, sigma float64) float64 {
	if c.at != nil {
		var product, square float64
		for j, v := range y {
			move := v - c.at[j]
			product += move * (g[j] - c.before[j])
			square += move * move
		}
		if square > 0 {
			seen := product/square - guardNoise*math.Sqrt2*sigma/math.Sqrt(square)
			c.curvature = min(max(c.curvature, seen), c.most)
		}
	}
	c.at, c.before = slices.Clone(y), slices.Clone(g)
	return min(1/c.curvature, longestMove/optimize.Norm(g))
}

// clipsOfCounts returns the ratio of the clip norm to the root mean square for counts, and, over the mean count, that to
// the mean square. The first grows with M: clipping makes effects larger, by 2% or 3% with a ratio of 3 where a third of
// the records have an event, since records with a large rate and no event count for less. The second is for rare events:
// a slope of a record with one event is the mean square slope over the mean count. If it is clipped, rates are too small,
// by a fifth with events for 5% of the records (lab/results/survival.md).
func clipsOfCounts(p optimize.Problem) (scale, rare float64) {
	m := p.Signal()
	grows := math.Pow(max(m/manyOfCounts, 1), clipOfMany)
	return clipOfCounts * grows, eventClip * grows * min(1, math.Sqrt(m/enoughEvents)) / p.Base.Curvature
}

// begun reports whether the problem's curvature at a released base rate is known.
func begun(p optimize.Problem) bool { return p.Base != nil && p.Base.Curvature > 0 }

// enoughAtBase returns the number of steps that reach the optimum from a released base rate without noise, for the
// bound b on the curvature: the number for a curvature near the bound, times sqrt(b/(2 v)). Steps of size 1/b are
// stable on every table, also where a level of a column has another rate than the rest. The number of
// steps that momentum needs grows with the root of b/v, and the noise that it accumulates does not grow with it.
func enoughAtBase(p optimize.Problem) float64 {
	if counted(p) {
		return stepsOfCounts
	}
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

// Constants of the rule by which the clip norm holds the gradients of uncommon levels (lab/coverage/results.md). Numbers
// without levels count as a level of mostLevel: of a normal column one row in a hundred is farther.
const (
	levelReach            = .4           // by which the noise of a coefficient stays below about .8 of its sampling error
	leastLevel, mostLevel = .015, 1. / 6 // shares of the rows
	levelOfCounts         = 1.5          // usualSlope of counts is that of most records alone
)

// long returns about the longest gradient of a row of an uncommon level, L0 sqrt(d_eff + 1/s) for the least released share
// s of a level that is at least leastLevel; 0 if the clip norm does not follow it. Rows of a level point the same way. If
// an outcome is uncommon, too, clipping holds back one outcome of the level alone and moves its coefficient.
func (g *preconditionedPlan) long(r released, effective float64) float64 {
	if g.reach == 0 || r.diagonal {
		return 0
	}
	mean := r.rows().Means(r.intercept())
	p, least := g.Problem(), mostLevel
	for _, group := range p.Groups {
		for _, v := range mean[group[0] : group[0]+group[1]] {
			if share := v / mean[len(mean)-1]; share >= leastLevel {
				least = min(least, share)
			}
		}
	}
	slope := usualSlope(p)
	if p.Counts {
		slope *= levelOfCounts
	}
	return slope * math.Sqrt(effective+1/least)
}
