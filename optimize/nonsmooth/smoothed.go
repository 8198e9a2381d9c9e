package nonsmooth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Smoothed is gradient descent on the smoothed loss, for losses whose derivative jumps. For
// generalised linear models the smoothed loss is computed exactly, in closed form.
//
//	f_r(w; x) = mean of f over the ball of radius r around w, one integral in closed form
//	w_{t+1} = Proj(w_t - eta_t (mean_i clip(grad f_r(w_t; x_i), L0) + noise_t + grad reg(w_t)))
//
// If the derivative of the loss in the margin jumps by J, the curvature of f_r is at most c_d J/r, where
// c_d is about .4 sqrt d. The gradient of f_r is no longer than the gradient of f ([loss.OverBall]).
// Kornowski, Liu and Talwar (2024) estimate f_r from random points of the ball, since they assume access to
// values or gradients only. For a generalised linear model the mean over the ball has a closed form. This
// has no sampling noise and no bias, and it needs one gradient for each record.
//
// Guarantee: mu-GDP whatever the constants. The gradient of the mean of f_r at w is a mean of gradients
// within r of w. If this gradient has norm b, w is an (r, b)-stationary point in Goldstein's sense. A query
// for this norm therefore releases a Goldstein measure. r is 2 alpha in the notation of Kornowski, Liu and
// Talwar. With smoothing lasry-lions each record's gradient is evaluated at a point of its own within r of
// w. A small norm then says less (Kornowski, Liu and Talwar 2024, Definition B.1).
//
// With space metric the plan is the plan of [firstorder.Preconditioned] for the loss f_r. With space
// plain the step size is
//
//	eta_t = (1 - t/T)^2 max(4 (F0/L0^2) min(N/T, 2), far_t/sqrt(sum_{s<=t} ||g_s||^2))
//
// where N is the effective size, far_t is the largest distance from the start so far and g_s are the released gradients
// (Ivgi, Hinder and Carmon 2023). If a loss saturates, the weights must move far. Steps of the first term's size alone
// were measured to be too short for this. The charge of step t is proportional to 1/4 + t/T, and the last iterate is
// the result. This rule was found by measurement. No rate is proved.
//
// With Theorem the plan is that of [firstorder.Warm] on the loss smoothed by lasry-lions, whose curvature is about L0^2/r
// in every dimension. Theorem B.5 (Kornowski, Liu and Talwar 2024) promises a gradient of the smoothed loss of order
// (R L0^4/r)^(1/3) d^(2/3)/(n epsilon), where R is the distance of the start from a minimiser. Its start is that of the
// exponential mechanism, which takes exponential time. Gradient descent takes its place, and no bound is proved with it
// for losses that are not convex, so that the plan states no promise.
//
// A loss that is already smooth is not smoothed. The statements above then hold with r = 0.
//
// The zero Smoothed selects every setting by the rule in the field's comment. A field that is set
// overrides its rule.
type Smoothed struct {
	// Radius is r. Zero means d/N, but at least .001 and at most 1. For convex losses of two classes in space metric,
	// the radius is also at least d/400 (or 1, if d/400 is larger), since smaller radii need more steps than a run
	// makes (lab/results/outcome.md). Smoothing with radius r changes a record's loss by at most L0 r/sqrt(d+2). For r
	// = d/N this is about L0 sqrt(d)/N. Privacy raises the mean loss by that amount in any case, for weights of norm
	// sqrt d (Bassily, Smith and Thakurta 2014). With a smaller radius the smoothed loss is nearer to the original
	// loss, and the descent is slower.
	Radius float64 `yaml:"radius"`
	// Smoothing is ball, lasry-lions or sampled. Ball computes the mean of the loss over the ball in closed
	// form. Lasry-lions computes the Lasry-Lions regularization in closed form. Sampled averages gradients at
	// random points of the ball, for any loss. Empty means sampled for networks whose derivative jumps, and
	// ball for all other losses.
	Smoothing Smoothing `yaml:"smoothing"`
	// Space is metric or plain. With metric, steps use a released preconditioner. With plain, they use none.
	// Empty means metric if the problem allows a preconditioner and N is large enough: at least 5 for convex
	// losses, and at least 20 but below 2000 for nonconvex losses. Otherwise empty means plain. For nonconvex
	// losses with larger N, the few steps and the clipping of space metric end far from a stationary point.
	Space Space `yaml:"space"`
	// Steps is T. In space metric, zero means the number that the rule of algorithm preconditioned gives. In space
	// plain, zero means 2 N, but at least 100 and at most 3000.
	Steps int `yaml:"steps"`
	// Directions is the number of points of the ball at which a record's gradient is computed, with smoothing
	// sampled. Zero means 1: with many records the mean over the records needs no more points.
	Directions int `yaml:"directions"`
	// Theorem takes the algorithm of Theorem B.5 (Kornowski, Liu and Talwar 2024): smoothing lasry-lions, and on the
	// smoothed loss SpiderBoost with a warm start (algorithm warm with theorem). The other settings but
	// Radius must then be left out.
	Theorem bool `yaml:"theorem"`
}

