package nonsmooth

import (
	"cmp"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// practical sets the numbers that the plan needs without Theorem, by a rule found by measurement: the steps T, the
// block length M, the largest move D, the period and the assumed norm G1 of a gradient estimate.
func (c O2NC) practical(g *o2ncPlan, p optimize.Problem) {
	N := p.Effective()
	rule := int(min(max(math.Ceil(3*N), 300), 3000))
	if c.Oracle == SinglePass {
		rule = int(min(max(math.Ceil(4*math.Sqrt(N)), 1), p.Records/2+1))
	}
	for c.Oracle == SinglePass && rule > 1 && !(cohort(p, rule, min(cmp.Or(c.Period, 1), rule)) >= 1) {
		rule--
	}
	g.T, g.M = cmp.Or(c.Steps, rule), cmp.Or(c.Block, 3)
	g.D = c.Radius / float64(g.M)
	g.period = min(cmp.Or(c.Period, 8), g.T)
	if c.Oracle == SinglePass && c.Period == 0 {
		g.period = g.leastError(c, p)
	}
	g.base = .03 * p.Constants.Lipschitz
}

// cohort returns the number of records that each gradient difference of a single pass uses. The gradient
// that begins a period uses period times as many records, as in the theorem. With this number, the given
// number of steps uses all records, except for the rest that rounding down under replace-one leaves.
func cohort(p optimize.Problem, steps, period int) float64 {
	anchors := math.Ceil(float64(steps) / float64(period))
	return p.Cohort(p.Records / (anchors*float64(period) + float64(steps) - anchors))
}

// theoremName names the theorem whose settings the field Theorem means.
func (c O2NC) theoremName() string {
	name := "Theorem 4.1"
	if c.Oracle == SinglePass {
		name = "Theorem 6.1"
		if c.Order == ZeroOrder {
			name = "Theorem 3.1"
		}
	}
	return name + " (Kornowski, Liu and Talwar 2024)"
}

// theoremBound returns the smallest beta for which the theorem's n is at most the number of records, with the
// theorem's constants and logarithms set to 1.
func (c O2NC) theoremBound(p optimize.Problem) float64 {
	Φ, L, n, d := p.Constants.InitialGap, p.Constants.Lipschitz, p.Records, float64(p.Dim())
	α, ε := c.Radius/2, p.Mu
	if c.Oracle == MultiPass {
		return math.Pow(math.Sqrt(Φ)*L*math.Pow(d, .75)/(n*ε*math.Sqrt(α)), 2./3)
	}
	return vector.HalveRatio(1e-12*L, 1e12*L, 100, func(β float64) bool {
		return !(Φ*L*L*math.Sqrt(d)/(α*β*β*β)+Φ*L*d/(ε*α*β*β) > n)
	})
}

// theorem sets the parameters of Theorem 3.1, 4.1 or 6.1 of Kornowski, Liu and Talwar 2024, with the
// theorems' constants and logarithms set to 1. Theorems 3.1 and 6.1 differ only in m, the number of
// random directions. The function returns an error if the smoothing radius alpha is above F0/L0 or
// the run would have more than [optimize.MostSteps] steps.
func (c O2NC) theorem(g *o2ncPlan, p optimize.Problem) error {
	Φ, L, n, d := p.Constants.InitialGap, p.Constants.Lipschitz, p.Records, float64(p.Dim())
	α, ε := c.Radius/2, p.Mu // mu is used for epsilon/sqrt(log(1/delta))
	if α > Φ/L {
		return fmt.Errorf("optimize: o2nc: theorem: alpha = radius/2 = %v: must be at most F0/L0 = %v", α, Φ/L)
	}
	var T float64
	switch c.Oracle {
	case SinglePass: // Theorems 3.1 and 6.1
		T = max(math.Floor(n/2), 1)
		g.D = min(
			math.Cbrt(Φ*Φ*α/(L*L*T*T)),
			math.Sqrt(Φ*α*ε/(d*L*T)),
			math.Pow(Φ*Φ*Φ*α*α*ε/(math.Pow(d, 1.5)*L*L*L*T*T*T), .2),
			math.Cbrt(Φ*Φ*α/(L*L*T*T*math.Sqrt(d))),
		)
		g.period = int(min(max(math.Ceil(math.Pow(α/(ε*g.D), 2./3)+α/(g.D*math.Sqrt(d))), 1), T))
		// A period of Sigma steps uses 2 Sigma - 1 times the cohort of a difference: Sigma times for its
		// gradient, and once for each of its Sigma - 1 differences.
		Σ := float64(g.period)
		T = min(T, max(math.Floor(n/(2*Σ-1)), 1)*Σ)
		g.M = int(min(max(math.Floor(α/(4*g.D)), 1), T))
	default: // Theorem 4.1
		β := math.Pow(math.Sqrt(Φ)*L*math.Pow(d, .75)/(n*ε*math.Sqrt(α)), 2./3)
		g.D = α * min(β/L, 1) * min(β/L, 1)
		T = math.Ceil(Φ / (g.D * β))
		g.M = int(min(max(math.Floor(α/g.D), 1), T))
		g.period = int(min(max(math.Ceil(α/(g.D*math.Sqrt(d))), 1), T))
	}
	if c.Steps > 0 {
		T = float64(c.Steps)
	}
	if T > optimize.MostSteps {
		return fmt.Errorf("optimize: o2nc: theorem: steps = %v: must be at most %d: a larger radius needs fewer", T,
			optimize.MostSteps)
	}
	g.T = int(T)
	g.M, g.period = min(cmp.Or(c.Block, g.M), g.T), min(cmp.Or(c.Period, g.period), g.T)
	g.base = L
	return nil
}

// batches returns the shares of the records in the samples of a gradient and of a difference, 1 without samples.
func (c O2NC) batches() (anchor, difference float64) {
	return cmp.Or(c.AnchorBatch, 1), cmp.Or(c.DifferenceBatch, 1)
}

// farthest returns the largest radius of the ball to which a gradient difference is clipped in a run.
func (g *o2ncPlan) farthest(p optimize.Problem) float64 { return min(g.ball.Slope(p)*2*g.D, 2*g.clip) }

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

// pass returns the mean squared error of the gradient estimates in a single pass with the given period. The error has
// three parts: the noise, the random choice of the records for the period's gradient, and the random choice of the
// records for the differences. The result is infinite if a difference would have less than one record.
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
