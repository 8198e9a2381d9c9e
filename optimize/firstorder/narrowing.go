package firstorder

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// narrowing plans falling smoothing radii, from a wide radius to the problem's, for a loss whose slope
// jumps at a kink. The problem's radius is about d/N for d features and the effective size N. At this
// radius the curvature b of the smoothed loss is bounded by about N/d only. Steps of 1/b are then so short
// that tens of steps do not reach the minimum, and steps become shorter as the number of records grows.
// Therefore radii fall geometrically over the first half of the T steps, and each step has the size that is
// stable at its radius. Over the second half, whose iterates are averaged, the radius is constant:
//
//	r_t = r_0 (r/r_0)^min(t/T', 1),   T' = (T-1)/2 rounded down
//	eta_t = (h/b(r_t)) (lambda/lambda(r_t))
//
// b(r) is the curvature bound of the loss smoothed over the radius r, and h is the step scale. lambda
// is the ridge of the preconditioner, and lambda(r) is the ridge for the curvature bound b(r). Let G
// be the second moment of the rows, Gt_+ the released one without negative eigenvalues, e the largest
// eigenvalue (edge) of its noise and s the regularizer's smoothness. With G <= Gt_+ + e I and h = 1,
//
//	eta_t (b(r_t) G + s I) <= (lambda/lambda(r_t)) (Gt_+ + (e + s/b(r_t)) I) <= Gt_+ + lambda I,
//
// since lambda(r) = e + s/b(r) is at least lambda for a radius r wider than the problem's. Without a
// regularizer lambda(r) and lambda are equal.
//
// The first radius r_0 is determined by released mean squared slopes at w = 0, for seven radii from the widest to the
// problem's. The widest radius smooths all kinks away, and its mean square is the smallest. Let the middle be the mean
// of the first and the last of the seven mean squares. r_0 is twice the widest radius whose mean square is at least the
// middle, but not wider than the widest radius. If the last mean square is at most 1.25 times the first, the difference
// may be noise, and r_0 is the widest radius. The reason is that a run that starts with too narrow a radius does not
// reach the minimum, while too wide a first radius costs only a few steps.
type narrowing struct {
	wide  []optimize.Problem // the problem smoothed over each of the seven radii, the widest radius first
	scale float64            // step scale h
	look  float64            // the charge of the seven mean squares together
}

// Constants of the rule for falling smoothing radii (see narrowing).
const (
	leastNarrow     = 50   // least effective size N for which radii fall
	widestDeviation = 1    // standard deviation of a prediction if w is a random point of the widest ball
	usualDeviation  = .2   // such a standard deviation for the ball whose curvature forecasts assume
	looks           = 7    // number of radii at which mean squares are released
	lookShare       = .02  // share of the steps' charges that pays for these mean squares
	passed          = .5   // position of the middle between the first and the last mean square
	startOver       = 2    // ratio of r_0 to the widest radius whose mean square is at least the middle
	leastRise       = 1.25 // least ratio of the last to the first mean square at which they determine r_0
	foldSteps       = 3    // number of steps, over base, for each factor e from r_0 to r (see narrowingSteps)
	smoothSteps     = 4.2  // number of steps, over base, for a smooth loss
	mostNarrowing   = 200
	mostMomentum    = .9
)

// narrows reports whether smoothing radii fall during the run. They fall for losses of real targets
// smoothed over balls, if the effective size N is at least leastNarrow and the widest radius is above the
// problem's. For smaller N, falling radii made the errors on two tables of three worse
// (lab/results/outcome.md). For losses of binary targets, falling radii made errors worse (the hinge loss on
// Adult: .379 instead of .359), since the rows that determine such a fit are not near the kink.
func narrows(p optimize.Problem) bool {
	return p.Kinked != nil && p.Kinked.Target() == loss.Real && p.Smoothing.On() && p.Smoothing.By == query.Ball &&
		p.Effective() >= leastNarrow && widest(p) > p.Smoothing.Radius
}

// widest returns the largest smoothing radius. If w is moved to a random point of a ball of this
// radius, the prediction for a row of norm 1 has standard deviation 1.
func widest(p optimize.Problem) float64 { return radiusOf(p, widestDeviation) }

// radiusOf returns a smoothing radius. If w is moved to a random point of a ball of this radius, the
// prediction for a row of norm 1 has the given standard deviation. It uses that a coordinate of a
// random point in a ball of radius r in d dimensions has standard deviation r/sqrt(d+2).
func radiusOf(p optimize.Problem, deviation float64) float64 {
	return deviation * math.Sqrt(float64(p.Shape.Features)+2)
}

// narrowingSteps returns the default number of steps T if smoothing radii fall: the steps for a
// smooth loss, plus a fixed number of steps for each factor e (2.718) by which the radius falls.
// share is the second moment's share of the budget.
func narrowingSteps(p optimize.Problem, share float64) int {
	base := scarcity(p) * math.Sqrt(.8*math.Sqrt(float64(p.Shape.Features)/share))
	folds := math.Log(widest(p) / p.Smoothing.Radius)
	return int(min(max(math.Ceil(base*(smoothSteps+foldSteps*folds)*moreSteps(p)), LeastPreconditioned), mostNarrowing))
}

