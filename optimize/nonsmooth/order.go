package nonsmooth

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Order says how a record's gradient of the smoothed loss is computed.
type Order uint8

const (
	// RuleOrder is Exact if the smoothed loss has a closed form, else FirstOrder.
	RuleOrder Order = iota
	// Exact computes the gradient of the smoothed loss in closed form.
	Exact
	// FirstOrder averages gradients at points around.
	FirstOrder
	// ZeroOrder uses loss values at points around, and no gradients.
	ZeroOrder
)

var orders = [...]string{"", "exact", "first", "zero"}

func (o Order) String() string { return optimize.NameOf(orders[:], "order", uint8(o)) }

// UnmarshalText reads "exact", "first" or "zero"; the empty name is RuleOrder. It returns an error
// for any other name.
func (o *Order) UnmarshalText(text []byte) error {
	i, err := optimize.ParseName(orders[:], "order", string(text))
	*o = Order(i)
	return err
}

// smooth returns the problem with the loss f_alpha, computed as Order says, and sets the clip norm
// and the ball of differences. It returns an error for order exact on a network with jumps, and for
// more directions than [query.Pool] has.
func (c O2NC) smooth(g *o2ncPlan, p optimize.Problem) (optimize.Problem, error) {
	alpha := c.Radius / 2
	if c.Order == Exact && p.Jumps {
		return p, errors.New("optimize: o2nc: order = exact: must be first or zero: a network's gradient has no smoothing in closed form")
	}
	if c.Order == FirstOrder || c.Order == ZeroOrder || c.Order == RuleOrder && p.Jumps {
		s := query.Smoothing{Radius: alpha, By: query.Gradients, Directions: c.Directions, Seed: seed}
		if c.Order == ZeroOrder {
			s.By = query.Values
			g.clip *= 2
		}
		if most := query.Pool(p.Dim()); s.Directions > most {
			return p, fmt.Errorf("optimize: o2nc: directions = %d: must be at most %d in %d dimensions", s.Directions, most, p.Dim())
		}
		g.ball.Fraction = 1
		return p.Smoothed(s)
	}
	if p.Kinked != nil && !p.Smoothing.On() {
		return p.Smoothed(query.Smoothing{Radius: alpha})
	}
	return p, p.Validate()
}

// seed is the public seed of directions. Each point has its own directions under every seed (see
// [query.Directions]).
const seed = 2024

// directions is the rule for m. For FirstOrder: a jump of the slope separates two points at
// distance D for a share sqrt(d) D/alpha of the sampled gradients, and m is chosen so that about 4
// gradients see it. For ZeroOrder about d values are needed to estimate a gradient's norm.
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

// difference returns the query for the gradient difference between z and prev. For FirstOrder and
// ZeroOrder it is clipped around zero, to the largest change that the smoothed gradient can have.
func (g *o2ncPlan) difference(p optimize.Problem, c query.Cohort, z, prev []float64) query.Term {
	if !p.Smoothing.Sampled() {
		return g.ball.Difference(p, c, z, prev)
	}
	t := query.DifferenceWithin(c, z, prev, 0)
	return query.DifferenceWithin(c, z, prev, min(g.ball.Slope(p)*t.Distance(), 2*g.clip))
}

// asked describes, for the plan's citation, how many points around are evaluated for a record.
func asked(s query.Smoothing) string {
	switch {
	case !s.Sampled():
		return ""
	case s.By == query.Values:
		return fmt.Sprintf(", by values at %d pairs of points around each", s.Directions)
	}
	return fmt.Sprintf(", by gradients at %d points around each", s.Directions)
}

// each returns the number of gradients, or of pairs of values, computed for one gradient estimate
// of a record.
func each(s query.Smoothing) float64 {
	if s.Sampled() {
		return float64(s.Directions)
	}
	return 1
}
