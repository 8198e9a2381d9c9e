//go:build !small

package stores

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/postgres"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/sqlite"
)

// connect opens the store at an address by the driver of its database.
func connect(ctx context.Context, a budget.Address, create bool) (budget.Store, error) {
	if a.File != "" {
		return sqlite.Open(ctx, a.File, create)
	}
	return postgres.Open(ctx, a.Server, create)
}
