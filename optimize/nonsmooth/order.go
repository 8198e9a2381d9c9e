package nonsmooth

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Order selects how a record's gradient of the smoothed loss is computed.
type Order uint8

const (
	// RuleOrder means FirstOrder for networks whose derivative jumps, and Exact for all other losses.
	RuleOrder Order = iota
	// Exact computes the gradient of the smoothed loss in closed form.
	Exact
	// FirstOrder averages the record's gradients at random points within the smoothing radius.
	FirstOrder
	// ZeroOrder estimates the gradient from the record's loss values at random points on the sphere whose
	// radius is the smoothing radius.
	ZeroOrder
)

var orders = [...]string{"", "exact", "first", "zero"}

func (o Order) String() string { return optimize.NameOf(orders[:], "order", uint8(o)) }

// UnmarshalText reads "exact", "first" or "zero". The empty name means RuleOrder. It returns an error for
// any other name.
func (o *Order) UnmarshalText(text []byte) error {
	return optimize.SetName(o, orders[:], "order", text)
}

// setName sets a setting of the given field to the value whose name in names is text.

// smooth returns the problem with the smoothed loss, whose gradients are computed as c.Order selects.
// It also sets, in the plan g, the clip norm of gradients and the ball to which gradient differences
// are clipped. It returns an error for the order exact on a network whose derivative jumps, and for
// more directions than [query.Pool] allows.
func (c O2NC) smooth(g *o2ncPlan, p optimize.Problem) (optimize.Problem, error) {
	alpha := c.Radius / 2
	if c.Order == Exact && p.Jumps {
		return p, errors.New("optimize: o2nc: order = exact: must be first or zero: a network's gradient has no " +
			"smoothing in closed form")
	}
	if c.Order == FirstOrder || c.Order == ZeroOrder || c.Order == RuleOrder && p.Jumps {
		s := query.Smoothing{Radius: alpha, By: query.Gradients, Directions: c.Directions, Seed: seed}
		if c.Order == ZeroOrder {
			s.By = query.Values
			g.clip *= 2
		}
		if most := query.Pool(p.Dim()); s.Directions > most {
			return p, fmt.Errorf("optimize: o2nc: directions = %d: must be at most %d in %d dimensions", s.Directions, most,
				p.Dim())
		}
		g.ball.Fraction = 1
		return p.Smoothed(s)
	}
	if p.Kinked != nil && !p.Smoothing.On() {
		return p.Smoothed(query.Smoothing{Radius: alpha})
	}
	return p, p.Validate()
}

// seed is the public seed of the random directions along which a loss is smoothed. Each point has its
// own directions (see [query.Directions]).
const seed = 2024

// directions returns the default number m of random directions for a record's gradient. With FirstOrder, a
// move of length D crosses a jump of the derivative for a share sqrt(d) D/alpha of the sampled gradients,
// where alpha is the smoothing radius. m is chosen so that about 4 of the m gradients change. With the
// oracle fresh, m is 1. With ZeroOrder m is d: about d pairs of loss values are needed to estimate a
// gradient's norm.
func (g *o2ncPlan) directions(by query.Smoother, alpha float64, d int) int {
	m := 1.
	switch {
	case by == query.Values:
		m = float64(d)
	case g.oracle != Fresh:
		m = math.Ceil(4 * alpha / (math.Sqrt(float64(d)) * g.D))
	}
	return int(min(max(m, 1), float64(query.Pool(d))))
}

// difference returns the query term for the gradient difference of the smoothed loss between z and
// prev, over the records of c. With FirstOrder and ZeroOrder each record's difference is clipped to a
// ball around zero, whose radius is the largest change that the smoothed gradient can have.
func (g *o2ncPlan) difference(p optimize.Problem, c query.Cohort, z, prev []float64) query.Term {
	if !p.Smoothing.Sampled() {
		return g.ball.Difference(p, c, z, prev)
	}
	t := query.DifferenceWithin(c, z, prev, 0)
	return query.DifferenceWithin(c, z, prev, min(g.ball.Slope(p)*t.Distance(), 2*g.clip))
}

// asked describes in words, for the plan's summary, at how many random points a record's loss is
// evaluated.
func asked(s query.Smoothing) string {
	switch {
	case !s.Sampled():
		return ""
	case s.By == query.Values:
		return fmt.Sprintf(", by values at %d pairs of points around each", s.Directions)
	}
	return fmt.Sprintf(", by gradients at %d points around each", s.Directions)
}

// each returns how many gradients, or pairs of loss values, are computed for one smoothed gradient of
// a record.
func each(s query.Smoothing) float64 {
	if s.Sampled() {
		return float64(s.Directions)
	}
	return 1
}
