package nonsmooth

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

const (
	// lookShare is the share of the budget that pays for the look, the private choice of the result among
	// averages. With the oracle single-pass it is the share of the records that are held out for the look.
	lookShare = .1
	// mostLooks is the largest number of averages among which a look chooses. It bounds time and memory: each
	// average costs a pass over the records and memory for d numbers.
	mostLooks = 1000
)

// reserve sets, in the plan g, the look's charge and the number of records held out for the look. It
// returns the problem with the budget or the records that are left to the run's steps. Without a look it
// returns p unchanged. It returns an error if no records would be left.
func (g *o2ncPlan) reserve(c O2NC, p optimize.Problem) (rest optimize.Problem, err error) {
	if rest = p; c.Look == 0 {
		return rest, nil
	}
	mu := p.Mu
	if c.Oracle == SinglePass {
		g.held = p.Held(lookShare)
		if rest.Records -= g.held; !(rest.Records > 0) {
			return rest, fmt.Errorf("optimize: o2nc: look = %d: must leave some of the %v records", c.Look, p.Records)
		}
	} else {
		mu, rest.Mu = mu*math.Sqrt(lookShare), mu*math.Sqrt(1-lookShare)
	}
	g.look, err = optimize.NewNormSelection(mu)
	return rest, err
}

// stretch is the range of steps from, ..., end-1 (counted from 0) whose points z are averaged.
type stretch struct{ from, end int }

// outputs sets the plan's candidates, the stretches of steps whose averages may become the result, and describes them
// for the plan's summary. Random blocks are drawn before the run, so that they do not depend on records.
func (g *o2ncPlan) outputs(c O2NC, p optimize.Problem) string {
	most := max(c.Look, 1)
	if !c.Theorem {
		g.candidates = g.halves(most)
		if c.Look == 0 {
			return "average of the second half of the points asked about"
		}
		return fmt.Sprintf("looked at: average of the last 1/2 to 1/%d of the points asked about, chosen by its smoothed "+
			"gradient",
			1<<len(g.candidates))
	}
	blocks := max(g.T/g.M, 1)
	coins := p.PublicCoins(0xb10c, 0)
	for len(g.candidates) < min(most, blocks) {
		first := coins.IntN(blocks) * g.M
		if s := (stretch{first, first + g.M}); !slices.Contains(g.candidates, s) {
			g.candidates = append(g.candidates, s)
		}
	}
	if c.Look == 0 {
		return fmt.Sprintf("random: average over block %d of %d, of %d steps, drawn before the first answer, and at most "+
			"%.3g from the start", g.candidates[0].from/g.M+1, blocks, g.M, float64(g.candidates[0].end)*g.D)
	}
	return fmt.Sprintf("looked at: average over a block of %d steps, chosen by its smoothed gradient among %d of %d "+
		"blocks, drawn before the first answer",
		g.M, len(g.candidates), blocks)
}

// halves returns the last 1/2, 1/4, 1/8, ... of the steps: at most the given number of stretches, and after
// the first only stretches of at least g.M steps.
func (g *o2ncPlan) halves(most int) (list []stretch) {
	for size := g.T - ((g.T+1)/2 - 1); len(list) < most && (len(list) == 0 || size >= g.M); size /= 2 {
		list = append(list, stretch{g.T - size, g.T})
	}
	return list
}

// looks returns the number of passes over all records that the look takes.
func (g *o2ncPlan) looks(p optimize.Problem) float64 {
	if g.look == (optimize.NormSelection{}) {
		return 0
	}
	return each(p.Smoothing) * g.norms() * g.seen(p)
}

// norms returns the number of norms that the look computes: one for each candidate, and once more the norm that is
// released. A single candidate is not chosen.
func (g *o2ncPlan) norms() float64 {
	if k := len(g.candidates); k > 1 {
		return float64(k + 1)
	}
	return 1
}

// seen returns the share of all records at which the look looks.
func (g *o2ncPlan) seen(p optimize.Problem) float64 {
	if g.held > 0 {
		return g.held / p.Records
	}
	return 1
}

// price states, for the plan's summary, the charge of the look and the records it uses. It is empty if
// there is no look.
func (g *o2ncPlan) price(p optimize.Problem) string {
	if g.look == (optimize.NormSelection{}) {
		return ""
	}
	where := "all records"
	if g.held > 0 {
		where = fmt.Sprintf("%.6g records held out", g.held)
	}
	price := fmt.Sprintf("; %.3g of mu^2 to a look on %s", g.look.Charge()/(p.Mu*p.Mu), where)
	if k := len(g.candidates); k > 1 {
		return price + fmt.Sprintf(": half to a draw among %d averages, epsilon %.3g, half to the norm at the one drawn", k,
			g.look.Epsilon())
	}
	return price
}

// averages has the sums of the points of several stretches of steps.
type averages []average

// average is the mean of the points z of a stretch of steps.
type average struct {
	stretch
	vector.Mean
}

func newAverages(list []stretch) averages {
	return vector.Map(list, func(s stretch) average { return average{stretch: s} })
}

// add adds the point z of step t to each average whose stretch contains step t.
func (a averages) add(t int, z []float64) {
	for i := range a {
		if s := &a[i]; s.from <= t && t < s.end {
			s.Add(1, z)
		}
	}
}

// choose makes the look at the end of a run: it privately chooses one of the averages by the norm of the
// smoothed loss's gradient, and returns this average. The look uses the records in held, or all records if
// g.held is 0. If it fails, choose returns the first average, marked as not complete, and an error.
func (g *o2ncPlan) choose(run *optimize.Run, held query.Cohort, kept averages) (optimize.Result, error) {
	if g.held == 0 {
		held = run.All()
	}
	points := vector.Make(len(kept), func(i int) []float64 { return kept[i].Or(run.W) })
	k, found, err := g.look.Choose(run, held, g.clip, points)
	if err != nil {
		return run.ResultAt(points[0], false), run.Failed(err)
	}
	r := run.ResultAt(points[k], true)
	r.SelectedNorm, r.Trace = found, r.Trace.ChosenAmong(len(points))
	r.Output = fmt.Sprintf("looked at: average over steps %d to %d, chosen by its smoothed gradient among %d averages",
		kept[k].from+1, kept[k].end, len(points))
	return r, nil
}

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

// smooth returns the problem with the smoothed loss, whose gradients are computed as c.Order selects. It also sets, in
// the plan g, the clip norm of gradients and the ball to which gradient differences are clipped. It returns an error
// for the order exact on a network whose derivative jumps, and for more directions than [query.Pool] allows.
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

// directions returns the default number m of random directions for a record's gradient. With FirstOrder, a move of
// length D crosses a jump of the derivative for a share sqrt(d) D/alpha of the sampled gradients, where alpha is the
// smoothing radius. m is chosen so that about 4 of the m gradients change. With the oracle fresh, m is 1. With
// ZeroOrder m is d: about d pairs of loss values are needed to estimate a gradient's norm.
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
