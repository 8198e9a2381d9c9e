package optimize_test

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// Short names for the helpers in package optimizetest.
type size = optimizetest.Size

var (
	ctx       = context.Background()
	with      = optimizetest.With
	budget    = optimizetest.Budget
	run       = optimizetest.RunPlan
	resolve   = optimizetest.Resolve
	length    = optimizetest.Length
	same      = optimizetest.Same
	close     = optimizetest.Close
	l2        = optimizetest.L2
	crowd     = optimizetest.Crowd
	budgetOf  = optimizetest.BudgetOf
	relations = optimizetest.Relations

	convexProblems = optimizetest.ConvexProblems
)
