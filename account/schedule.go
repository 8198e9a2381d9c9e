package account

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/memo"
)

// SampledSteps describes equal releases over fresh Poisson samples.
type SampledSteps = mechanism.SampledSteps

// Schedule is a sequence of sampled releases that is fixed before the first one. Amplification by
// sampling requires this, because no lossless privacy filter is known for sampled releases. A
// session draws its samples with the probabilities of the schedule, and its ledger admits events by
// the same schedule. The sampler and the accountant can therefore not disagree.
//
// A Schedule is one pointer to immutable content. A copy of a Schedule keeps its content, even if another Schedule is
// assigned to the original later or at the same time. The zero Schedule has no steps.
type Schedule struct {
	fixed *fixed
}

// fixed is the immutable content of a schedule.
type fixed struct {
	budget  Budget
	steps   []SampledSteps
	mu      float64
	total   int
	epsilon float64
}

// NewSchedule returns the steps as a schedule, if it can prove that they are within the budget together with Gaussian
// releases. mu is the mu of all Gaussian releases together, or 0 if there are no Gaussian releases. The proof uses
// privacy-loss distributions. It is an error if the proof fails within the work allowed.
func NewSchedule(ctx context.Context, b Budget, mu float64, steps ...SampledSteps) (*Schedule, error) {
	p := mechanism.SampledPlan{Steps: append([]SampledSteps(nil), steps...), Mu: mu, Relation: b.relation}
	return search(ctx, question{budget: b, mu: mu}, steps, func() (mechanism.SampledPlan, float64, error) {
		epsilon, err := p.Prove(ctx, b.epsilon, b.delta)
		return p, epsilon, err
	})
}

// CalibrateSchedule multiplies the noise multipliers of all steps by one factor and returns the steps as a schedule.
// The factor is the smallest with which the steps, together with Gaussian releases whose joint mu is the argument mu,
// are within the budget. The factor exceeds the true minimum by a few parts in a thousand, or by more if a search this
// precise would take more than a few seconds.
func CalibrateSchedule(ctx context.Context, b Budget, mu float64, steps ...SampledSteps) (*Schedule, error) {
	p := mechanism.SampledPlan{Steps: steps, Mu: mu, Relation: b.relation}
	return search(ctx, question{calibrate: true, budget: b, mu: mu}, steps,
		func() (mechanism.SampledPlan, float64, error) { return p.Calibrate(ctx, b.epsilon, b.delta) })
}

// made holds the contents of schedules that were proven or calibrated in this process. Planning, a comparison
// of plans, the fit and the certificate's check ask for the same schedule, and each would search for up to
// seconds. A schedule is a function of public arguments, so that it is the same bits, held or not.
var made memo.Memo[question, *fixed]

// question is what a schedule was asked for: the arguments of [NewSchedule], or of [CalibrateSchedule] if
// calibrate is set. steps are spelled by the shortest decimals, which tell a float64 from all others.
type question struct {
	calibrate bool
	budget    Budget
	mu        float64
	steps     string
}

// mostGroups is the largest number of groups of steps of a schedule that made holds.
const mostGroups = 64

// search returns the schedule that answers q with the given steps: the one held in made, or else the one of
// the plan that find returns, with the epsilon that the plan was proven to have at the budget's delta. The
// schedule keeps the plan's steps.
func search(ctx context.Context, q question, steps []SampledSteps,
	find func() (mechanism.SampledPlan, float64, error)) (*Schedule, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	content := func() (*fixed, error) {
		p, epsilon, err := find()
		if err != nil {
			return nil, err
		}
		total, err := p.Count()
		return &fixed{budget: q.budget, steps: p.Steps, mu: p.Mu, total: total, epsilon: epsilon}, err
	}
	var found *fixed
	var err error
	if len(steps) > mostGroups {
		found, err = content()
	} else {
		q.steps = fmt.Sprint(steps)
		found, err = made.Of(q, content)
	}
	if err != nil {
		return nil, err
	}
	return &Schedule{fixed: found}, nil
}

// content returns the content of the schedule. It returns an empty content for nil and for the zero
// Schedule.
func (s *Schedule) content() *fixed {
	if s == nil || s.fixed == nil {
		return new(fixed)
	}
	return s.fixed
}

// Steps returns a copy of the groups of equal releases of which the schedule consists, in their
// order.
func (s *Schedule) Steps() []SampledSteps { return append([]SampledSteps(nil), s.content().steps...) }

// Len returns the number of releases.
func (s *Schedule) Len() int { return s.content().total }

// Epsilon returns an upper bound on the epsilon of the whole schedule at the delta of its budget.
func (s *Schedule) Epsilon() float64 { return s.content().epsilon }

// Mu returns the mu of Gaussian DP that the schedule reserves for all Gaussian releases together.
func (s *Schedule) Mu() float64 { return s.content().mu }

// Step returns the noise multiplier and the sampling probability of release i, counted from 0. It
// panics if i is not less than Len.
func (s *Schedule) Step(i int) (noiseMultiplier, sampling float64) { return s.content().step(i) }

func (s *fixed) step(i int) (noiseMultiplier, sampling float64) {
	for _, x := range s.steps {
		if i < x.Count {
			return x.NoiseMultiplier, x.Sampling
		}
		i -= x.Count
	}
	panic("account: schedule: step out of range")
}
