package train

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Shares of the budget by which a fit of the time to an event releases its baseline hazard: that of all records
// together, that of a record of margin 0, and the pilot fit, whose margins the second needs.
const marginalShare, baselineShare, pilotShare = .05, .02, .13

// leastPiloted is the size n mu of a table, over the number of weights, from which on a fit of the time to an event
// makes a pilot fit (lab/results/survival.md).
const leastPiloted = 200

// Hazards is the plan of the release of the baseline hazard of a fit of the time to an event. For each interval of
// the time it releases the mean number of events in the interval, and the mean share of the interval for which records
// were observed: their ratio is the hazard of all records together. Records with a large risk leave early, so that this
// hazard falls where that of each record is constant, and effects would be too small with it. A pilot fit therefore
// follows. The ratio of the events and the number that the pilot's model expects in the interval is the baseline hazard
// (Breslow 1974).
//
// Each query is one about rows of a schema whose hazard is 0 outside of an interval: an event where the hazard is 0
// does not count. With a column whose hazard ratios change, an interval is one of one level of the column: the hazard is
// 0 for records of other levels. Events and observed shares are queries of a base rate (optimize.BaseRate). Expected
// numbers of events are second derivatives of the loss along the intercept; with logit hazards the mean slope along it is
// released in their place (ValueChange). Where most records have an event there are two pilot fits, one after the other.
type Hazards struct {
	// Charge is the total charge of all releases, in units of mu^2, and Pilot the part of it for the pilot fit; 0 if
	// there is none.
	Charge, Pilot float64
	marginal      optimize.BaseRate
	baseline      float64 // charge
}

// hazards returns the plan of the release of the baseline hazard, and the problem with the budget that remains. The
// plan is nil if the target is not the time to an event, or if it has one interval only.
func (c *Config) hazards(p optimize.Problem, l loss.Loss) (*Hazards, optimize.Problem, error) {
	t := c.Schema.Target()
	if t.Event == "" || len(t.Cuts) < 2 {
		return nil, p, nil
	}
	h := &Hazards{marginal: c.rate(l)}
	whole := p.Budget.Charge()
	h.marginal.Charge = marginalShare * whole
	if sizeOf(p.Budget, p.Records) >= leastPiloted*float64(p.Dim()) {
		h.Pilot, h.baseline = pilotShare*whole, baselineShare*whole
	}
	h.Charge = h.marginal.Charge + h.Pilot + h.baseline
	if !h.marginal.Possible(p.Relation) {
		return nil, p, errors.New("model: the time to an event needs rows with an intercept, and a loss of counts")
	}
	if left := 1 - h.Charge/(p.Mu*p.Mu); !(left > 0) {
		return nil, p, errors.New("train: with the shares of the other releases no budget is left for the baseline hazard")
	}
	return h, c.without(p, h.Charge), nil
}

// Workload says which queries the releases make, without those of the pilot fit, for a number of intervals.
func (h Hazards) Workload(p optimize.Problem, intervals int) (w optimize.Workload) {
	for range intervals {
		w = w.Plus(h.marginal.Workload(p.Relation))
	}
	if h.Pilot > 0 {
		w = w.Count(query.CurvatureAlong, float64(intervals), 1)
	}
	return w
}

// hazarded returns the configuration and the head of a fit with the released baseline hazard, which it writes to the
// log.
func (c *Config) hazarded(ctx context.Context, r *recorder, p *prepared, f *Fitted, h Header) (*Config, Header, error) {
	schema, err := c.released(ctx, r, *p.planned.Hazards, p.start, p.loss, r.session.Refine)
	if err == nil {
		err = r.refined(schema)
	}
	if err != nil {
		return c, h, err
	}
	f.Schema, h.Schema = schema, schema
	c = c.of(schema)
	if b := p.planned.Base; b != nil {
		at := c.rate(p.loss) // the constant follows from the hazards
		at.Charge = b.Charge
		p.planned.Base = &at
	}
	return c, h, nil
}