// newNarrowing plans T steps with falling smoothing radii. It subtracts the charge of the seven mean
// squares from *each, the charge of a step. It returns nil if radii do not fall for the problem.
func newNarrowing(p optimize.Problem, scale, T float64, each *float64) (*narrowing, error) {
	if !narrows(p) {
		return nil, nil
	}
	n := &narrowing{scale: scale, look: lookShare * T * *each}
	*each *= 1 - lookShare
	for i := range looks {
		wide, err := overRadius(p, widest(p)*math.Pow(p.Smoothing.Radius/widest(p), float64(i)/(looks-1)))
		if err != nil {
			return nil, err
		}
		n.wide = append(n.wide, wide)
	}
	return n, nil
}

// overRadius returns the smoothed problem p with the given smoothing radius in place of its own.
func overRadius(p optimize.Problem, radius float64) (optimize.Problem, error) {
	s := p.Smoothing
	s.Radius = radius
	return p.Smoothed(s)
}

// fall returns, for each of T steps, the problem smoothed over the step's radius, and the step size.
// from is the first radius, and edge is the largest eigenvalue of the second moment's noise.
func (n *narrowing) fall(p optimize.Problem, T int, from, edge float64) ([]optimize.Problem, []float64, error) {
	last := p.Smoothing.Radius
	falling := float64((T - 1) / 2)
	problems, sizes := make([]optimize.Problem, T), make([]float64, T)
	for t := range T {
		problems[t] = p
		if float64(t) < falling {
			var err error
			if problems[t], err = overRadius(p, from*math.Pow(last/from, float64(t)/falling)); err != nil {
				return nil, nil, err
			}
		}
		sizes[t] = n.scale / problems[t].DataSmoothness() * ridgeOf(p, edge) / ridgeOf(problems[t], edge)
	}
	return problems, sizes, nil
}

// begin releases the mean squared slopes that determine the first smoothing radius, and sets the step
// sizes of the run. It returns a function that gives the smoothing of step t.
func (n *narrowing) begin(run *optimize.Run, metric query.Metric, p optimize.Problem, T int, edge,
	most float64) (func(t int) query.Smoothing, error) {
	from, err := n.start(run, metric, most)
	if err != nil {
		return nil, err
	}
	problems, sizes, err := n.fall(p, T, from, edge)
	if err != nil {
		return nil, err
	}
	run.StepSizes = sizes
	return func(t int) query.Smoothing { return problems[t].Smoothing }, nil
}

// start releases the mean squared slopes at w = 0 for the seven smoothing radii and returns the first
// radius of the run. Each record's squared slope, measured in the metric, is clipped to at most most.
func (n *narrowing) start(run *optimize.Run, metric query.Metric, most float64) (float64, error) {
	seen := make([]float64, len(n.wide))
	for i, p := range n.wide {
		a, err := run.Ask(n.look/looks, query.SquaredSlopeAt(run.All(), run.W, most, metric).Smoothed(p.Smoothing))
		if err != nil {
			return 0, err
		}
		seen[i] = a.Mean[0]
	}
	return n.from(seen), nil
}

// from returns the first smoothing radius of the run for the released mean squared slopes, which are
// in the order from the widest radius to the problem's.
func (n *narrowing) from(seen []float64) float64 {
	widest, first, last := n.wide[0].Smoothing.Radius, seen[0], seen[looks-1]
	if !(last > leastRise*first) {
		return widest
	}
	for i, v := range seen {
		if v >= first+passed*(last-first) {
			return min(widest, startOver*n.wide[i].Smoothing.Radius)
		}
	}
	return widest
}

// usual returns the problem and the law that forecasts use if smoothing radii fall. The returned problem is smoothed
// over a usual radius, near which most steps are made. The returned law has step sizes that are stable at this radius.
func usual(p optimize.Problem, law optimize.UpdateRule, ridge float64) (optimize.Problem, optimize.UpdateRule, error) {
	wide, err := overRadius(p, max(p.Smoothing.Radius, radiusOf(p, usualDeviation)))
	if err != nil {
		return p, law, err
	}
	sizes := vector.Map(law.StepSizes, func(eta float64) float64 { return min(eta, 1/wide.DataSmoothness()) })
	law.StepSizes, law.Metric = sizes, metricOf(wide, ridge)
	return wide, law, nil
}

// expected returns the forecast of the plan before the run. If smoothing radii fall, the forecast is for
// the usual radius (see usual).
func (g *preconditionedPlan) expected() (optimize.Forecast, error) {
	p, law := g.Problem(), g.UpdateRule()
	edge := g.least(g.expectedEdge(p), func(ridge float64) float64 { return g.effective(p, ridge) },
		forecast.AssumedExcess)
	ridge := ridgeOf(p, edge)
	g.foresee(&law, p, ridge, g.effective(p, ridge))
	if g.narrow != nil {
		var err error
		if p, law, err = usual(p, law, ridge); err != nil {
			return optimize.Forecast{}, err
		}
	}
	return forecast.Of(p, law), nil
}