// Smoothing says how a loss is smoothed.
type Smoothing query.Smoother

var smoothings = [...]string{query.Ball: "ball", query.LasryLions: "lasry-lions", query.Gradients: "sampled"}

func (s Smoothing) String() string { return optimize.NameOf(smoothings[:], "smoothing", uint8(s)) }

// Space selects whether steps are made with a released preconditioner (metric) or without one
// (plain).
type Space uint8

const (
	// RuleSpace means InMetric if the problem allows a preconditioner and metricServes returns true, and Plain
	// otherwise.
	RuleSpace Space = iota
	// InMetric makes steps with a preconditioner that the run releases (see
	// [firstorder.Preconditioned]).
	InMetric
	// Plain makes steps in the space of the parameters, without a preconditioner.
	Plain
)

var spaces = [...]string{"", "metric", "plain"}

func (s Space) String() string { return optimize.NameOf(spaces[:], "space", uint8(s)) }

// leastEffective and leastConvex are the smallest effective sizes N, for nonconvex and for convex losses,
// at which a released second moment of the rows improves a fit by more than its part of the budget is worth
// (lab/results/outcome.md). From N = manyEffective on, plain steps are better than steps with a preconditioner
// for losses that are not convex.
const leastEffective, leastConvex, manyEffective = 20, 5, 2000

// leastOf returns the smallest effective size N at which steps are made with a preconditioner.
func leastOf(p optimize.Problem) float64 {
	if p.Convex() {
		return leastConvex
	}
	return leastEffective
}

// metricServes reports whether the default rule makes steps with a preconditioner for a problem that
// allows one.
func metricServes(p optimize.Problem) bool {
	N := p.Effective()
	return N >= leastOf(p) && (N < manyEffective || p.Convex())
}

// Suits reports whether Smoothed was measured to be better than Subgradient on problems like p. It returns
// true in three cases: for networks, for effective sizes N of at least manyEffective, and for N of at least
// leastOf(p) on problems that allow a preconditioner.
func Suits(p optimize.Problem) bool {
	N := p.Effective()
	return p.Layered || N >= manyEffective || N >= leastOf(p) && firstorder.Preconditioned{}.Serves(p) == nil
}

// Plan implements [optimize.Algorithm]. It returns an error if p does not allow the chosen space or smoothing.
func (c Smoothed) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.ValidateKinked(), optimize.CheckSteps("smoothed", c.Steps)); err != nil {
		return nil, err
	}
	if c.Theorem {
		if c.Space != RuleSpace || c.Steps != 0 || c.Directions != 0 || c.Smoothing == sampled || p.Kinked == nil {
			return nil, errors.New("optimize: smoothed: theorem: must be without space, steps, directions and smoothing " +
				"sampled, and for a loss of one margin whose slope jumps (warm serves smooth losses)")
		}
		c.Smoothing = Smoothing(query.LasryLions)
	}
	smooth, words, err := c.smooth(p)
	if err != nil {
		return nil, err
	}
	var plan optimize.Plan
	metric := firstorder.Preconditioned{Steps: c.Steps}
	serves := metric.Serves(smooth)
	if smooth.Smoothing.Sampled() {
		serves = errors.New("optimize: smoothed: space = metric: must be plain where gradients are sampled, which are no " +
			"multiples of rows")
	}
	switch {
	case c.Theorem:
		plan, err = firstorder.Warm{Theorem: true}.Plan(ctx, smooth)
	case c.Space == InMetric && serves != nil:
		return nil, serves
	case c.Space == InMetric, c.Space == RuleSpace && serves == nil && metricServes(smooth):
		plan, err = metric.Plan(ctx, smooth)
	default:
		plan, err = c.plain(smooth)
	}
	if err != nil {
		return nil, err
	}
	s := plan.Summary()
	if s.Algorithm != "smoothed" {
		s.Citation += " on the exactly smoothed loss"
	}
	s.Algorithm = "smoothed"
	s.Charges += "; " + words
	return named{plan, s}, nil
}

