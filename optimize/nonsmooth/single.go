package nonsmooth

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// farthest returns the largest radius of the ball to which a gradient difference is clipped in a run.
func (g *o2ncPlan) farthest(p optimize.Problem) float64 {
	return min(g.ball.Slope(p)*2*g.D, 2*g.clip)
}

// items returns the declaration of a prefix sum for one period of a single pass. The items are the period's
// gradient and its differences. A period of one step has no difference, and its sensitivity is the gradient's.
func (g *o2ncPlan) items(c O2NC, p optimize.Problem, period int) query.Prefix {
	rest := cohort(p, g.T, period)
	most := g.clip / (rest * float64(period))
	if period > 1 {
		most = max(most, g.farthest(p)/rest)
	}
	return query.Prefix{
		Factorization: c.Prefix.factorization(), Items: period, Charge: p.Charge(),
		Sensitivity: p.Neighbours() * most * (1 + 1e-9),
	}
}

// pass returns the mean squared error of the gradient estimates in a single pass with the given period. The
// error has three parts: the noise, the random choice of the records for the period's gradient, and the
// random choice of the records for the differences. The result is infinite if a difference would have less
// than one record.
func (g *o2ncPlan) pass(c O2NC, p optimize.Problem, period int) (square float64) {
	rest := cohort(p, g.T, period)
	if !(rest >= 1) {
		return math.Inf(1)
	}
	prefix, far := g.items(c, p, period), g.farthest(p)
	for t := range period {
		sigma := prefix.Sigma(t + 1)
		square += float64(p.Dim())*sigma*sigma + g.clip*g.clip/(rest*float64(period)) + float64(t)*far*far/rest
	}
	return square / float64(period)
}

// longestPeriod is the largest period that the default rule considers (see leastError).
const longestPeriod = 64

// leastError returns the period, a power of 2 up to longestPeriod, with which the gradient estimates
// of a single pass have the least error.
func (g *o2ncPlan) leastError(c O2NC, p optimize.Problem) int {
	best, least := 1, g.pass(c, p, 1)
	for period := 2; period <= min(longestPeriod, g.T); period *= 2 {
		if square := g.pass(c, p, period); square < least {
			best, least = period, square
		}
	}
	return best
}

// usualStart is the gradient norm at the start that the default rule of a single pass relies on, as a share of
// L0. At w = 0 rows whose targets follow a planted direction have .15 to .28 (the families capped and ramp in 20 and
// 100 dimensions, and 20 distinct rows), where [forecast.AtStart] assumes .9 to 1.
const usualStart = .14

// leaves returns the words of a warning if a single pass is expected to move from the start only at random: if the
// error in the mean of all gradient estimates, taken for independent, is at least as long as the gradient that is
// usual at the start. If neither Steps, Period nor Theorem is set, it returns an error instead.
//
// Measured in 20 and 100 dimensions (lab/results/theorems.md): of the orders exact and first, runs that are refused (N up
// to 86) end with .47 to 1.08 times the gradient at the start, and those that are taken (N of 121 and more) with .23 to
// .53. Of order zero, whose clip norm is twice as large, it is .40 to 1.03 (N up to 189) and .32 to .60.
func (g *o2ncPlan) leaves(c O2NC, p optimize.Problem) (warning string, err error) {
	noise := math.Sqrt(g.pass(c, p, g.period) / float64(g.T))
	start := min(forecast.AtStart(p).Gradient, usualStart*p.Constants.Lipschitz)
	if noise < start {
		return "", nil
	}
	why := fmt.Sprintf("the noise in the mean of all %d gradient estimates, %.2g, is above the gradient expected at the "+
		"start, %.2g, so that a run does not leave the start but at random: oracle fresh uses every record at every step",
		g.T, noise, start)
	if c.Theorem || c.Steps > 0 || c.Period > 0 {
		return "o2nc, oracle single-pass: " + why, nil
	}
	return "", fmt.Errorf("optimize: o2nc: oracle = single-pass: must not be taken with %.6g records of %d coordinates: %s",
		p.Records, p.Dim(), why)
}
