package nonsmooth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Smoothed configures descent on the exactly smoothed loss, for generalised linear
// models whose loss has slopes that jump.
//
//	f_r(w; x) = mean of f over the ball of radius r around w, one integral in closed form
//	w_{t+1} = Proj(w_t - eta_t (mean_i clip(grad f_r(w_t; x_i), L0) + noise_t + grad reg(w_t)))
//
// The curvature of f_r is at most c_d J/r for jumps of the slope by J, c_d about
// .4 sqrt d, and its gradient is no longer than that of f (loss.OverBall). Kornowski,
// Liu and Talwar (2024) sample directions from the ball for this, for losses that are
// known by their values or gradients alone; of a generalised linear model the mean over
// the ball is known, without their noise, bias or many gradients a record.
//
// Guarantee: mu-GDP whatever the constants. The gradient of the mean of f_r at w is a
// mean of gradients within r of w: where its norm is b, w is an (r, b)-stationary point
// in Goldstein's sense, which the question about its norm releases. r is 2 alpha in the
// notation of Kornowski, Liu and Talwar. With LasryLions each record's gradient is at
// a point of its own within r, which is weaker (their Definition B.1).
//
// In the released metric (see firstorder.Preconditioned) its rule is followed with the
// curvature of f_r. Otherwise
//
//	eta_t = (1 - t/T)^2 max(4 (F0/L0^2) min(N/T, 2), far_t/sqrt(sum_{s<=t} ||g_s||^2))
//
// where far_t is the largest distance from the start so far and g_s are the answers (Ivgi,
// Hinder and Carmon 2023): where losses saturate, weights have a long way to go, which the
// first term alone did not take them. Steps are charged in proportion to 1/4 + t/T, and the
// last iterate is the result: a rule that was found by measuring, not one that a rate is
// proved of.
//
// A loss that is smooth as it is is not smoothed, and what is above is said of radius 0.
//
// The zero Smoothed is the default rule. A field that is set overrides it.
type Smoothed struct {
	// Radius is r. Zero: d/N, between .001 and 1. A record's loss is then changed by at
	// most L0 r/sqrt(d+2), nearly L0 sqrt(d)/N: what privacy adds to the mean loss in any
	// case, for weights of norm sqrt d (Bassily, Smith and Thakurta 2014). A smaller one
	// is nearer to the loss and slower.
	Radius float64 `yaml:"radius"`
	// Smoothing is ball, lasry-lions, or sampled: the ball by gradients at random points of
	// it, for any loss. Empty means ball, and sampled for networks whose slopes jump.
	Smoothing Smoothing `yaml:"smoothing"`
	// Space is where steps are taken: metric, the released one, or plain; empty means
	// the metric where it serves and N is 20 at least, but from 2000 on for convex losses
	// only: its few steps and its clip leave others far from stationary.
	Space Space `yaml:"space"`
	// Steps is T. Zero: in the metric its rule's, else 2 N, between 100 and 3000.
	Steps int `yaml:"steps"`
	// Directions is at how many points of the ball a record's gradient is worked out, with
	// smoothing sampled. Zero means 1: records are many.
	Directions int `yaml:"directions"`
}

// Smoothing is how a loss is smoothed.
type Smoothing query.Smoother

var smoothings = [...]string{query.Ball: "ball", query.LasryLions: "lasry-lions", query.Gradients: "sampled"}

func (s Smoothing) String() string { return optimize.NameOf(smoothings[:], "smoothing", uint8(s)) }

// UnmarshalText reads "ball", "lasry-lions" or "sampled"; the empty name is ball.
func (s *Smoothing) UnmarshalText(text []byte) error {
	i, err := optimize.ParseName(smoothings[:], "smoothing", string(text))
	*s = Smoothing(i)
	return err
}

// Space is what steps are taken in.
type Space uint8

const (
	// RuleSpace is the metric where it serves.
	RuleSpace Space = iota
	// InMetric is the metric released on the way.
	InMetric
	// Plain is the space of the parameters.
	Plain
)

var spaces = [...]string{"", "metric", "plain"}

func (s Space) String() string { return optimize.NameOf(spaces[:], "space", uint8(s)) }

