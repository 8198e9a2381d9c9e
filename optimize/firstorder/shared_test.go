package firstorder_test

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
	onEverybody  = optimizetest.OnEverybody
	charges      = optimizetest.Charges
	withinBudget = optimizetest.WithinBudget
	deviation    = optimizetest.Deviation
	l2           = optimizetest.L2
	variants     = optimizetest.Variants
	isDifference = optimizetest.IsDifference
	wide         = optimizetest.Wide

	differenceBall = optimizetest.WantedBall
)
