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
	c, h, err = c.refined(r, f, h, schema, err)
	if b := p.planned.Base; err == nil && b != nil {
		at := c.rate(p.loss) // the constant follows from the hazards
		at.Charge = b.Charge
		p.planned.Base = &at
	}
	return c, h, err
}

// released releases the baseline hazard by the plan h and returns the schema with it. It calls refine with each schema
// of the rows about which the oracle is to answer from then on.
func (c *Config) released(ctx context.Context, o optimize.Oracle, h Hazards, p optimize.Problem, l loss.Loss,
	refine func(*dataset.Schema) error) (*dataset.Schema, error) {
	r := &hazardRelease{Config: c, Hazards: h, oracle: o, problem: p, loss: l, refine: refine, link: c.Schema.Target().Grouped}
	schema, err := r.ofAll(ctx)
	if err != nil || h.Pilot == 0 {
		return schema, err
	}
	fits := r.pilotFits()
	for range int(fits) {
		w, err := r.pilot(ctx, h.Pilot/fits)
		if err != nil || w == nil {
			return schema, err
		}
		if schema, err = r.ofBaseline(ctx, w, h.baseline/(fits*float64(c.cells()))); err != nil {
			return nil, err
		}
	}
	return schema, nil
}

// hazardRelease is the release of a baseline hazard by its plan.
type hazardRelease struct {
	*Config
	Hazards
	oracle  optimize.Oracle
	problem optimize.Problem
	loss    loss.Loss
	refine  func(*dataset.Schema) error
	link    string
	// events and observed are the released means of the events and of the observed share of each interval, whose noise
	// has the standard deviation sigma. all is the sum of events. hazards are the latest estimates.
	events, observed, hazards []float64
	sigma, all                float64
}

// ofAll releases the hazard of all records together.
func (r *hazardRelease) ofAll(ctx context.Context) (*dataset.Schema, error) {
	rate, k := r.marginal, r.cells()
	rate.Charge /= float64(k)
	if r.link == targetpair.Logit {
		rate.Loss = targetpair.WithOdds(r.loss, targetpair.Times{Cuts: []float64{1}}) // one interval at a time
	}
	r.events, r.observed = make([]float64, k), make([]float64, k)
	err := r.each(r.refine, func(j int) error {
		of, err := rate.Ask(ctx, r.oracle, r.problem)
		if err != nil {
			return err
		}
		r.events[j], r.observed[j], r.sigma = of.Sums[0], of.Sums[1], of.Sigma
		r.all += of.Sums[0]
		if d := r.events[j]; r.link == cloglog && d > 0 { // of d + o at risk d have the event: the hazard is ln(1 + d/o)
			r.observed[j] = d / math.Log1p(d/max(r.observed[j], r.sigma, 1/r.problem.Records))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.estimate(r.events, r.observed, r.sigma)
}

// estimate estimates the hazards from means of events and of the time at risk, and refines the rows to their schema.
func (r *hazardRelease) estimate(events, risked []float64, sigma float64) (*dataset.Schema, error) {
	r.hazards = r.increments(events, risked, sigma)
	schema, err := withHazards(r.Schema, r.hazards, r.errors(r.problem, events, risked, sigma))
	if err == nil {
		err = r.refine(schema)
	}
	return schema, err
}

// pilotFits returns the number of pilot fits, 1 or 2.
func (r *hazardRelease) pilotFits() float64 {
	steepest := 0.
	for j, e := range r.events {
		steepest = max(steepest, e/max(r.observed[j], r.sigma))
	}
	if r.all > manyEvents && steepest < mostHazard {
		return 2
	}
	return 1
}

// pilot returns the weights of a fit that is charged a number of mu^2; nil if the released numbers allow none.
func (r *hazardRelease) pilot(ctx context.Context, charge float64) ([]float64, error) {
	rate, share := r.marginal, min(max(r.all, r.sigma), 1)
	rate.Loss = r.loss
	base, ok := rate.AtRate(share / min(max(vector.Dot(r.hazards, r.observed), r.sigma), 1))
	if !ok {
		return nil, nil
	}
	base.Curvature = share
	p := r.problem
	p.Mu = math.Sqrt(charge)
	plan, _, err := r.Train.Plan(ctx, rate.Begin(p, base))
	if err != nil {
		return nil, nil // it is planned from public and released numbers
	}
	found, err := plan.Run(ctx, r.oracle, func(optimize.Step) {})
	return found.W, err
}

// ofBaseline releases the expected number of events of each interval at the weights w of a pilot fit, each number for
// the charge, and with them the baseline hazard.
func (r *hazardRelease) ofBaseline(ctx context.Context, w []float64, charge float64) (*dataset.Schema, error) {
	events, risked, noise := slices.Clone(r.events), slices.Clone(r.observed), r.sigma
	err := r.each(r.refine, func(j int) error {
		at := slices.Clone(w)
		at[len(at)-1] += math.Log(r.hazards[j]) / r.marginal.Intercept
		expected, s, err := r.expected(ctx, r.oracle, r.problem, at, charge, r.marginal.Intercept)
		noise = max(noise, s)
		events[j], risked[j] = r.ratio(j, expected, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.estimate(events, risked, noise)
}

// ratio returns two numbers whose ratio is the baseline hazard of interval j: of events and of the time at risk. The
// model expects a number of events in the interval, released with noise of standard deviation s.
func (r *hazardRelease) ratio(j int, expected, s float64) (events, risked float64) {
	events, risked = r.events[j], r.observed[j]
	switch r.link {
	case targetpair.Logit: // the odds change by the ratio of the odds of events and expected events
		least := max(s, 1/r.problem.Records)
		expected = max(expected+events, least)
		return events, risked * (expected / (max(events+risked-expected, least) * r.hazards[j]))
	case cloglog: // the sum of the curvature and the slope of an event
		if u := min(events/risked, 2); u > 1e-6 {
			missed := u / math.Expm1(u)
			events *= missed * (missed + u)
		}
	}
	return events, expected / r.hazards[j]
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