// smooth returns the problem with the smoothed loss. words describes, for the plan's summary, the
// smoothing radius and what a small gradient of the smoothed loss says about the loss.
func (c Smoothed) smooth(p optimize.Problem) (smooth optimize.Problem, words string, err error) {
	if p.Jumps && c.Smoothing == 0 {
		c.Smoothing = sampled
	}
	if c.Directions < 0 || c.Directions > query.Pool(p.Dim()) || c.Directions > 0 && c.Smoothing != sampled {
		return p, "", fmt.Errorf("optimize: smoothed: directions = %d: must be between 1 and %d with smoothing sampled, or 0",
			c.Directions, query.Pool(p.Dim()))
	}
	if p.Kinked == nil && c.Smoothing != sampled {
		if c.Radius != 0 || c.Smoothing != 0 {
			return p, "",
				fmt.Errorf("optimize: smoothed: radius = %v, smoothing = %v: must be left out: the loss is as smooth as it is "+
					"declared, or has no smoothing in closed form", c.Radius, c.Smoothing)
		}
		return p, "the loss is smooth as it is", p.Validate()
	}
	rule := ""
	if c.Radius == 0 {
		c.Radius = DefaultRadius(p)
		rule = ", which is d/N between .001 and 1"
		if least := c.leastRadius(p); least > c.Radius {
			c.Radius, rule = least, fmt.Sprintf(", which is d/%d", mostNarrow)
		}
	}
	if !optimize.Positive(c.Radius) {
		return p, "", fmt.Errorf("optimize: smoothed: radius = %v: must be > 0, or left out for the rule's", c.Radius)
	}
	by := query.Smoothing{Radius: c.Radius, By: query.Smoother(c.Smoothing)}
	if c.Smoothing == sampled {
		by.Directions, by.Seed = max(c.Directions, 1), seed
	}
	smooth, err = p.Smoothed(by)
	words = fmt.Sprintf("the loss is smoothed over radius %.3g%s: %s", c.Radius, rule, c.Smoothing.promise(c.Radius))
	if c.Smoothing != Smoothing(query.LasryLions) {
		words += fmt.Sprintf("; over the records' distribution that norm is larger by about %.2g at most",
			populationScale(p, c.Radius))
	}
	return smooth, words, err
}

// populationScale bounds, up to a constant, how much the gradient of the mean smoothed loss over n records differs from
// its expectation over the distribution of the records. The bound is L0 sqrt(d log(R sqrt(d)/(alpha zeta))/n), where
// alpha is half the given radius. It holds at all points of norm at most R = sqrt d, with probability 1 - zeta = 99%
// (Kornowski, Liu and Talwar 2024, Proposition 5.1, for the smoothed loss).
func populationScale(p optimize.Problem, radius float64) float64 {
	d := float64(p.Dim())
	return p.Constants.Lipschitz * math.Sqrt(d*math.Log(max(d/(radius/2*.01), math.E))/p.Records)
}

// sampled is the smoothing that estimates the gradient of the mean over the ball from gradients at random
// points of the ball. It serves losses without a closed form.
const sampled = Smoothing(query.Gradients)

// promise describes in words, for the plan's summary, what a small gradient of the smoothed loss says
// about the loss.
func (s Smoothing) promise(radius float64) string {
	if query.Smoother(s) == query.LasryLions {
		return fmt.Sprintf("a gradient of norm b is a mean of records' gradients, each within %.3g of the result", radius)
	}
	return fmt.Sprintf("where its gradient has norm b the result is a (%.3g, b)-stationary point of the loss in "+
		"Goldstein's sense", radius)
}

// named is the plan of another algorithm or of Smoothed itself, with the summary that Smoothed gives it.
type named struct {
	optimize.Plan
	summary optimize.Summary
}

