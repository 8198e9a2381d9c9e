package firstorder

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// narrowing plans falling smoothing radii for a loss whose slope jumps: from a wide radius to the
// problem's. At the problem's radius, about d/N, the curvature is bounded by about N/d. The step 1/b
// for that bound b is so short that tens of steps do not reach the minimum, and more records make it
// shorter. Radii therefore fall geometrically over the first half of the steps, and each step has the
// size that is stable at its radius. Over the second half, whose iterates are averaged, the radius
// stays:
//
//	r_t = r_0 (r/r_0)^min(t/T', 1),   T' = (T-1)/2 rounded down
//	eta_t = (h/b(r_t)) (lambda/lambda(r_t))
//
// b(r) bounds the curvature of the loss smoothed over r. lambda is the ridge of the metric, and
// lambda(r) the ridge that b(r) would require. Let e be the edge (largest eigenvalue) of the second
// moment's noise and s the regularizer's smoothness. With G <= Gt_+ + e I and h = 1,
//
//	eta_t (b(r_t) G + s I) <= (lambda/lambda(r_t)) (Gt_+ + (e + s/b(r_t)) I) <= Gt_+ + lambda I,
//
// since lambda(r) = e + s/b(r) is at least lambda for a wider radius. Without a regularizer lambda(r)
// and lambda are equal.
//
// The first radius r_0 is chosen by released mean squared slopes at w = 0, for seven radii between the
// widest and the problem's. The mean squares grow from the widest radius, whose smoothing hides every
// kink, to the problem's. r_0 is twice the widest radius whose mean square is above the middle between
// the first and the last mean square.
type narrowing struct {
	wide  []optimize.Problem // smoothed over the radii looked at, from the widest on
	scale float64            // h
	look  float64            // the charge of all looks together
}

// Constants of the rule for narrowing.
const (
	leastNarrow     = 50  // N
	widestDeviation = 1   // of a prediction over the widest ball
	usualDeviation  = .2  // over the ball whose curvature forecasts take the loss to have
	looks           = 7   // radii at which mean squares are asked for
	lookShare       = .02 // of the steps' charges that looks have
	passed          = .5  // of the way from the first mean square to the last
	startOver       = 2   // r_0 in radii that passed
	foldSteps       = 3   // steps for each factor e of radii, in units of the smooth rule's first factor
	smoothSteps     = 4.2 // steps of that rule, in the same unit
	mostNarrowing   = 200
	mostMomentum    = .9
)

// narrows reports whether radii fall: for real targets smoothed over balls, from N = leastNarrow on.
// Below it two tables of three were worse (results/outcome.md). Losses of binary targets were worse
// with falling radii (the hinge loss on Adult: .379 instead of .359), since the rows that matter there
// lie at a distance from the kink.
func narrows(p optimize.Problem) bool {
	return p.Kinked != nil && p.Kinked.Target() == loss.Real && p.Smoothing.On() && p.Smoothing.By == query.Ball &&
		p.Effective() >= leastNarrow && widest(p) > p.Smoothing.Radius
}

// widest returns the radius over which a prediction for a row of norm 1 has standard deviation 1.
func widest(p optimize.Problem) float64 { return radiusOf(p, widestDeviation) }

// radiusOf returns the radius over which a prediction for a row of norm 1 has the given standard
// deviation. A coordinate of a point in a ball of radius r has standard deviation r/sqrt(d+2).
func radiusOf(p optimize.Problem, deviation float64) float64 {
	return deviation * math.Sqrt(float64(p.Shape.Features)+2)
}

// narrowingSteps returns the rule's T: the steps of a smooth loss, plus a number of steps for each
// factor e between the first and the last radius.
func narrowingSteps(p optimize.Problem, share float64) int {
	base := min(1, math.Sqrt(p.Effective()/50)) * math.Sqrt(.8*math.Sqrt(float64(p.Shape.Features)/share))
	folds := math.Log(widest(p) / p.Smoothing.Radius)
	return int(min(max(math.Ceil(base*(smoothSteps+foldSteps*folds)), LeastPreconditioned), mostNarrowing))
}

// newNarrowing plans falling radii over T steps and subtracts the charge of the released mean squares
// from each step's charge. It returns nil if radii do not fall.
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

// overRadius returns a smoothed problem with another smoothing radius.
func overRadius(p optimize.Problem, radius float64) (optimize.Problem, error) {
	s := p.Smoothing
	s.Radius = radius
	return p.Smoothed(s)
}

// fall returns the problem and the size of each of T steps. from is the first radius, and edge the
// largest eigenvalue of the metric's noise.
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

// begin releases the mean squares that determine the first radius, sets the step sizes of the run and
// returns the smoothing of each step.
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

// start releases the mean squared slopes at w = 0, each record's clipped to at most most, and returns
// r_0.
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

// usual returns the problem and the law that forecasts use: the curvature at a usual radius, which
// steps meet during most of the run, and step sizes that are stable there.
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

// expected returns the forecast of the plan, at a usual radius if radii fall.
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
