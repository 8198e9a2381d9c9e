package optimize

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Oracle answers questions about records it does not show.
// *curator.Session is one.
type Oracle interface {
	// All returns the cohort of all records.
	All() query.Cohort
	// Ask returns a noisy answer and charges for it, or returns an
	// *account.BudgetError and computes nothing.
	Ask(ctx context.Context, q query.Question) (query.Release, error)
	// Draw returns a cohort of records that no cohort had before.
	Draw(size int) (query.Cohort, error)
	// DrawEach returns a cohort that every record not yet in one joins with
	// probability p: the only way to draw under add-or-remove.
	DrawEach(p float64) (query.Cohort, error)
	// Sample draws the next Poisson sample of the schedule that the oracle
	// follows. One question may be asked of it, with the schedule's noise.
	Sample() (query.Cohort, error)
	// OpenPrefix opens a prefix sum, whose items have cohorts of their own.
	OpenPrefix(p query.Prefix) (query.PrefixSum, error)
	// Select returns the index of a candidate of low score, by the exponential
	// mechanism, and charges for it.
	Select(ctx context.Context, s query.Selection) (int, error)
	// Stable passes over a cohort by stochastic gradient descent and releases
	// the average of the iterates. It is refused under add-or-remove.
	Stable(ctx context.Context, q query.Stable) (query.Release, error)
}

// Needs is what a plan asks of its oracle. The zero Needs are questions about all
// records.
type Needs struct {
	// Cohorts says that the plan draws disjoint cohorts and asks of those alone.
	Cohorts bool
	// Schedule is what the oracle must follow: the releases on Poisson samples,
	// in order; nil for none.
	Schedule *account.Schedule
	// PrefixSums, Stable and Selection say that Oracle's methods of these names
	// are called.
	PrefixSums, Stable, Selection bool
	// PublicCoins says that the plan draws coins that everybody may know, when it
	// is made.
	PublicCoins bool
	// Seed says that the plan or its run draws public coins of the problem's seed.
	Seed bool
}
