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
	// Ask charges for a noisy answer and returns it. If the budget does not suffice, it returns an
	// *account.BudgetError and computes nothing.
	Ask(ctx context.Context, q query.Question) (query.Release, error)
	// Draw returns a cohort of records that are in no earlier cohort.
	Draw(size int) (query.Cohort, error)
	// DrawEach returns a cohort that each record not yet in a cohort joins independently with
	// probability p. It is the only way to draw under add-or-remove.
	DrawEach(p float64) (query.Cohort, error)
	// Sample draws the next Poisson sample of the schedule that the oracle follows. A sample admits one
	// query, with the noise of the schedule.
	Sample() (query.Cohort, error)
	// OpenPrefix opens a prefix sum. Each item of the sum has its own cohort.
	OpenPrefix(p query.Prefix) (query.PrefixSum, error)
	// Select returns the index of a candidate of low score, drawn by the exponential mechanism, and
	// charges for the selection.
	Select(ctx context.Context, s query.Selection) (int, error)
	// Stable makes a pass of stochastic gradient descent over a cohort and releases the average of the
	// iterates. Under add-or-remove it returns an error.
	Stable(ctx context.Context, q query.Stable) (query.Release, error)
}

// Needs lists the methods that a plan calls on its oracle. The zero Needs means queries about all
// records only.
type Needs struct {
	// Cohorts says that the plan draws disjoint cohorts and makes queries about these cohorts only.
	Cohorts bool
	// Schedule is the schedule that the oracle must follow: the releases on Poisson samples, in order.
	// nil means none.
	Schedule *account.Schedule
	// PrefixSums, Stable and Selection say that the plan calls the methods OpenPrefix, Stable and
	// Select.
	PrefixSums, Stable, Selection bool
	// PublicCoins says that making the plan draws public random bits.
	PublicCoins bool
	// Seed says that the plan or its run draws public random bits from the problem's seed.
	Seed bool
}
