package train

import (
	"context"
	"errors"
	"math"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// HazardShare is the share of the budget by which a fit of the time to an event releases its baseline hazard.
const HazardShare = .06

// Hazards is the plan of the release of the baseline hazard of a fit of the time to an event. For each interval of
// the time it releases the mean number of events in the interval, and the mean share of the interval for which records
// were observed. The queries are those of a base rate (optimize.BaseRate), about rows of a schema whose hazard is 0
// outside of the interval: an event where the hazard is 0 does not count.
type Hazards struct {
	// Charge is the total charge of all releases, in units of mu^2.
	Charge float64
	// Rate is the base rate, without a charge.
	Rate optimize.BaseRate
}

// hazards returns the plan of the release of the baseline hazard, and the problem with the budget that remains. The plan
// is nil if the target is not the time to an event, or if it has one interval only.
func (c *Config) hazards(p optimize.Problem, l loss.Loss) (*Hazards, optimize.Problem, error) {
	t := c.Schema.Target()
	if t.Event == "" || len(t.Cuts) < 2 {
		return nil, p, nil
	}
	h := &Hazards{Charge: HazardShare * p.Budget.Charge(), Rate: c.rate(l)}
	if !h.Rate.Possible(p.Relation) {
		return nil, p, errors.New("model: the time to an event needs rows with an intercept, and a loss of counts")
	}
	if left := 1 - h.Charge/(p.Mu*p.Mu); !(left > 0) {
		return nil, p, errors.New("train: with the shares of the other releases no budget is left for the baseline hazard")
	}
	return h, c.without(p, h.Charge), nil
}

// Workload says which queries Run makes, for a number of intervals.
func (h Hazards) Workload(p optimize.Problem, intervals int) (w optimize.Workload) {
	for range intervals {
		w = w.Plus(h.Rate.Workload(p.Relation))
	}
	return w
}

// Run releases the baseline hazard and returns the schema with it. It calls refine with each schema of the rows about
// which the oracle is to answer from then on.
func (h Hazards) Run(ctx context.Context, o optimize.Oracle, p optimize.Problem, base *dataset.Schema,
	refine func(*dataset.Schema) error) (*dataset.Schema, error) {
	k := len(base.Target().Cuts)
	rate := h.Rate
	rate.Charge = h.Charge / float64(k)
	events, observed := make([]float64, k), make([]float64, k)
	sigma := 0.
	for j := range k {
		only := make([]float64, k)
		only[j] = 1
		schema, err := withHazards(base, only)
		if err == nil {
			err = refine(schema)
		}
		if err != nil {
			return nil, err
		}
		released, err := rate.Ask(ctx, o, p)
		if err != nil {
			return nil, err
		}
		events[j], observed[j], sigma = released.Sums[0], released.Sums[1], released.Sigma
	}
	schema, err := withHazards(base, increments(events, observed, sigma))
	if err == nil {
		err = refine(schema)
	}
	return schema, err
}

// increments returns the integrals of the hazard over intervals, with sum 1, from released means of the events and
// of the observed share of each interval, whose noise has the standard deviation sigma. To each interval it adds as many
// events as two standard deviations of the noise, at the hazard of all intervals together: a hazard that noise would
// make negative or infinite is near the mean hazard then.
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

// withHazards returns the schema with another baseline hazard of its target.
func withHazards(s *dataset.Schema, hazards []float64) (*dataset.Schema, error) {
	t := s.Target()
	t.Hazards = hazards
	changed, err := dataset.New(definition(s, s.Columns(), t))
	if e, ok := s.Effects(); ok && err == nil {
		return changed.WithEffects(e)
	}
	return changed, err
}

// hazarded returns the configuration and the head of a fit with the released baseline hazard, which it writes to the log.
func (c *Config) hazarded(ctx context.Context, r *recorder, p *prepared, f *Fitted, h Header) (*Config, Header, error) {
	schema, err := p.planned.Hazards.Run(ctx, r, p.start, c.Schema, r.session.Refine)
	if err == nil {
		err = r.refined(schema)
	}
	if err != nil {
		return c, h, err
	}
	f.Schema, h.Schema = schema, schema
	return c.of(schema), h, nil
}
