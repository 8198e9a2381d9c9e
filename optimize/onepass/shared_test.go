package onepass_test

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// Short names for the helpers in package optimizetest.
type size = optimizetest.Size

var (
	ctx          = context.Background()
	with         = optimizetest.With
	budget       = optimizetest.Budget
	run          = optimizetest.RunPlan
	resolve      = optimizetest.Resolve
	stepSize     = optimizetest.StepSize
	descend      = optimizetest.Descend
	add          = optimizetest.Add
	length       = optimizetest.Length
	same         = optimizetest.Same
	close        = optimizetest.Close
	charges      = optimizetest.Charges
	withinBudget = optimizetest.WithinBudget
	deviation    = optimizetest.Deviation
	variants     = optimizetest.Variants
	crowd        = optimizetest.Crowd
	budgetOf     = optimizetest.BudgetOf
	isDifference = optimizetest.IsDifference
	wide         = optimizetest.Wide

	differenceBall = optimizetest.WantedBall
)
