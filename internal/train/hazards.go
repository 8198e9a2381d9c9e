package train

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
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
// numbers of events are second derivatives of the loss along the intercept.
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
	return c.of(schema), h, nil
}

// released releases the baseline hazard by the plan h and returns the schema with it. It calls refine with each schema
// of the rows about which the oracle is to answer from then on.
func (c *Config) released(ctx context.Context, o optimize.Oracle, h Hazards, p optimize.Problem, l loss.Loss,
	refine func(*dataset.Schema) error) (*dataset.Schema, error) {
	rate, k := h.marginal, c.cells()
	rate.Charge /= float64(k)
	events, observed := make([]float64, k), make([]float64, k)
	sigma, all, grouped := 0., 0., c.Schema.Target().Grouped
	err := c.each(refine, func(j int) error {
		of, err := rate.Ask(ctx, o, p)
		if err == nil {
			events[j], observed[j], sigma = of.Sums[0], of.Sums[1], of.Sigma
			all += of.Sums[0]
			if d := events[j]; grouped && d > 0 { // of d + o at risk d have the event: the hazard is ln(1 + d/o)
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
	if err != nil || h.Pilot == 0 {
		return schema, err
	}
	time := 0.
	for j, v := range hazards {
		time += v * observed[j]
	}
	all = min(max(all, sigma), 1)
	base, ok := rate.AtRate(all / min(max(time, sigma), 1))
	if !ok {
		return schema, nil
	}
	base.Curvature = all
	pilot := p
	pilot.Mu = math.Sqrt(h.Pilot)
	plan, _, err := c.Train.Plan(ctx, rate.Begin(pilot, base))
	if err != nil {
		return schema, nil // it is planned from public and released numbers
	}
	found, err := plan.Run(ctx, o, func(optimize.Step) {})
	if err != nil {
		return nil, err
	}
	one, least := 1/rate.Intercept, 0.
	if p.Relation == account.AddOrRemove {
		least = -mostExpected // around 0, as for a base rate: records that the table lacks count 0
	}
	err = c.each(refine, func(j int) error {
		w, v := slices.Clone(found.W), make([]float64, len(found.W))
		last := len(w) - 1
		w[last] += math.Log(hazards[j]) * one
		v[last] = 1
		q, err := query.New(h.baseline/float64(k), query.CurvatureAlongAt(o.All(), w, v, least/(one*one), mostExpected/(one*one)))
		if err != nil {
			return err
		}
		released, err := o.Ask(ctx, q)
		if err == nil {
			if u := min(events[j]/observed[j], 2); grouped && u > 1e-6 { // the sum of the curvature and the slope of an event
				missed := u / math.Expm1(u)
				events[j] *= missed * (missed + u)
			}
			observed[j] = released.Mean[0] * one * one / hazards[j]
			sigma = max(sigma, released.Sigma*one*one)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	schema, err = withHazards(c.Schema, c.increments(events, observed, sigma), c.errors(p, events, observed, sigma))
	if err == nil {
		err = refine(schema)
	}
	return schema, err
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
// in events and in what they are divided by. It is nil if there is no changing column.
func (c *Config) errors(p optimize.Problem, events, observed []float64, sigma float64) (out []float64) {
	if c.Schema.Target().Changing == "" {
		return nil
	}
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
	sum := 0.
	for _, h := range hazards {
		sum += h
	}
	for j := range t.Hazards {
		t.Hazards[j] /= sum
	}
	changed, err := dataset.New(definition(s, s.Columns(), t))
	if e, ok := s.Effects(); ok && err == nil {
		return changed.WithEffects(e)
	}
	return changed, err
}
