package firstorder

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// density plans the release of the mean curvature of a loss whose slope jumps: the jump times the density of the residuals at
// the kink. It follows from the second difference of the mean loss at margins a half-width above and below the result's.
// Of three half-widths the run takes the widest that has less than the share mostInside of the records inside.
type density struct{ charge float64 }

// densityShare is the share of the steps' charges that pays for the mean curvature, and leastInside the least number of
// deviations of its noise that a quarter of the records inside would have, at the widest half-width. Nothing is
// released of quantiles nearer to an end than leastTail, since the density changes much beside the kink.
const densityShare, leastInside, mostInside, leastTail = .03, 2.5, .6, .2

var halfWidths = [...]float64{.32, .12, .045}

// newDensity plans the release and takes its charge from the steps; nil for other losses and too few records.
func newDensity(p optimize.Problem, steps *float64) *density {
	d := &density{densityShare * *steps}
	if !p.Explained || p.Kinked == nil || !narrows(p) || !p.Convex() || loss.RowWeighted(p.Kinked) || Diagonal(p) {
		return nil
	}
	if s := slopes(p.Kinked); min(-s[0], s[1]) < leastTail*(s[1]-s[0]) ||
		p.Neighbours()*4*leastInside > p.Records*math.Sqrt(d.charge/float64(2*len(halfWidths))) {
		return nil
	}
	*steps -= d.charge
	return d
}

// slopes returns the slopes below and above a kink.
func slopes(l loss.RankOne) []float64 {
	s := []float64{0, 0}
	l.Slopes(s, []float64{-9, 9}, []float64{0, 0})
	return s
}

// see releases the curvature in the weight of the last feature, whose value is shared, and adds it to the trace.
func (d *density) see(run *optimize.Run, p optimize.Problem, result *optimize.Result, shared float64) error {
	slope := slopes(p.Kinked)
	last := len(result.W) - 1
	for i, h := range halfWidths {
		step := h / shared
		low, high := slope[0]*h*(1+slack), slope[1]*h*(1+slack)
		centre, clip := p.LossBall(low, high)
		above, below := slices.Clone(result.W), slices.Clone(result.W)
		above[last], below[last] = above[last]+step, below[last]-step
		var change [2]optimize.Answer
		for j, term := range []query.Term{query.ValueChangeWithin(run.All(), above, result.W, centre, clip),
			query.ValueChangeWithin(run.All(), result.W, below, centre, clip)} {
			var err error
			if change[j], err = run.Ask(d.charge/float64(2*len(halfWidths)), term); err != nil {
				return err
			}
		}
		bend := change[0].Mean[0] - change[1].Mean[0]
		if inside := 2 * bend / ((slope[1] - slope[0]) * h); inside < mostInside || i == len(halfWidths)-1 {
			result.Trace = result.Trace.WithLevel(bend/(step*step), math.Hypot(change[0].Sigma, change[1].Sigma)/(step*step))
			return nil
		}
	}
	return nil
}

// slack is by how much the interval of changes of the loss is wider than the released value of the intercept says.
const slack = .05
