package optimize

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Oracle answers questions about records it does not show.
// *curator.Session is one.
type Oracle interface {
	// Ask returns a noisy answer and charges for it, or returns an
	// *account.BudgetError and computes nothing.
	Ask(ctx context.Context, q query.Question) (query.Release, error)
	// All returns the cohort of all records.
	All() query.Cohort
	// Draw returns a cohort of records that no cohort had before.
	Draw(size int) (query.Cohort, error)
	// DrawEach returns a cohort that every record not yet in one joins with
	// probability p: the only way to draw under add-or-remove.
	DrawEach(p float64) (query.Cohort, error)
	// Select returns the index of a candidate of low score, by the exponential
	// mechanism, and charges for it.
	Select(ctx context.Context, s query.Selection) (int, error)
}

// SampledOracle is an Oracle that draws Poisson samples by a schedule.
type SampledOracle interface {
	Oracle
	// Sample draws the schedule's next sample, of which one question may be
	// asked.
	Sample() (query.Cohort, error)
}
