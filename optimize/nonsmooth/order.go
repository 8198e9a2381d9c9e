package nonsmooth

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Order says what of a record's loss is looked at.
type Order uint8

const (
	// RuleOrder is Exact, or FirstOrder where that is not to be had.
	RuleOrder Order = iota
	// Exact is the gradient of the smoothed loss in closed form.
	Exact
	// FirstOrder is gradients at points around.
	FirstOrder
	// ZeroOrder is values alone.
	ZeroOrder
)

var orders = [...]string{"", "exact", "first", "zero"}

func (o Order) String() string { return optimize.NameOf(orders[:], "order", uint8(o)) }

// UnmarshalText reads "exact", "first" or "zero"; the empty name is RuleOrder.
func (o *Order) UnmarshalText(text []byte) error {
	i, err := optimize.ParseName(orders[:], "order", string(text))
	*o = Order(i)
	return err
}

// smooth returns the problem of f_alpha as its gradients are asked for, and settles what
// they are clipped at.
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

// seed is the public seed of directions. Whatever it is, each point has directions of its
// own (query.Directions).
const seed = 2024

// directions is the rule for m. Of a record's m gradients around a point and around
// another at distance D, sqrt(d) D/alpha is the share in which a slope's jump lies between
// the two: fewer than 4 over that often tell no difference. Of values it takes about d to
// know a gradient's norm.
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

// difference asks for one between z and prev. By directions it is an estimate, clipped
// around zero to what the smoothed gradient can move by.
func (g *o2ncPlan) difference(p optimize.Problem, c query.Cohort, z, prev []float64) query.Term {
	if !p.Smoothing.Sampled() {
		return g.ball.Difference(p, c, z, prev)
	}
	t := query.DifferenceWithin(c, z, prev, 0)
	return query.DifferenceWithin(c, z, prev, min(g.ball.Slope(p)*t.Distance(), 2*g.clip))
}

// asked says in words what is asked of a record by directions.
func asked(s query.Smoothing) string {
	switch {
	case !s.Sampled():
		return ""
	case s.By == query.Values:
		return fmt.Sprintf(", by values at %d pairs of points around each", s.Directions)
	}
	return fmt.Sprintf(", by gradients at %d points around each", s.Directions)
}

// each is how many gradients, or pairs of values, are worked out for one.
func each(s query.Smoothing) float64 {
	if s.Sampled() {
		return float64(s.Directions)
	}
	return 1
}