// UnmarshalText reads "metric" or "plain"; the empty name is RuleSpace.
func (s *Space) UnmarshalText(text []byte) error {
	i, err := optimize.ParseName(spaces[:], "space", string(text))
	*s = Space(i)
	return err
}

// leastEffective is the N from which a released second moment is worth its charge, and
// manyEffective that from which plain steps are better on losses that are not convex.
const leastEffective, manyEffective = 20, 2000

// metricServes says whether the rule takes the metric where that is possible.
func metricServes(p optimize.Problem) bool {
	N := p.Effective()
	return N >= leastEffective && (N < manyEffective || p.Convex())
}

// Suits reports whether Smoothed is to be preferred to Subgradient: where its rule takes
// the metric, or the records are many, and for networks.
func Suits(p optimize.Problem) bool {
	N := p.Effective()
	return p.Layered || N >= manyEffective || N >= leastEffective && firstorder.Preconditioned{}.Serves(p) == nil
}

// smoothedPlan is a settled Smoothed in the space of the parameters.
type smoothedPlan struct {
	optimize.Settled
	charges []float64
	// decay are the (1 - t/T)^2, and most the largest step that a regularizer allows.
	decay []float64
	most  float64
}

// Plan settles Smoothed for a problem.
func (c Smoothed) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.ValidateKinked(); err != nil {
		return nil, err
	}
	if err := optimize.CheckSteps("smoothed", c.Steps); err != nil {
		return nil, err
	}
	smooth, words, err := c.smooth(p)
	if err != nil {
		return nil, err
	}
	var plan optimize.Plan
	metric := firstorder.Preconditioned{Steps: c.Steps}
	serves := metric.Serves(smooth)
	if smooth.Smoothing.Sampled() {
		serves = errors.New("optimize: smoothed: space = metric: must be plain where gradients are sampled, which are no multiples of rows")
	}
	switch {
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

// smooth returns the smoothed problem, and says in words what it promises.
func (c Smoothed) smooth(p optimize.Problem) (smooth optimize.Problem, words string, err error) {
	if p.Jumps && c.Smoothing == 0 {
		c.Smoothing = sampled
	}
	if c.Directions < 0 || c.Directions > query.Pool(p.Dim()) || c.Directions > 0 && c.Smoothing != sampled {
		return p, "", fmt.Errorf("optimize: smoothed: directions = %d: must be between 1 and %d with smoothing sampled, or 0", c.Directions, query.Pool(p.Dim()))
	}
	if p.Kinked == nil && c.Smoothing != sampled {
		if c.Radius != 0 || c.Smoothing != 0 {
			return p, "", fmt.Errorf("optimize: smoothed: radius = %v, smoothing = %v: must be left out: the loss is as smooth as it is declared, or has no smoothing in closed form", c.Radius, c.Smoothing)
		}
		return p, "the loss is smooth as it is", p.Validate()
	}
	rule := ""
	if c.Radius == 0 {
		c.Radius = DefaultRadius(p)
		rule = ", which is d/N between .001 and 1"
	}
	if !optimize.Positive(c.Radius) {
		return p, "", fmt.Errorf("optimize: smoothed: radius = %v: must be > 0, or 0 for the rule's", c.Radius)
	}
	by := query.Smoothing{Radius: c.Radius, By: query.Smoother(c.Smoothing)}
	if c.Smoothing == sampled {
		by.Directions, by.Seed = max(c.Directions, 1), seed
	}
	smooth, err = p.Smoothed(by)
	words = fmt.Sprintf("the loss is smoothed over radius %.3g%s: %s", c.Radius, rule, c.Smoothing.promise(c.Radius))
	if c.Smoothing != Smoothing(query.LasryLions) {
		words += fmt.Sprintf("; over the records' distribution that norm is larger by about %.2g at most", populationScale(p, c.Radius))
	}
	return smooth, words, err
}

// populationScale is by how much the gradients of the smoothed risk over records and over
// their distribution differ, at all points within sqrt d, but with probability 1%: up to
// a constant L0 sqrt(d log(R sqrt(d)/(alpha zeta))/n), Proposition 5.1 of Kornowski, Liu
// and Talwar (2024) for the smoothed loss.
func populationScale(p optimize.Problem, radius float64) float64 {
	d := float64(p.Dim())
	return p.Constants.Lipschitz * math.Sqrt(d*math.Log(max(d/(radius/2*.01), math.E))/p.Records)
}

// sampled is Ball by gradients around the point, of losses without a closed form.
const sampled = Smoothing(query.Gradients)

// promise says what the gradient of the smoothed loss tells.
func (s Smoothing) promise(radius float64) string {
	if query.Smoother(s) == query.LasryLions {
		return fmt.Sprintf("a gradient of norm b is a mean of records' gradients, each within %.3g of the result", radius)
	}
	return fmt.Sprintf("where its gradient has norm b the result is a (%.3g, b)-stationary point of the loss in Goldstein's sense", radius)
}

// named is a plan that another algorithm made.
type named struct {
	optimize.Plan
	summary optimize.Summary
}

// Summary describes the plan.
func (n named) Summary() optimize.Summary { return n.summary }

// DefaultRadius is the rule for the radius of smoothing.
func DefaultRadius(p optimize.Problem) float64 {
	return min(max(float64(p.Dim())/p.Effective(), .001), 1)
}

// steps is a number of steps, or the rule's multiple of N between 100 and 3000.
func steps(given int, multiple, effective float64) int {
	if given > 0 {
		return given
	}
	return int(min(max(math.Ceil(multiple*effective), 100), 3000))
}

// plain settles the rule for the space of the parameters; p is the smoothed problem.
func (c Smoothed) plain(p optimize.Problem) (*smoothedPlan, error) {
	T := steps(c.Steps, 2, p.Effective())
	l0 := p.Constants.Lipschitz
	eta := 4 * p.Constants.InitialGap / (l0 * l0) * min(p.Effective()/float64(T), 2)
	sizes := make([]float64, T)
	plan := &smoothedPlan{charges: make([]float64, T), decay: make([]float64, T), most: stable(p, math.Inf(1))}
	var sum float64
	for t := range T {
		u := float64(t) / float64(T)
		plan.decay[t] = (1 - u) * (1 - u)
		sizes[t] = stable(p, eta*plan.decay[t])
		plan.charges[t] = .25 + u
		sum += plan.charges[t]
	}
	for t := range plan.charges {
		plan.charges[t] *= p.Charge() / sum
	}
	how := "exactly smoothed loss"
	if p.Smoothing.Sampled() {
		how = "smoothed loss" + asked(p.Smoothing)
	}
	sa := p.Neighbours() * l0 / p.Records
	var err error
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "smoothed",
			Citation:  "noisy gradient descent on the " + how + " (after Kornowski, Liu and Talwar 2024)",
			Steps:     T,
			StepSize:  sizes[0],
			Charges:   "step t of T in proportion to 1/4 + t/T; steps grow with the distance from the start",
			Passes:    float64(T) * each(p.Smoothing),
		},
		Law: optimize.Law{StepSizes: sizes, Importance: plan.charges, Answer: func(t int, _, _ float64) (K float64, fresh optimize.Variance) {
			return 1, optimize.Variance{Noise: sa * sa / plan.charges[t]}
		}},
		Output: optimize.Last,
	})
	if err != nil {
		return nil, err
	}
	plan.Expect(forecast.Of(p, plan.Law()))
	return plan, nil
}

// stable is a step size kept stable for a public regularizer.
func stable(p optimize.Problem, eta float64) float64 {
	if p.Regularizer != nil {
		if s := p.Regularizer.Smoothness(); s > 0 {
			eta = min(eta, 1/s)
		}
	}
	return eta
}

// Run carries the plan out.
func (g *smoothedPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	l0 := g.Problem().Constants.Lipschitz
	run := g.Begin(ctx, o, observe)
	run.Eta = g.travelled(run)
	return run.Steps(func(t int) error {
		answer, err := run.Ask(g.charges[t], query.GradientAt(run.All(), run.W, l0))
		if err != nil {
			return err
		}
		run.Descend(run.Estimate(answer), optimize.Use{Weight: g.charges[t]})
		return nil
	})
}

// travelled is the rule for steps. All it goes by was released.
func (g *smoothedPlan) travelled(run *optimize.Run) func(estimate []float64, _ float64) float64 {
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
		eta := g.Law().Eta(t)
		if grown := g.decay[t] * far / math.Sqrt(squares); grown > eta { // not where both are zero
			eta = min(grown, g.most)
		}
		return eta
	}
}