// Summary returns n.summary in place of the inner plan's summary.
func (n named) Summary() optimize.Summary { return n.summary }

// DefaultRadius returns the default smoothing radius: d/N for d parameters and the effective size N, but at
// least .001 and at most 1.
func DefaultRadius(p optimize.Problem) float64 {
	return min(max(float64(p.Dim())/p.Effective(), .001), 1)
}

// mostNarrow limits the default smoothing radius for convex losses of two classes whose steps have a
// preconditioner. Up to the effective size N = 400 the radius is d/N, for larger N it is d/400. With the
// curvature at radius d/400 about 130 steps are needed, and the default rule makes 80. For losses with a
// real target, radii fall during the run instead.
const mostNarrow = 400

// leastRadius returns the smallest default smoothing radius. For convex losses of two classes whose steps
// have a preconditioner, it is d/mostNarrow, but at most 1. Otherwise it is 0.
func (c Smoothed) leastRadius(p optimize.Problem) float64 {
	if p.Kinked == nil || p.Real || !p.RankOne || !p.Convex() || c.Space == Plain ||
		c.Smoothing != 0 || p.Effective() < leastConvex || p.Set != nil {
		return 0
	}
	return min(float64(p.Dim())/mostNarrow, 1)
}

// steps returns the number of steps that the user set, given, if it is positive. Otherwise it returns
// multiple times the effective size effective, rounded up, but at least 100 and at most 3000.
func steps(given int, multiple, effective float64) int {
	if given > 0 {
		return given
	}
	return int(min(max(math.Ceil(multiple*effective), 100), 3000))
}

// plain returns the plan without a preconditioner (space plain) for the smoothed problem p.
func (c Smoothed) plain(p optimize.Problem) (optimize.Plan, error) {
	T := steps(c.Steps, 2, p.Effective())
	l0 := p.Constants.Lipschitz
	eta := 4 * p.Constants.InitialGap / (l0 * l0) * min(p.Effective()/float64(T), 2)
	// decay has the factor (1 - t/T)^2 of each step's size.
	sizes, charges, decay := make([]float64, T), make([]float64, T), make([]float64, T)
	var sum float64
	for t := range T {
		u := float64(t) / float64(T)
		decay[t] = (1 - u) * (1 - u)
		sizes[t] = p.Stable(eta * decay[t])
		charges[t] = .25 + u
		sum += charges[t]
	}
	vector.Scale(charges, p.Charge()/sum)
	how := "exactly smoothed loss"
	if p.Smoothing.Sampled() {
		how = "smoothed loss" + asked(p.Smoothing)
	}
	return forecast.Plan(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "smoothed",
			Citation:  "noisy gradient descent on the " + how + " (after Kornowski, Liu and Talwar 2024)",
			StepSize:  sizes[0],
			Charges:   "step t of T in proportion to 1/4 + t/T; steps grow with the distance from the start",
			Passes:    float64(T) * each(p.Smoothing),
		},
		Workload:   optimize.Workload{}.Count(query.Gradient, float64(T), 1),
		UpdateRule: optimize.UpdateRule{StepSizes: sizes},
		Charges:    charges, Output: optimize.Last,
		Begin: func(run *optimize.Run) func(int) error {
			run.Eta = travelled(run, sizes, decay, p.Stable(math.Inf(1)))
			return func(t int) error { return run.Follow(charges[t], run.All(), optimize.Use{Weight: charges[t]}) }
		},
	})
}

// travelled returns the function that computes each step's size in space plain, from the largest distance from the
// start so far and the norms of the released gradients (see [Smoothed] for the formula). most is the largest step size
// that the regularizer's smoothness allows.
func travelled(run *optimize.Run, sizes, decay []float64, most float64) func(estimate []float64, _ float64) float64 {
	start, away := slices.Clone(run.W), make([]float64, len(run.W))
	var far, squares float64
	return func(estimate []float64, _ float64) float64 {
		for j, v := range run.W {
			away[j] = v - start[j]
		}
		far = max(far, optimize.Norm(away))
		length := optimize.Norm(estimate)
		squares += length * length
		t := run.Taken()
		if grown := decay[t] * far / math.Sqrt(squares); grown > sizes[t] { // false if both are 0: the quotient is NaN
			return min(grown, most)
		}
		return sizes[t]
	}
}
