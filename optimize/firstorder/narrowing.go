package firstorder

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// narrowing is a fall of the radius over which a loss whose slope jumps is smoothed,
// from a wide one to the problem's. At the problem's radius, about d/N, the curvature is
// bounded by about N/d and the step 1/b by that is so short that tens of steps do not
// arrive, the less the more records there are. So radii fall geometrically over the first
// half of the steps, each step being the one that is stable at its radius, and are held
// over the second half, over which results are averaged:
//
//	r_t = r_0 (r/r_0)^min(t/T', 1),   T' = (T-1)/2 rounded down
//	eta_t = (h/b(r_t)) (lambda/lambda(r_t))
//
// where b(r) bounds the curvature of the loss smoothed over r, lambda is the ridge that
// the metric has and lambda(r) the one that b(r) would ask for. With e the edge of the
// second moment's noise, s the regularizer's smoothness, and G <= Gt_+ + e I,
//
//	eta_t (b(r_t) G + s I) <= (lambda/lambda(r_t)) (Gt_+ + (e + s/b(r_t)) I) <= Gt_+ + lambda I
//
// for h = 1, since lambda(r) = e + s/b(r) is at least lambda for a radius that is wider.
// Without a regularizer the two are the same.
//
// The walk starts where there is something to see. Mean squared slopes at w = 0, for some
// radii between the widest and the problem's, grow from what balls that smooth
// everything away leave to what the kinks are worth; r_0 is twice the widest radius whose
// mean square passes the middle between the first and the last.
type narrowing struct {
	wide  []optimize.Problem // smoothed over the radii looked at, from the widest on
	scale float64            // h
	look  float64            // the charge of all looks together
}

// Figures of the rule for narrowing.
const (
	leastNarrow     = 50  // N
	widestDeviation = 1   // of a prediction over the widest ball
	usualDeviation  = .2  // over the ball whose curvature forecasts take the loss to have
	looks           = 7   // radii at which mean squares are asked for
	lookShare       = .02 // of the steps' charges that looks have
	passed          = .5  // of the way from the first mean square to the last
	startOver       = 2   // r_0 in radii that passed
	foldSteps       = 3   // steps a factor e of radii, in those of the smooth rule's first factor
	smoothSteps     = 4.2 // steps of that rule, in the same unit
	mostNarrowing   = 200
	mostMomentum    = .9
)

// narrows reports whether radii fall: of real targets, over balls, from an N of leastNarrow
// on, below which it was worse on two tables of three (results/outcome.md). Losses of binary
// targets were worse with it (the hinge on Adult: .379 for .359), since what matters there
// lies at a distance from the kink.
func narrows(p optimize.Problem) bool {
	return p.Kinked != nil && p.Kinked.Target() == loss.Real && p.Smoothing.On() && p.Smoothing.By == query.Ball &&
		p.Effective() >= leastNarrow && widest(p) > p.Smoothing.Radius
}

// widest is the radius over which a prediction for a row of norm 1 has deviation 1.
func widest(p optimize.Problem) float64 { return radiusOf(p, widestDeviation) }

// radiusOf is the radius over which a prediction for a row of norm 1 has a deviation:
// a coordinate of a ball of radius r has r/sqrt(d+2).
func radiusOf(p optimize.Problem, deviation float64) float64 {
	return deviation * math.Sqrt(float64(p.Shape.Features)+2)
}

// narrowingSteps is the rule for T: the steps that a smooth loss takes and as many again
// for every factor e of radii as keep each of them that far from its minimum.
func narrowingSteps(p optimize.Problem, share float64) int {
	base := min(1, math.Sqrt(p.Effective()/50)) * math.Sqrt(.8*math.Sqrt(float64(p.Shape.Features)/share))
	folds := math.Log(widest(p) / p.Smoothing.Radius)
	return int(min(max(math.Ceil(base*(smoothSteps+foldSteps*folds)), LeastPreconditioned), mostNarrowing))
}

// newNarrowing plans a fall of radii over T steps, nil where there is none, and takes the
// looks' charge from the steps', of which each has the one given.
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

// overRadius is a smoothed problem smoothed over another radius.
func overRadius(p optimize.Problem, radius float64) (optimize.Problem, error) {
	s := p.Smoothing
	s.Radius = radius
	return p.Smoothed(s)
}

// fall returns the problem at each of T steps, from a radius on, and the steps' sizes for
// a metric whose noise ends at an edge.
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

// begin looks where to start, sets the sizes of the run's steps and returns their
// smoothing.
func (n *narrowing) begin(run *optimize.Run, metric query.Metric, p optimize.Problem, T int, edge, most float64) (func(t int) query.Smoothing, error) {
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

// start asks for the mean squares at w = 0, each cut at most, and returns r_0.
func (n *narrowing) start(run *optimize.Run, metric query.Metric, most float64) (float64, error) {
	seen := make([]float64, len(n.wide))
	for i, p := range n.wide {
		a, err := run.Ask(n.look/looks, query.SquaredSlopeAt(run.All(), run.W, most, metric).Smoothed(p.Smoothing))
		if err != nil {
			return 0, err
		}
		seen[i] = a.Mean[0]
	}
	from, middle := n.wide[0].Smoothing.Radius, seen[0]+passed*(seen[looks-1]-seen[0])
	for i, v := range seen {
		if v >= middle {
			return min(from, startOver*n.wide[i].Smoothing.Radius), nil
		}
	}
	return from, nil
}

// usual is the problem and the law that forecasts follow: at the curvature of a usual
// radius, which is what steps meet on most of their way, and with no step longer than is
// stable there.
func usual(p optimize.Problem, law optimize.Law, ridge float64) (optimize.Problem, optimize.Law, error) {
	wide, err := overRadius(p, max(p.Smoothing.Radius, radiusOf(p, usualDeviation)))
	if err != nil {
		return p, law, err
	}
	sizes := make([]float64, len(law.StepSizes))
	for t, eta := range law.StepSizes {
		sizes[t] = min(eta, 1/wide.DataSmoothness())
	}
	law.StepSizes, law.Metric = sizes, metricOf(wide, ridge)
	return wide, law, nil
}

// expected is the forecast of the plan, of a usual radius where radii fall.
func (g *preconditionedPlan) expected() (optimize.Forecast, error) {
	p, law := g.Problem(), g.Law()
	edge := g.least(g.expectedEdge(p), func(ridge float64) float64 { return g.effective(p, ridge) }, forecast.AssumedExcess)
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