// released releases the baseline hazard by the plan h and returns the schema with it. It calls refine with each schema
// of the rows about which the oracle is to answer from then on.
func (c *Config) released(ctx context.Context, o optimize.Oracle, h Hazards, p optimize.Problem, l loss.Loss,
	refine func(*dataset.Schema) error) (*dataset.Schema, error) {
	rate, k := h.marginal, c.cells()
	rate.Charge /= float64(k)
	link := c.Schema.Target().Grouped
	if link == targetpair.Logit {
		rate.Loss = withOdds(l, dataset.Target{Event: "one interval at a time", Cuts: []float64{1}})
	}
	events, observed := make([]float64, k), make([]float64, k)
	sigma, all := 0., 0.
	err := c.each(refine, func(j int) error {
		of, err := rate.Ask(ctx, o, p)
		if err == nil {
			events[j], observed[j], sigma = of.Sums[0], of.Sums[1], of.Sigma
			all += of.Sums[0]
			if d := events[j]; link == cloglog && d > 0 { // of d + o at risk d have the event: the hazard is ln(1 + d/o)
				observed[j] = d / math.Log1p(d/max(observed[j], sigma, 1/p.Records))
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	hazards := c.increments(events, observed, sigma)
	schema, err := withHazards(c.Schema, hazards, c.errors(p, events, observed, sigma))
	if err == nil {
		err = refine(schema)
	}
	rounds, steepest := 1., 0.
	for j, e := range events {
		steepest = max(steepest, e/max(observed[j], sigma))
	}
	if all > manyEvents && steepest < mostHazard {
		rounds = 2
	}
	rate.Loss = l
	for range int(rounds) {
		if err != nil || h.Pilot == 0 {
			return schema, err
		}
		time := vector.Dot(hazards, observed)
		share := min(max(all, sigma), 1)
		base, ok := rate.AtRate(share / min(max(time, sigma), 1))
		if !ok {
			return schema, nil
		}
		base.Curvature = share
		pilot := p
		pilot.Mu = math.Sqrt(h.Pilot / rounds)
		plan, _, err := c.Train.Plan(ctx, rate.Begin(pilot, base))
		if err != nil {
			return schema, nil // it is planned from public and released numbers
		}
		found, err := plan.Run(ctx, o, func(optimize.Step) {})
		if err != nil {
			return nil, err
		}
		happened, risked, noise := slices.Clone(events), slices.Clone(observed), sigma
		err = c.each(refine, func(j int) error {
			w := slices.Clone(found.W)
			w[len(w)-1] += math.Log(hazards[j]) / rate.Intercept
			expected, s, err := c.expected(ctx, o, p, w, h.baseline/(rounds*float64(k)), rate.Intercept)
			switch noise = max(noise, s); link {
			case targetpair.Logit: // the odds change by the ratio of the odds of events and expected events
				least := max(s, 1/p.Records)
				expected = max(expected+events[j], least)
				risked[j] *= expected / (max(events[j]+observed[j]-expected, least) * hazards[j])
			case cloglog: // the sum of the curvature and the slope of an event
				if u := min(events[j]/observed[j], 2); u > 1e-6 {
					missed := u / math.Expm1(u)
					happened[j] *= missed * (missed + u)
				}
				fallthrough
			default:
				risked[j] = expected / hazards[j]
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		hazards = c.increments(happened, risked, noise)
		if schema, err = withHazards(c.Schema, hazards, c.errors(p, happened, risked, noise)); err == nil {
			err = refine(schema)
		}
		if err != nil {
			return nil, err
		}
	}
	return schema, nil
}

// manyEvents is the share of records with an event above which the budget of the pilot fit is divided between two.
// After one the baseline hazard has up to a third of the fall of that of all records (lab/results/survival.md).
const manyEvents = .45

// mostHazard is the hazard or the odds of an interval from which on there is one pilot fit: where nearly all at risk have
// the event, such as where observation never reaches the end of an interval, a second would let the estimate run off.
const mostHazard = 1.5

// cloglog is the link of grouped times by default (dataset.Target.Grouped).
const cloglog = "cloglog"

// halfStep is half of the distance of the margins whose mean change of loss gives the mean slope.
const halfStep = .125

// expected releases the mean expected number of events of a record in the one interval that counts, at the parameters w,
// with the standard deviation of the noise. With logit hazards it is less the mean number of events: the slope of the
// loss, which is in [-1, 1].
func (c *Config) expected(ctx context.Context, o optimize.Oracle, p optimize.Problem, w []float64, charge, intercept float64) (mean, sigma float64,
	err error) {
	last, unit := len(w)-1, intercept*intercept
	v, least := make([]float64, len(w)), 0.
	v[last] = 1
	if p.Relation == account.AddOrRemove {
		least = -mostExpected // around 0, as for a base rate: records that the table lacks count 0
	}
	term := query.CurvatureAlongAt(o.All(), w, v, least*unit, mostExpected*unit)
	if c.Schema.Target().Grouped == targetpair.Logit {
		unit = 2 * halfStep
		copy(v, w)
		v[last] -= halfStep / intercept
		w[last] += halfStep / intercept
		term = query.ValueChangeWithin(o.All(), w, v, 0, unit)
	}
	q, err := query.New(charge, term)
	if err != nil {
		return 0, 0, err
	}
	released, err := o.Ask(ctx, q)
	if err != nil {
		return 0, 0, err
	}
	return released.Mean[0] / unit, released.Sigma / unit, nil
}

// mostExpected is the largest expected number of events of a record in an interval that the release of the baseline
// hazard counts: larger ones count as this number.
const mostExpected = 1

// each calls ask for each interval of the time, after the rows were refined to those of the schema whose hazard is 0
// outside of the interval.
func (c *Config) each(refine func(*dataset.Schema) error, ask func(interval int) error) error {
	for j := range c.cells() {
		only := make([]float64, c.cells())
		only[j] = 1
		schema, err := withHazards(c.Schema, only, nil)
		if err == nil {
			err = refine(schema)
		}
		if err == nil {
			err = ask(j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// increments returns the integrals of the hazard over intervals, with sum 1, from released means of the events and of
// the observed share of each interval, or of its sum over records weighted by their hazard ratios, whose noise has the
// standard deviation sigma. To each interval it adds as many events as two standard deviations of the noise, at the
// hazard of all intervals together: a hazard that noise would make negative or infinite is near the mean hazard then.
func increments(events, observed []float64, sigma float64) []float64 {
	const prior = 2
	var all, time float64
	for j := range events {
		all, time = all+events[j], time+observed[j]
	}
	mean := max(all, sigma) / max(time, sigma)
	out, sum := make([]float64, len(events)), 0.
	for j := range out {
		more := prior * sigma
		out[j] = (max(events[j], 0) + more) / (max(observed[j], 0) + more/mean)
		sum += out[j]
	}
	for j := range out {
		if out[j] /= sum; math.IsNaN(out[j]) {
			out[j] = 1 / float64(len(out)) // without noise and without events
		}
	}
	return out
}

// cells returns the number of hazards of the target: one for each interval of each level of the changing column.
func (c *Config) cells() int {
	t := c.Schema.Target()
	for _, column := range c.Schema.Columns() {
		if t.Changing != "" && column.Name == t.Changing {
			return len(column.Categories) * len(t.Cuts)
		}
	}
	return len(t.Cuts)
}

// increments returns the integrals of the hazard of each level, with sum 1.
func (c *Config) increments(events, observed []float64, sigma float64) (out []float64) {
	k := len(c.Schema.Target().Cuts)
	for j := 0; j < len(events); j += k {
		out = append(out, increments(events[j:j+k], observed[j:j+k], sigma)...)
	}
	return out
}

// errors returns the standard errors of the logarithms of hazards: of the sampling of events (Poisson), and of the noise
// in events and in what they are divided by.
func (c *Config) errors(p optimize.Problem, events, observed []float64, sigma float64) (out []float64) {
	for j, e := range events {
		e = max(e, sigma, 1/p.Records)
		out = append(out, math.Sqrt(1/(e*p.Records)+sigma*sigma*(1/(e*e)+1/math.Pow(max(observed[j], sigma, 1/p.Records), 2))))
	}
	return out
}

// withHazards returns the schema with another baseline hazard of its target, of which each level has the sum 1.
func withHazards(s *dataset.Schema, hazards, errors []float64) (*dataset.Schema, error) {
	t := s.Target()
	t.Hazards, t.HazardErrors = slices.Clone(hazards), errors
	vector.Divide(t.Hazards, vector.Total(hazards))
	changed, err := dataset.New(definition(s, s.Columns(), t))
	if e, ok := s.Effects(); ok && err == nil {
		return changed.WithEffects(e)
	}
	return changed, err
}
