package optimizetest

import (
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// sampleBit is a bit that is set in the identifiers of Poisson samples, and not set in the identifiers of
// cohorts.
const sampleBit = 1 << 63

// Follow binds the oracle to a schedule of Poisson samples. It must be called before the first query.
func (o *Oracle) Follow(s *account.Schedule) error {
	if err := o.ledger.Follow(s); err != nil {
		return err
	}
	o.schedule = s
	return nil
}

// Sample draws the schedule's next Poisson sample. One query may be made on it, and its answer has the schedule's
// noise. Sample returns an error if the oracle follows no schedule or the schedule has no further step.
func (o *Oracle) Sample() (query.Cohort, error) {
	if o.schedule == nil {
		return query.Cohort{}, errors.New("optimizetest: sample: the oracle follows no schedule")
	}
	if o.samples >= o.schedule.Len() {
		return query.Cohort{}, &account.BudgetError{Want: 1}
	}
	_, p := o.schedule.Step(o.samples)
	o.samples++
	o.sample = nil
	for i := range o.config.Rows {
		if o.noise.Float64() < p {
			o.sample = append(o.sample, i)
		}
	}
	o.latest = query.NewCohort(sampleBit|uint64(o.samples), p*o.All().Size())
	return o.latest, nil
}

// sampled returns the members of the latest sample and the event of a query on it. It returns an error for
// a query on an earlier sample, and for a second query on the latest sample.
func (o *Oracle) sampled(q query.Question) ([]int, account.Event, error) {
	if q.Cohort() != o.latest {
		return nil, account.Event{}, fmt.Errorf("optimizetest: sample %d: must be the latest, asked once",
			q.Cohort().ID()&^sampleBit)
	}
	o.latest = query.Cohort{}
	z, p := o.schedule.Step(o.samples - 1)
	e, err := account.SampledEvent(q.Name(), p, q.Clip(), z*q.Clip()*(1+0x1p-50))
	return o.sample, e, err
}
