package forecast_test

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
	deviation = optimizetest.Deviation
)
