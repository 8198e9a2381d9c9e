package optimize

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Oracle answers queries about records that it does not show. *curator.Session implements it.
type Oracle interface {
	// All returns the cohort of all records.
	All() query.Cohort
	// Ask charges for the noisy answer to the query q, and returns the answer. If the budget does not allow
	// the charge, Ask returns an *account.BudgetError and computes nothing.
	Ask(ctx context.Context, q query.Question) (query.Release, error)
	// Draw returns a cohort of size records that are in no earlier cohort.
	Draw(size int) (query.Cohort, error)
	// DrawEach returns a new cohort. Each record not yet in a cohort joins it independently with
	// probability p. Under add-or-remove DrawEach is the only way to draw a cohort.
	DrawEach(p float64) (query.Cohort, error)
	// Sample draws the next Poisson sample of the schedule in [Needs]. One query may be made on a
	// sample; its noise is the noise that the schedule states for this sample.
	Sample() (query.Cohort, error)
	// OpenPrefix opens a prefix sum: items are added one by one, and each addition returns a noisy sum of
	// all items so far. Each item is computed from the records of a different cohort.
	OpenPrefix(p query.Prefix) (query.PrefixSum, error)
	// Select draws the index of a candidate with a low score by the exponential mechanism, and charges
	// for the selection.
	Select(ctx context.Context, s query.Selection) (int, error)
	// Stable makes a pass of stochastic gradient descent over a cohort and releases the average of the
	// iterates. Under add-or-remove it returns an error.
	Stable(ctx context.Context, q query.Stable) (query.Release, error)
}

// Needs lists the methods that a plan calls on its oracle. The zero Needs means that the plan makes
// queries on all records and calls no other method.
type Needs struct {
	// Cohorts means that the plan draws disjoint cohorts and makes queries on these cohorts only.
	Cohorts bool
	// Schedule is the schedule that the oracle must follow: the releases on Poisson samples, in order.
	// nil means none.
	Schedule *account.Schedule
	// PrefixSums, Stable and Selection mean that the plan calls the methods OpenPrefix, Stable and
	// Select.
	PrefixSums, Stable, Selection bool
	// PublicCoins means that public random bits are drawn when the plan is made.
	PublicCoins bool
	// Seed means that the plan or its run draws public random bits from the problem's seed.
	Seed bool
}
